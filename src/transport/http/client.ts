import {
  DEFAULT_MAX_EVENT_BYTES,
  isRequestId,
  type JsonRpcErrorResponse,
  type JsonRpcMessage,
  McpError,
  type RequestId,
  type SendOptions,
} from '../../jsonrpc/index.ts';
import { positive } from '../../jsonrpc/option.ts';
import type { Transport, TransportSink } from '../transport.ts';
import { Endpoint, type EndpointOptions } from './endpoint.ts';
import { httpErrorOf } from './http-error.ts';
import { EVENT_STREAM_TYPE, JSON_TYPE } from './media-type.ts';
import { MessageStream } from './message-stream.ts';
import { Post, type PostContext } from './post.ts';
import { responseId } from './reply.ts';
import type { HeaderMap, HttpSession, OutgoingRequest, ReplyHead } from './round-trip.ts';

export interface HttpClientOptions extends EndpointOptions {
  /**
   * The largest accepted reply, in bytes: a JSON body, or one event of a stream. A larger body fails its request; a
   * larger event is skipped with an `EVENT_TOO_LONG` error. Default 67108864 (64 MiB).
   */
  maxResponseBytes?: number;
}

/** Who waits for what the server says by itself. */
export interface ServerStreamOptions extends SendOptions {
  /** The stream broke and is open again, with nothing to say where it should go on: messages may be missing. */
  onGap?(): void;
  /** The server took the stream before, and now does not know the session it belongs to. */
  onSessionLost?(): void;
}

const POST_FRAMING: HeaderMap = { accept: `${JSON_TYPE}, ${EVENT_STREAM_TYPE}`, 'content-type': JSON_TYPE };
const STREAM_FRAMING: HeaderMap = { accept: EVENT_STREAM_TYPE };
const DELETE_FRAMING: HeaderMap = { accept: JSON_TYPE };
/** How long a server may take to begin an answer that has no caller with a deadline, and how long its body may pause. */
const UNWATCHED_TIMEOUT_MS = 60_000;
/** How long a session's end waits for the server to confirm it. */
const DELETE_WAIT_MS = 3000;
const SESSION_HEADER = 'mcp-session-id';
const SESSION_ID = /^[\x21-\x7e]+$/;

/**
 * Streamable HTTP, the client's side: every message is a POST of its own, and the reply to it is one JSON message or a
 * stream of them. A send settles when the response has been delivered; it rejects when the server refuses the message,
 * and when the reply ends without a response. Nothing is ever posted twice by itself.
 *
 * The revisions up to 2025-11-25 also have sessions, a stream for the server's own messages and streams that can be
 * resumed: those are used only when asked for.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
 */
export class HttpClientTransport implements Transport {
  readonly name: string;
  readonly carriesHeaders = true;
  readonly #endpoint: Endpoint;
  readonly #maxResponseBytes: number;
  readonly #context: PostContext;
  readonly #posts = new Set<Post>();
  readonly #pending = new Map<RequestId, Post>();
  /** Requests that were sent and not answered, and those that wait for their turn. */
  readonly #running = new Set<Post>();
  readonly #queued = new Set<Post>();
  #isDequeuing = false;
  #sink: TransportSink | undefined;
  #state: 'new' | 'open' | 'closed' = 'new';
  #session: HttpSession | undefined;
  #stopListening: (() => void) | undefined;
  /**
   * Whether the stream of a request is resumed when it breaks behind an event with an id. To be set where the agreed
   * revision has resumable streams; false at first.
   */
  resumable = false;

  /** @throws TypeError when the address or an option is of no use. */
  constructor(url: string | URL, options: HttpClientOptions = {}) {
    const { maxResponseBytes = DEFAULT_MAX_EVENT_BYTES } = options;
    positive('maxResponseBytes', maxResponseBytes, 'bytes');
    this.#endpoint = new Endpoint(url, options);
    this.#maxResponseBytes = maxResponseBytes;
    this.name = this.#endpoint.name;
    this.#context = this.#postContext();
  }

