import { McpError, SseDecoder, type SseEvent, type SseSink } from '../../jsonrpc/index.ts';
import type { Endpoint } from './endpoint.ts';
import { HttpError } from './http-error.ts';
import { EVENT_STREAM_TYPE, mediaType } from './media-type.ts';
import type { OutgoingRequest, ReplyHead, ReplyReader, RoundTrip } from './round-trip.ts';

/** How many connections in a row may bring nothing before a stream counts as ended. */
export const MAX_EMPTY_CONNECTIONS = 6;
/** How many connections in a row may fail before nobody is expected at the other end, where the owner does not persevere. */
const MAX_FAILED_CONNECTIONS = 3;

/** How long to wait before a stream is resumed, where the server does not say. */
const DEFAULT_RETRY_MS = 1000;
/** A server that asks for no pause gets one all the same. */
const SHORTEST_RETRY_MS = 20;
/** The longest pause that grows by itself; the server may ask for a longer one. */
const LONGEST_BACKOFF_MS = 30_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** A connection that was held this long was worth having, even if it brought nothing. */
const LONG_CONNECTION_MS = 15_000;
/** A longer or stranger event id is not sent back. */
const SENDABLE_ID = /^[^\0\r\n]{1,4096}$/;

/** The owner of a stream. */
export interface StreamOwner {
  /** Whether a server that cannot be reached is tried for as long as it takes. Default false. */
  readonly perseveres?: boolean;
  /** One parsed value, in the order of the stream. */
  message(value: unknown): void;
  /** Something that cost one message or less. */
  warning(error: McpError): void;
  /** Whether a stream that ended is to be resumed: behind the event named, where there is one. */
  resumes(lastEventId: string | undefined): boolean;
  /** The request that opens the stream again. */
  resumption(lastEventId: string | undefined): OutgoingRequest;
  /** The server has accepted the request for the stream. */
  opened?(head: ReplyHead): void;
  /** An event that is no message. Absent: such events are ignored, as the standard says. */
  otherEvent?(event: SseEvent): void;
  /** The stream is over for good: it ended in order, or `error` says why it was given up. */
  ended(error: McpError | undefined): void;
}

/**
 * Reads the messages of one event stream, over as many connections as it takes: a connection that ends is followed by
 * another one that goes on behind the last event, after the time that the server asked for.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */
export class MessageStream implements ReplyReader, SseSink {
  readonly #endpoint: Endpoint;
  readonly #owner: StreamOwner;
  readonly #maxEventBytes: number;
  #decoder: SseDecoder | undefined;
  #roundTrip: RoundTrip | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastEventId: string | undefined;
  #retryMs = DEFAULT_RETRY_MS;
  #emptyConnections = 0;
  #failedConnections = 0;
  // Whether the connection at hand has shown any life, and since when it is open.
  #alive = false;
  #openedAt = 0;
  #namesSession = false;
  #closed = false;

  constructor(endpoint: Endpoint, owner: StreamOwner, maxEventBytes: number) {
    this.#endpoint = endpoint;
    this.#owner = owner;
    this.#maxEventBytes = maxEventBytes;
  }

  /** Reads from here on what the owner's own request brings: the caller hands it to `data`, `end` and `fail`. */
  adopt(): void {
    this.#decoder = new SseDecoder(this, { maxEventBytes: this.#maxEventBytes });
    this.#alive = false;
    this.#openedAt = performance.now();
  }

  /** Asks for the stream with a request of its own. */
  connect(): void {
    const request = this.#owner.resumption(this.#lastEventId);
    this.#timer = undefined;
    this.#alive = false;
    this.#namesSession = request.session !== undefined;
    this.#roundTrip = this.#endpoint.send(request, this);
  }

