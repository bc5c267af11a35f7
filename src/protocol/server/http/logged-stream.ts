import { McpError, toError } from '../../../jsonrpc/index.ts';
import type { EventStream } from '../../../transport/index.ts';
import type { EventLog, LoggedEvent } from './event-log.ts';

/** What a stream needs of the session that it belongs to. */
export interface StreamSettings {
  readonly log: EventLog;
  /** How long a client is asked to wait before it comes back, in milliseconds. */
  readonly retryMs: number;
  report(error: McpError): void;
}

/**
 * One stream of a session, as the client sees it: it may be carried by several connections, one after the other. What is
 * sent while there is none is kept for the next.
 */
export class LoggedStream {
  /** What the log knows it by. */
  readonly key: string;
  readonly number: number;
  readonly #settings: StreamSettings;
  #live: EventStream | undefined;
  #seq = 0;
  #finished = false;

  constructor(sessionId: string, number: number, settings: StreamSettings) {
    this.key = `${sessionId}/${number}`;
    this.number = number;
    this.#settings = settings;
  }

  /** Whether a connection carries it now. */
  get isLive(): boolean {
    return this.#live !== undefined && !this.#live.closed;
  }

  /** Whether its last message was sent, if not yet read. */
  get isFinished(): boolean {
    return this.#finished;
  }

  /** Takes its first connection. `primed`: the client can come back from the start on, and is told when. */
  open(live: EventStream, primed: boolean): void {
    this.#live = live;
    if (primed)
      this.#write(() => live.event({ id: this.#id(this.#seq), retry: this.#settings.retryMs, data: '' }));
  }

  /** Sends a message, now or when the client comes back. A promise means that the client is behind. */
  send(message: object): void | Promise<void> {
    if (this.#finished) return;
    const seq = ++this.#seq;
    const live = this.#live;
    this.#keep({ seq, message });
    if (!live || live.closed) return;
    return this.#write(() => live.send(message, { id: this.#id(seq) }));
  }

  /** There is nothing more to come: ends the connection, now or behind what it still has to carry. */
  finish(): void {
    this.#finished = true;
    this.#live?.end();
  }

  /** Ends the connection but not the stream: the client is to come back. */
  hangUp(): void {
    this.#live?.end();
    this.#live = undefined;
  }

  /**
   * Takes another connection and sends what the client missed behind `seq`.
   *
   * @returns false when that is no longer kept: then the connection is left alone.
   */
  async resume(seq: number, connect: () => EventStream): Promise<boolean> {
    let missed = await this.#settings.log.after(this.key, seq);
    if (!missed) return false;
    this.hangUp();
    const live = connect();
    let sent = seq;
    // What is sent while an earlier event waits for room is in the log: the connection is caught up before it is live.
    while (missed.length > 0 || sent < this.#seq) {
      for (const event of missed) {
        if (live.closed) return true;
        await this.#write(() => live.send(event.message, { id: this.#id(event.seq) }));
        sent = event.seq;
      }
      missed = await this.#settings.log.after(this.key, sent);
      if (!missed || (missed.length === 0 && sent < this.#seq)) break;
    }
    this.hangUp();
    this.#live = live;
    if (this.#finished) live.end();
    return true;
  }

  #keep(event: LoggedEvent): void {
    try {
      const kept = this.#settings.log.append(this.key, event);
      if (kept) kept.catch((cause: unknown) => this.#reportLog(cause));
    } catch (cause) {
      this.#reportLog(cause);
    }
  }

  #reportLog(cause: unknown): void {
    const message = `The event log does not keep an event: ${toError(cause).message}`;
    this.#settings.report(new McpError('HANDLER_FAILED', message, { cause }));
  }

  /** A connection that breaks while it is written to costs nothing: the client comes back for the rest. */
  #write(write: () => void | Promise<void>): void | Promise<void> {
    try {
      return write();
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
    }
  }

  #id(seq: number): string {
    return `${this.number}.${seq}`;
  }
}

/** Reads an event id that a client came back with. Undefined when it is none of ours. */
export function readEventId(id: string): { stream: number; seq: number } | undefined {
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(id);
  return match ? { stream: Number(match[1]), seq: Number(match[2]) } : undefined;
}
