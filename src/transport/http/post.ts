import type { Buffer } from 'node:buffer';
import { type JsonRpcErrorResponse, McpError, type RequestId } from '../../jsonrpc/index.ts';
import type { Endpoint } from './endpoint.ts';
import { EVENT_STREAM_TYPE, JSON_TYPE, mediaType } from './media-type.ts';
import { MessageStream, type StreamOwner } from './message-stream.ts';
import {
  type BodyText,
  decodeBody,
  parseBody,
  refusalError,
  type Sent,
  toRpcError,
  toWhat,
} from './reply.ts';
import type { OutgoingRequest, ReplyHead, ReplyReader, RoundTrip } from './round-trip.ts';

/** How long a stream may go on behind the response that it was opened for, in milliseconds. */
const LINGER_MS = 5000;
/** How much of a reply that is no answer is read, and for how long: enough for a JSON-RPC error. */
const MAX_REFUSAL_BYTES = 64 * 1024;
const REFUSAL_WAIT_MS = 5000;

/** What a post needs of its transport. */
export interface PostContext {
  readonly endpoint: Endpoint;
  readonly maxResponseBytes: number;
  /** Whether a stream that broke may be resumed. */
  readonly resumable: boolean;
  /** The request that resumes the stream of a post behind an event. */
  resumption(lastEventId: string | undefined, posted: OutgoingRequest): OutgoingRequest;
  /** The server took the message. */
  accepted(post: Post, head: ReplyHead): void;
  /** A value that came in reply to a post; it may settle another one. */
  message(value: unknown, post: Post): void;
  warning(error: McpError): void;
  /** A post waits for credentials, or has got them. */
  waiting(post: Post, isWaiting: boolean): void;
  /** Nothing more comes of this post. */
  finished(post: Post): void;
}

/**
 * One message on its way as an HTTP POST, with the reply to it. Where a response is awaited, the post is settled by it,
 * by an error or by the end of the reply; every other post is settled when the server takes the message.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages
 */
export class Post implements ReplyReader, StreamOwner {
  readonly id: RequestId | null | undefined;
  readonly method: string | undefined;
  readonly #awaitsResponse: boolean;
  readonly #context: PostContext;
  readonly #request: OutgoingRequest;
  readonly #resolve: () => void;
  readonly #reject: (error: McpError) => void;
  #isPending = true;
  #reading: 'nothing' | 'json' | 'events' | 'refusal' = 'nothing';
  #roundTrip: RoundTrip | undefined;
  #head: ReplyHead | undefined;
  #stream: MessageStream | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  // What last went wrong in the stream: likely the reason when no response comes.
  #trouble: McpError | undefined;

  constructor(
    context: PostContext,
    message: { id?: RequestId | null; method?: string },
    awaitsResponse: boolean,
    request: OutgoingRequest,
    settle: { resolve: () => void; reject: (error: McpError) => void },
  ) {
    this.#context = context;
    this.#request = request;
    this.#resolve = settle.resolve;
    this.#reject = settle.reject;
    this.method = message.method;
    this.id = message.id;
    this.#awaitsResponse = awaitsResponse;
  }

  start(): void {
    this.#roundTrip = this.#context.endpoint.send(this.#request, this);
  }