  /** Ends it at once: the owner hears nothing more. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#roundTrip?.abort();
  }

  head(head: ReplyHead): void {
    const { status, headers } = head;
    if (status === 200 && mediaType(headers) === EVENT_STREAM_TYPE) {
      this.#failedConnections = 0;
      this.adopt();
      this.#owner.opened?.(head);
      return;
    }
    this.#roundTrip?.abort();
    const error = new HttpError(`"${this.#endpoint.name}" refuses an event stream: status ${status}`, {
      status,
      headers,
      bodyPreview: '',
      sessionLost: status === 404 && this.#namesSession,
    });
    if (isPassing(status)) this.#goOn(error, this.#owner.perseveres ? 'failed' : 'empty');
    else this.#end(error);
  }

  data(chunk: Buffer): void {
    this.#decoder?.push(chunk);
  }

  end(): void {
    this.#decoder?.end();
    this.#goOn(undefined, 'empty');
  }

  fail(error: McpError): void {
    const wasOpen = this.#decoder !== undefined;
    this.#decoder?.end();
    // Asking again would not change it, and might ask a person again and again.
    if (error.code === 'UNAUTHORIZED') {
      this.#end(error);
      return;
    }
    // The first failure in a row tells the news.
    if (!this.#closed && this.#failedConnections === 0 && this.#owner.resumes(this.#lastEventId)) {
      this.#owner.warning(error);
    }
    this.#goOn(error, wasOpen ? 'empty' : 'failed');
  }

  event(event: SseEvent): void {
    this.#alive = true;
    if (this.#closed || event.data.trim() === '') return;
    if (event.event !== 'message') {
      this.#owner.otherEvent?.(event);
      return;
    }
    let value: unknown;
    try {
      value = JSON.parse(event.data);
    } catch (cause) {
      const message = `Cannot read an event from "${this.#endpoint.name}": it is not JSON: ${preview(event.data)}`;
      this.#owner.warning(new McpError('INVALID_JSON', message, { cause }));
      return;
    }
    if (event.unterminated) {
      const message = `"${this.#endpoint.name}" ended a stream without the blank line behind its last event; it was taken all the same`;
      this.#owner.warning(new McpError('INVALID_MESSAGE', message));
    }
    this.#owner.message(value);
  }

  comment(): void {
    this.#alive = true;
  }

  error(error: McpError): void {
    this.#alive = true;
    this.#owner.warning(error);
  }

  /** The connection is over; `without` says what it counts as if it showed no life. */
  #goOn(error: McpError | undefined, without: 'empty' | 'failed'): void {
    this.#noteProgress();
    if (this.#closed) return;
    const lastEventId = this.#lastEventId;
    if (!this.#owner.resumes(lastEventId)) {
      this.#end(error);
      return;
    }
    if (this.#alive) this.#emptyConnections = 0;
    else if (without === 'empty') this.#emptyConnections++;
    else this.#failedConnections++;
    const isUnreachable = this.#failedConnections > MAX_FAILED_CONNECTIONS && !this.#owner.perseveres;
    if (isUnreachable || this.#emptyConnections >= MAX_EMPTY_CONNECTIONS) {
      this.#end(error ?? this.#gaveUp());
      return;
    }
    this.#timer = setTimeout(() => {
      // What the stream was wanted for may have come by another way meanwhile.
      if (this.#owner.resumes(lastEventId)) this.connect();
      else this.#end(undefined);
    }, this.#pauseMs());
  }

  /** What the connection taught about where and when to go on. */
  #noteProgress(): void {
    const decoder = this.#decoder;
    if (!decoder) return;
    this.#decoder = undefined;
    this.#retryMs = decoder.retryMs ?? this.#retryMs;
    if (performance.now() - this.#openedAt >= LONG_CONNECTION_MS) this.#alive = true;
    const id = decoder.lastEventId;
    if (id === undefined || id === this.#lastEventId) return;
    this.#alive = true;
    this.#lastEventId = SENDABLE_ID.test(id) ? id : undefined;
  }

  #pauseMs(): number {
    const retryMs = Math.max(this.#retryMs, SHORTEST_RETRY_MS);
    const misses = this.#emptyConnections + this.#failedConnections;
    const grown = Math.min(retryMs * 2 ** misses, Math.max(retryMs, LONGEST_BACKOFF_MS));
    return Math.min(grown, LONGEST_TIMER_MS);
  }

  #end(error: McpError | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#owner.ended(error);
  }

  #gaveUp(): McpError {
    const message = `"${this.#endpoint.name}" ended an event stream ${MAX_EMPTY_CONNECTIONS} times in a row without a word`;
    return new McpError('TRANSPORT_FAILED', message);
  }
}

/** Whether the same request may find another answer later: 409 comes from a server that missed the old stream's end. */
function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 409 || status === 429;
}

function preview(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}
