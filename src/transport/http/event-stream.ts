import { encodeEvent, McpError, type SseFields } from '../../jsonrpc/index.ts';

/**
 * The server's end of a stream of server-sent events. While it is quiet it sends a comment now and then, so that
 * nobody between the two ends takes it for dead.
 */
export interface EventStream {
  /** True once the stream was ended, the client went away, or its reader was cut off. */
  readonly closed: boolean;
  /**
   * Sends one message as the data of one event. Returns a promise when the reader is behind: it resolves when there
   * is room again, or when the stream closes, and never rejects.
   *
   * @throws McpError `CLOSED` when the stream is closed; a reader that is too far behind is cut off and closes it.
   * @throws TypeError when the message cannot be encoded as JSON, or the id cannot stand in an event.
   */
  send(message: object, options?: { id?: string }): void | Promise<void>;
  /** Sends an event of any fields, such as one that only names an id and a retry time. As {@link EventStream.send}. */
  event(fields: SseFields): void | Promise<void>;
  /** Sends a comment, which readers ignore. As {@link EventStream.send}. */
  comment(text?: string): void | Promise<void>;
  /** Ends the stream behind what was sent. Idempotent. */
  end(): void;
}

/** Where the text of a stream goes. */
export interface EventSink {
  /** How much was written and not yet taken. */
  readonly bufferedBytes: number;
  /** Returns false when the writer should wait until it is told of a drain. */
  write(text: string): boolean;
  end(): void;
  /** Breaks the connection: what is buffered is lost. */
  destroy(): void;
}

/** What a sink tells the stream that writes to it. */
export interface EventSinkOwner {
  drained(): void;
  /** The reader took nothing for {@link StreamLimits.stallMs}. */
  stalled(): void;
}

export interface StreamLimits {
  readonly keepAliveMs: number;
  readonly maxBufferedBytes: number;
  /** How long a reader may take nothing, in milliseconds; `Infinity` means for ever. */
  readonly stallMs: number;
}

export interface StreamEvents {
  /** The stream was ended from our side. */
  streamEnded(): void;
  /** The reader was too slow and was cut off. */
  streamCutOff(why: string): void;
}

const LINE_END = /\r\n|\r|\n/g;
const KEEP_ALIVE = ':\n\n';

export class ServerEventStream implements EventStream, EventSinkOwner {
  readonly #limits: StreamLimits;
  readonly #events: StreamEvents;
  #sink: EventSink | undefined;
  #timer: NodeJS.Timeout | undefined;
  #room: { promise: Promise<void>; resolve: () => void } | undefined;

  constructor(limits: StreamLimits, events: StreamEvents) {
    this.#limits = limits;
    this.#events = events;
  }

  get closed(): boolean {
    return this.#sink === undefined;
  }

  open(sink: EventSink): void {
    this.#sink = sink;
    const { keepAliveMs } = this.#limits;
    if (keepAliveMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setInterval(keepAlive, keepAliveMs, this);
    // Runtimes other than Node have numbers for timers.
    this.#timer.unref?.();
  }

  /** Shows that we live; to a reader that is behind, what waits for it shows that. */
  keepAlive(): void {
    if (!this.#room && this.#sink?.write(KEEP_ALIVE) === false) void this.#waitForRoom();
  }

  send(message: object, options?: { id?: string }): void | Promise<void> {
    return this.#write(encodeEvent({ data: JSON.stringify(message), ...options }));
  }

  event(fields: SseFields): void | Promise<void> {
    return this.#write(encodeEvent(fields));
  }

  comment(text = ''): void | Promise<void> {
    return this.#write(`:${text.replace(LINE_END, '\n:')}\n\n`);
  }

  end(): void {
    const sink = this.#sink;
    if (!sink) return;
    this.leave();
    sink.end();
    this.#events.streamEnded();
  }

  drained(): void {
    const room = this.#room;
    this.#room = undefined;
    room?.resolve();
  }

  stalled(): void {
    this.#cutOff(`its reader took nothing for ${this.#limits.stallMs} ms`);
  }

  /** Breaks the stream off: the client learns that it is not complete. */
  destroy(): void {
    const sink = this.#sink;
    this.leave();
    sink?.destroy();
  }

  /** Lets go of the sink: nobody reads any more. */
  leave(): void {
    this.#sink = undefined;
    clearInterval(this.#timer);
    this.drained();
  }

  #write(text: string): void | Promise<void> {
    const unread = this.#sink?.bufferedBytes ?? 0;
    if (unread > this.#limits.maxBufferedBytes) {
      this.#cutOff(`its reader left ${unread} bytes unread; raise maxBufferedBytes to allow that`);
    }
    if (!this.#sink) throw new McpError('CLOSED', 'Cannot send on an event stream: it is closed');
    if (this.#sink.write(text)) return;
    return this.#waitForRoom();
  }

  #cutOff(why: string): void {
    if (!this.#sink) return;
    this.destroy();
    this.#events.streamCutOff(why);
  }

  #waitForRoom(): Promise<void> {
    if (!this.#room) {
      let resolve = () => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#room = { promise, resolve };
    }
    return this.#room.promise;
  }
}

/** One function for the timers of all streams: none of them holds a closure. */
function keepAlive(stream: ServerEventStream): void {
  stream.keepAlive();
}