  /** The response arrived, here or on another stream. */
  answered(): void {
    if (!this.#isPending) return;
    this.#roundTrip?.answered();
    this.#settle();
    this.#linger();
  }

  /** A JSON-RPC error without an id in the reply to a request can only mean that request. */
  refuse(response: JsonRpcErrorResponse): boolean {
    if (!this.#isPending || !this.#awaitsResponse) return false;
    this.#fail(toRpcError(response));
    this.#linger();
    return true;
  }

  /** Ends the exchange at once; whoever waits for it is told `error`, or that it is over. */
  close(error?: McpError): void {
    if (error) this.#fail(error);
    else this.#settle();
    this.#stream?.close();
    this.#roundTrip?.abort();
    this.#finish();
  }

  head(head: ReplyHead): void {
    const { status, headers } = head;
    const type = mediaType(headers);
    const isPlain = headers['content-encoding'] === undefined || headers['content-encoding'] === 'identity';
    if (status >= 200 && status < 300) {
      this.#context.accepted(this, head);
      if (!this.#awaitsResponse) this.#settle();
      if (isPlain && type === EVENT_STREAM_TYPE) {
        this.#readEvents();
        if (!this.#isPending) this.#linger();
        return;
      }
      if (isPlain && type === JSON_TYPE) {
        this.#reading = 'json';
        return;
      }
      if (!this.#isPending) return;
    }
    this.#head = head;
    this.#reading = 'refusal';
    this.#timer = setTimeout(() => this.#cut(), REFUSAL_WAIT_MS);
  }

  data(chunk: Buffer): void {
    if (this.#stream) {
      this.#stream.data(chunk);
      return;
    }
    this.#bytes += chunk.length;
    if (this.#reading !== 'nothing') this.#chunks.push(chunk);
    const limit = this.#reading === 'json' ? this.#context.maxResponseBytes : MAX_REFUSAL_BYTES;
    if (this.#bytes > limit) this.#cut();
  }

  end(): void {
    if (this.#stream) this.#stream.end();
    else if (this.#reading === 'json') this.#readBody();
    else if (this.#reading === 'refusal') this.#readRefusal();
    else this.#finish();
  }

  fail(error: McpError): void {
    if (this.#stream) {
      this.#stream.fail(error);
    } else if (this.#reading === 'refusal') {
      this.#readRefusal();
    } else {
      this.#fail(error);
      this.#finish();
    }
  }

  waiting(isWaiting: boolean): void {
    if (this.#isPending) this.#context.waiting(this, isWaiting);
  }

  message(value: unknown): void {
    this.#context.message(value, this);
  }

  warning(error: McpError): void {
    this.#trouble = error;
    this.#context.warning(error);
  }

  resumes(lastEventId: string | undefined): boolean {
    return this.#isPending && this.#context.resumable && lastEventId !== undefined;
  }

  resumption(lastEventId: string | undefined): OutgoingRequest {
    return this.#context.resumption(lastEventId, this.#request);
  }

  ended(error: McpError | undefined): void {
    this.#failUnanswered(error ?? this.#trouble);
    this.#finish();
  }

  #readEvents(): void {
    const { endpoint, maxResponseBytes } = this.#context;
    this.#reading = 'events';
    this.#stream = new MessageStream(endpoint, this, maxResponseBytes);
    this.#stream.adopt();
  }

  #linger(): void {
    if (this.#stream) this.#timer = setTimeout(() => this.close(), LINGER_MS);
  }

  #readBody(): void {
    try {
      const value = parseBody(this.#takeBody(), this.#sent());
      // What a server may say to a notification is heard only where it is a message.
      if (this.#awaitsResponse || isMessageLike(value)) this.message(value);
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
      this.#fail(error);
    }
    this.#failUnanswered(undefined);
    this.#finish();
  }

  #readRefusal(): void {
    if (this.#head) this.#fail(refusalError(this.#head, this.#takeBody().text, this.#sent()));
    this.#finish();
  }

  /** Reads no further: what has come must do. */
  #cut(): void {
    if (this.#reading === 'refusal') this.#readRefusal();
    if (this.#reading === 'json') {
      const limit = this.#context.maxResponseBytes;
      const message = `Cannot read the reply ${toWhat(this.#sent())}: it exceeds ${limit} bytes; raise maxResponseBytes to accept it`;
      this.#fail(new McpError('TRANSPORT_FAILED', message));
    }
    this.close();
  }

  #failUnanswered(cause: McpError | undefined): void {
    if (!this.#isPending) return;
    const why = cause ? `: ${cause.message}` : '';
    const message = `The reply ${toWhat(this.#sent())} ended without a response${why}`;
    this.#fail(new McpError('TRANSPORT_FAILED', message, { cause }));
  }

  /** What has come. Its bytes are let go of: they would lie beside the text while that is parsed. */
  #takeBody(): BodyText {
    const body = decodeBody(this.#chunks);
    this.#chunks = [];
    return body;
  }

  #sent(): Sent {
    const what = this.method === undefined ? 'a response' : `"${this.method}"`;
    const namedSession = this.#request.session !== undefined;
    return { what, to: this.#context.endpoint.name, id: this.id, namedSession };
  }

  #settle(): void {
    if (!this.#isPending) return;
    this.#isPending = false;
    this.#resolve();
  }

  #fail(error: McpError): void {
    if (!this.#isPending) return;
    this.#isPending = false;
    this.#reject(error);
  }

  #finish(): void {
    clearTimeout(this.#timer);
    this.#chunks = [];
    this.#context.finished(this);
  }
}

function isMessageLike(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (Array.isArray(value) || 'jsonrpc' in value);
}