  /** The id of the session that the server opened with its answer to `initialize`; sent along from then on. */
  get sessionId(): string | undefined {
    return this.#session?.id;
  }

  async start(sink: TransportSink): Promise<void> {
    if (this.#state !== 'new' || this.#sink) {
      throw new McpError('CLOSED', `Cannot start "${this.name}": it was started before`);
    }
    this.#sink = sink;
    await this.#endpoint.open();
    if (this.#isClosed()) {
      await this.#endpoint.close();
      throw new McpError('CLOSED', `Cannot start "${this.name}": it was closed meanwhile`);
    }
    this.#state = 'open';
  }

  send(message: JsonRpcMessage, options?: SendOptions): Promise<void> {
    if (this.#state !== 'open') throw new McpError('CLOSED', `Cannot send to "${this.name}": it is closed`);
    const body = JSON.stringify(message);
    return new Promise((resolve, reject) => {
      const isRequest = 'method' in message && 'id' in message;
      const request: OutgoingRequest = {
        method: 'POST',
        address: this.#endpoint.address,
        framing: POST_FRAMING,
        headers: options?.headers,
        // A session is opened without one.
        session: 'method' in message && message.method === 'initialize' ? undefined : this.#session,
        body,
        headersTimeoutMs: isRequest ? 0 : UNWATCHED_TIMEOUT_MS,
        bodyTimeoutMs: isRequest ? 0 : UNWATCHED_TIMEOUT_MS,
      };
      const post = new Post(this.#context, message, isRequest, request, { resolve, reject });
      this.#posts.add(post);
      if (isRequest && isRequestId(post.id)) this.#pending.set(post.id, post);
      // Only requests wait: what else is sent may be what a request is waiting for.
      if (isRequest) this.#enqueue(post);
      else post.start();
    });
  }

  abandon(id: RequestId): void {
    this.#pending.get(id)?.close();
  }

  /**
   * Opens the stream for what the server sends by itself; messages arrive at the sink. It is kept open across broken
   * connections, however long the server cannot be reached, until {@link HttpClientTransport.close}, another call, the
   * server's refusal or its sixth connection in a row that brings nothing; the last two are reported.
   *
   * @returns whether the server has such a stream. That may take as long as the server likes.
   * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
   */
  openStream(options: ServerStreamOptions = {}): Promise<boolean> {
    this.#stopListening?.();
    if (this.#state !== 'open') return Promise.resolve(false);
    return new Promise((resolve) => {
      let isOpen = false;
      let isGap = false;
      const stream = new MessageStream(
        this.#endpoint,
        {
          perseveres: true,
          message: (value) => this.#deliver(value, undefined),
          warning: (error) => this.#sink?.error(error),
          resumes: () => isOpen,
          resumption: (lastEventId) => {
            isGap = isOpen && lastEventId === undefined;
            return this.#streamRequest(options.headers, lastEventId);
          },
          opened: () => {
            isOpen = true;
            resolve(true);
            if (isGap) options.onGap?.();
          },
          ended: (error) => {
            this.#stopListening = undefined;
            resolve(false);
            if (!isOpen || !error) return;
            this.#sink?.error(error);
            if (httpErrorOf(error)?.sessionLost) options.onSessionLost?.();
          },
        },
        this.#maxResponseBytes,
      );
      this.#stopListening = () => {
        this.#stopListening = undefined;
        stream.close();
        resolve(false);
      };
      stream.connect();
    });
  }

  /** Sends the session id no more, and ends the stream that belongs to it. */
  forgetSession(): void {
    this.#session = undefined;
    this.#stopListening?.();
  }

  /**
   * Tells the server that the session is over and forgets it. Waits 3 s at most for an answer, and any answer will do:
   * a server need not allow it. Never rejects.
   */
  deleteSession(options?: SendOptions): Promise<void> {
    const session = this.#session;
    this.forgetSession();
    if (!session || this.#state !== 'open') return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        roundTrip.abort();
        resolve();
      }, DELETE_WAIT_MS);
      const roundTrip = this.#endpoint.send(
        {
          method: 'DELETE',
          address: this.#endpoint.address,
          framing: DELETE_FRAMING,
          headers: options?.headers,
          session,
          headersTimeoutMs: DELETE_WAIT_MS,
          bodyTimeoutMs: DELETE_WAIT_MS,
        },
        { head: done, data: () => roundTrip.abort(), end: done, fail: done },
      );
    });
  }

  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    const wasOpen = this.#state === 'open';
    this.#state = 'closed';
    this.#stopListening?.();
    const error = new McpError('CLOSED', `The connection to "${this.name}" is closed`);
    this.#queued.clear();
    for (const post of this.#posts) post.close(error);
    await this.#endpoint.close();
    if (wasOpen) this.#sink?.close();
  }

  #enqueue(post: Post): void {
    if (this.#running.size >= this.#endpoint.maxConcurrentRequests) {
      this.#queued.add(post);
      return;
    }
    this.#running.add(post);
    post.start();
  }

  /** A request needs its place no longer: the next one takes it. One that fails at once makes room in the same loop. */
  #dequeue(post: Post): void {
    if (this.#queued.delete(post) || !this.#running.delete(post) || this.#isDequeuing) return;
    this.#isDequeuing = true;
    for (const next of this.#queued) {
      if (this.#running.size >= this.#endpoint.maxConcurrentRequests) break;
      this.#queued.delete(next);
      this.#running.add(next);
      next.start();
    }
    this.#isDequeuing = false;
  }

  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  #postContext(): PostContext {
    const transport = this;
    return {
      endpoint: this.#endpoint,
      maxResponseBytes: this.#maxResponseBytes,
      get resumable() {
        return transport.resumable;
      },
      resumption: (lastEventId, posted) => this.#streamRequest(posted.headers, lastEventId),
      accepted: (post, head) => this.#onAccepted(post, head),
      message: (value, post) => this.#deliver(value, post),
      warning: (error) => this.#sink?.error(error),
      waiting: ({ id }, isWaiting) => {
        if (isRequestId(id)) this.#sink?.waiting?.(id, isWaiting);
      },
      finished: (post) => this.#onFinished(post),
    };
  }

  #streamRequest(headers: HeaderMap | undefined, lastEventId: string | undefined): OutgoingRequest {
    // A header is bytes: those of the id in UTF-8.
    const id = lastEventId === undefined ? undefined : Buffer.from(lastEventId, 'utf8').toString('latin1');
    return {
      method: 'GET',
      address: this.#endpoint.address,
      framing: id === undefined ? STREAM_FRAMING : { ...STREAM_FRAMING, 'last-event-id': id },
      headers,
      session: this.#session,
      headersTimeoutMs: 0,
      bodyTimeoutMs: 0,
    };
  }

  #onAccepted(post: Post, { headers, address }: ReplyHead): void {
    if (post.method !== 'initialize') return;
    const id = headers[SESSION_HEADER];
    if (id === undefined) return;
    if (typeof id === 'string' && SESSION_ID.test(id)) {
      this.#session = { id, origin: address.origin, headers: { [SESSION_HEADER]: id } };
      return;
    }
    const message = `"${this.name}" opened a session with an id that is none: only visible ASCII is allowed`;
    this.#sink?.error(new McpError('INVALID_MESSAGE', message));
  }

  #onFinished(post: Post): void {
    this.#posts.delete(post);
    this.#dequeue(post);
    if (isRequestId(post.id) && this.#pending.get(post.id) === post) this.#pending.delete(post.id);
  }

  /** Hands a value on and settles the post that it answers, whichever stream it came on. */
  #deliver(value: unknown, post: Post | undefined): void {
    const id = responseId(value);
    // The cast is sound: responseId says null for error responses only.
    if (id === null && post?.refuse(value as JsonRpcErrorResponse)) return;
    this.#sink?.message(value);
    if (Array.isArray(value)) for (const item of value) this.#answered(responseId(item));
    else this.#answered(id);
  }

  #answered(id: RequestId | null | undefined): void {
    const post = isRequestId(id) ? this.#pending.get(id) : undefined;
    if (!post) return;
    post.answered();
    this.#dequeue(post);
  }
}
