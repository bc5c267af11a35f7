/** Something that a client may want to hear of. */
export type ChangedList = 'tools' | 'prompts' | 'resources';

/** Who hears of changes: a session, or a subscription. */
export interface ChangeListener {
  listChanged(list: ChangedList): void;
  resourceUpdated(uri: string): void;
}

/** Tells everyone who listens what changed. What changes several times in one turn is told once. */
export class ChangeFeed {
  readonly #listeners = new Set<ChangeListener>();
  readonly #lists = new Set<ChangedList>();
  readonly #uris = new Set<string>();
  #scheduled = false;

  listen(listener: ChangeListener): void {
    this.#listeners.add(listener);
  }

  unlisten(listener: ChangeListener): void {
    this.#listeners.delete(listener);
  }

  listChanged(list: ChangedList): void {
    if (this.#listeners.size === 0) return;
    this.#lists.add(list);
    this.#schedule();
  }

  resourceUpdated(uri: string): void {
    if (this.#listeners.size === 0) return;
    this.#uris.add(uri);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#tell());
  }

  #tell(): void {
    this.#scheduled = false;
    const lists = [...this.#lists];
    const uris = [...this.#uris];
    this.#lists.clear();
    this.#uris.clear();
    for (const listener of [...this.#listeners]) {
      for (const list of lists) listener.listChanged(list);
      for (const uri of uris) listener.resourceUpdated(uri);
    }
  }
}

/** The notification that tells of a changed list. */
export const LIST_CHANGED: { readonly [list in ChangedList]: string } = {
  tools: 'notifications/tools/list_changed',
  prompts: 'notifications/prompts/list_changed',
  resources: 'notifications/resources/list_changed',
};

/** Who has an outbox. */
export interface ChangeSender {
  /** Sends the notification that a key stands for. A promise means that the client is behind. */
  sendChange(key: string): void | Promise<void>;
}

/**
 * Sends notifications to one client at the pace it takes them: while it is behind, one that waits already is not
 * queued again, so what waits is bounded by what can change.
 */
export class ChangeOutbox {
  readonly #owner: ChangeSender;
  /** There only while something waits: nearly all listeners wait for changes themselves. */
  #waiting: Set<string> | undefined;
  #blocked = false;

  constructor(owner: ChangeSender) {
    this.#owner = owner;
  }

  push(key: string): void {
    this.#waiting ??= new Set();
    this.#waiting.add(key);
    if (!this.#blocked) this.#flush();
  }

  /** Drops what waits. */
  clear(): void {
    this.#waiting?.clear();
  }

  #flush(): void {
    const waiting = this.#waiting;
    if (!waiting) return;
    for (const key of waiting) {
      waiting.delete(key);
      const sent = this.#trySend(key);
      if (!sent) continue;
      this.#blocked = true;
      const resume = () => {
        this.#blocked = false;
        this.#flush();
      };
      sent.then(resume, resume);
      return;
    }
    this.#waiting = undefined;
  }

  /** A client that is gone, or was cut off, is for its transport to report: here nobody waits for it. */
  #trySend(key: string): void | Promise<void> {
    try {
      return this.#owner.sendChange(key);
    } catch {
      this.#waiting?.clear();
    }
  }
}
