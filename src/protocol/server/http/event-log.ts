import { atLeastOne } from '../../../jsonrpc/option.ts';

/** One message of a stream, under its number. */
export interface LoggedEvent {
  /** Counts from 1 in each stream. */
  readonly seq: number;
  readonly message: object;
}

/**
 * Keeps what was sent on streams, so that a client whose connection broke can get what it missed. Give one of your own
 * to keep events across processes.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */
export interface EventLog {
  /** Keeps a message. Numbers of one stream come in order, each once. */
  append(stream: string, event: LoggedEvent): void | Promise<void>;
  /** What a stream has behind number `seq`, in order; undefined when some of that is no longer kept. */
  after(
    stream: string,
    seq: number,
  ): readonly LoggedEvent[] | undefined | Promise<readonly LoggedEvent[] | undefined>;
  /** Nobody will ask for this stream any more. */
  drop(stream: string): void | Promise<void>;
}

/** The default size of an event log in memory: 16 MiB. */
export const DEFAULT_MAX_LOG_BYTES = 16 * 1024 * 1024;

interface Entry extends LoggedEvent {
  readonly stream: string;
  readonly bytes: number;
}

interface Kept {
  readonly entries: Entry[];
  /** The highest number that was dropped. */
  gone: number;
}

/** Keeps events in this process, the oldest of all streams going first. */
export class MemoryEventLog implements EventLog {
  readonly #maxBytes: number;
  readonly #streams = new Map<string, Kept>();
  /** All entries in the order of their coming; those of dropped streams stay until they are at the front. */
  #queue: Entry[] = [];
  #front = 0;
  #bytes = 0;

  /** @param maxBytes How much is kept in all, in bytes of JSON. Default 16777216 (16 MiB). */
  constructor(maxBytes = DEFAULT_MAX_LOG_BYTES) {
    atLeastOne('maxBytes', maxBytes);
    this.#maxBytes = maxBytes;
  }

  append(stream: string, { seq, message }: LoggedEvent): void {
    const entry: Entry = { stream, seq, message, bytes: JSON.stringify(message).length };
    const kept = this.#streams.get(stream);
    if (kept) kept.entries.push(entry);
    else this.#streams.set(stream, { entries: [entry], gone: 0 });
    this.#queue.push(entry);
    this.#bytes += entry.bytes;
    this.#evict();
  }

  after(stream: string, seq: number): readonly LoggedEvent[] | undefined {
    const kept = this.#streams.get(stream);
    if (!kept) return [];
    if (kept.gone > seq) return undefined;
    return kept.entries.filter((entry) => entry.seq > seq);
  }

  drop(stream: string): void {
    const kept = this.#streams.get(stream);
    if (!kept) return;
    this.#streams.delete(stream);
    for (const { bytes } of kept.entries) this.#bytes -= bytes;
  }

  #evict(): void {
    while (this.#bytes > this.#maxBytes) {
      const oldest = this.#queue[this.#front++];
      if (!oldest) break;
      const kept = this.#streams.get(oldest.stream);
      if (kept?.entries[0] !== oldest) continue;
      kept.entries.shift();
      kept.gone = oldest.seq;
      this.#bytes -= oldest.bytes;
    }
    if (this.#front > 1024 && this.#front * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#front);
      this.#front = 0;
    }
  }
}
