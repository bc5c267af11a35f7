import {
  DEFAULT_MAX_EVENT_BYTES,
  isRequestId,
  type JsonRpcMessage,
  McpError,
  type SendOptions,
  TimeoutError,
} from '../../jsonrpc/index.ts';
import { positive } from '../../jsonrpc/option.ts';
import type { Transport, TransportSink } from '../transport.ts';
import type { HttpClientOptions } from './client.ts';
import { Endpoint } from './endpoint.ts';
import { EVENT_STREAM_TYPE, JSON_TYPE } from './media-type.ts';
import { MessageStream, type StreamOwner } from './message-stream.ts';
import { Post, type PostContext } from './post.ts';
import { type Address, addressOf, type HeaderMap, type OutgoingRequest } from './round-trip.ts';

export interface LegacySseOptions extends HttpClientOptions {
  /** How long the server may take to open the stream and name the address for messages, in milliseconds. Default 10000. */
  endpointTimeoutMs?: number;
}

const DEFAULT_ENDPOINT_TIMEOUT_MS = 10_000;
/** How long the server may take to accept a message, and how long its reply may pause. */
const POST_TIMEOUT_MS = 60_000;
const STREAM_FRAMING: HeaderMap = { accept: EVENT_STREAM_TYPE };
const POST_FRAMING: HeaderMap = { accept: JSON_TYPE, 'content-type': JSON_TYPE };

/**
 * The deprecated HTTP+SSE transport of revision 2024-11-05, the client's side: one event stream for all that the server
 * says, whose first event names the address that takes messages. The end of the stream is the end of the connection.
 *
 * @see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
export class LegacySseTransport implements Transport {
  readonly name: string;
  readonly carriesHeaders = true;
  readonly #endpoint: Endpoint;
  readonly #maxResponseBytes: number;
  readonly #endpointTimeoutMs: number;
  readonly #context: PostContext;
  readonly #posts = new Set<Post>();
  #sink: TransportSink | undefined;
  #state: 'new' | 'opening' | 'open' | 'closed' = 'new';
  #stream: MessageStream | undefined;
  /** Settles {@link LegacySseTransport.start}. */
  #opened: ((error?: McpError) => void) | undefined;
  #messages: Address | undefined;

  /** @throws TypeError when the address or an option is of no use. */
  constructor(url: string | URL, options: LegacySseOptions = {}) {
    const { maxResponseBytes = DEFAULT_MAX_EVENT_BYTES, endpointTimeoutMs = DEFAULT_ENDPOINT_TIMEOUT_MS } =
      options;
    positive('maxResponseBytes', maxResponseBytes, 'bytes');
    positive('endpointTimeoutMs', endpointTimeoutMs, 'milliseconds');
    this.#endpoint = new Endpoint(url, options);
    this.#maxResponseBytes = maxResponseBytes;
    this.#endpointTimeoutMs = endpointTimeoutMs;
    this.name = this.#endpoint.name;
    this.#context = this.#postContext();
  }

  /** @throws HttpError when the server refuses the stream, TimeoutError when it does not name an address in time. */
  async start(sink: TransportSink): Promise<void> {
    if (this.#state !== 'new') {
      throw new McpError('CLOSED', `Cannot start "${this.name}": it was started before`);
    }
    this.#state = 'opening';
    try {
      await this.#endpoint.open();
      await this.#openStream(sink);
    } catch (error) {
      this.#state = 'closed';
      this.#stream?.close();
      await this.#endpoint.close();
      throw error;
    }
  }

  /** Settles when the server has accepted the message; its response comes on the stream. */
  send(message: JsonRpcMessage, options?: SendOptions): Promise<void> {
    const address = this.#messages;
    if (this.#state !== 'open' || !address) {
      throw new McpError('CLOSED', `Cannot send to "${this.name}": it is closed`);
    }
    const body = JSON.stringify(message);
    return new Promise((resolve, reject) => {
      const request: OutgoingRequest = {
        method: 'POST',
        address,
        framing: POST_FRAMING,
        headers: options?.headers,
        body,
        headersTimeoutMs: POST_TIMEOUT_MS,
        bodyTimeoutMs: POST_TIMEOUT_MS,
      };
      const post = new Post(this.#context, message, false, request, { resolve, reject });
      this.#posts.add(post);
      post.start();
    });
  }

  async close(): Promise<void> {
    await this.#end(undefined);
  }

  #openStream(sink: TransportSink): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(this.#late()), this.#endpointTimeoutMs);
      this.#opened = (error) => {
        clearTimeout(timer);
        if (error) reject(error);
        else resolve();
      };
      this.#stream = new MessageStream(this.#endpoint, this.#streamOwner(sink), this.#maxResponseBytes);
      this.#stream.connect();
    });
  }

  #streamOwner(sink: TransportSink): StreamOwner {
    let base = this.#endpoint.address;
    return {
      message: (value) => this.#sink?.message(value),
      warning: (error) => this.#sink?.error(error),
      resumes: () => false,
      resumption: () => this.#streamRequest(),
      opened: ({ address }) => {
        base = address;
      },
      otherEvent: ({ event, data }) => {
        if (event !== 'endpoint' || this.#state !== 'opening') return;
        const target = messageAddress(data.trim(), base);
        if (!target) {
          this.#opened?.(this.#foreignAddress(data));
          return;
        }
        this.#messages = target;
        this.#state = 'open';
        this.#sink = sink;
        this.#opened?.();
      },
      ended: (error) => {
        void this.#end(error ?? new McpError('CLOSED', `"${this.name}" ended its event stream`));
      },
    };
  }

  /** The address for messages is the server's to choose, but only at its own origin. */
  #foreignAddress(data: string): McpError {
    const message = `Cannot connect to "${this.name}": it wants messages at ${JSON.stringify(data)}, which is not of its own origin`;
    return new McpError('INVALID_MESSAGE', message);
  }

  #late(): TimeoutError {
    const timeoutMs = this.#endpointTimeoutMs;
    const message = `"${this.name}" did not name an address for messages within ${timeoutMs} ms; raise endpointTimeoutMs to wait longer`;
    return new TimeoutError(message, timeoutMs);
  }

  #streamRequest(): OutgoingRequest {
    return {
      method: 'GET',
      address: this.#endpoint.address,
      framing: STREAM_FRAMING,
      headers: undefined,
      headersTimeoutMs: 0,
      bodyTimeoutMs: 0,
    };
  }

  #postContext(): PostContext {
    return {
      endpoint: this.#endpoint,
      maxResponseBytes: this.#maxResponseBytes,
      resumable: false,
      resumption: () => this.#streamRequest(),
      accepted: () => {},
      message: (value) => this.#sink?.message(value),
      warning: (error) => this.#sink?.error(error),
      waiting: ({ id }, isWaiting) => {
        if (isRequestId(id)) this.#sink?.waiting?.(id, isWaiting);
      },
      finished: (post) => this.#posts.delete(post),
    };
  }

  async #end(reason: McpError | undefined): Promise<void> {
    if (this.#state === 'closed') return;
    const wasOpen = this.#state === 'open';
    const error = reason ?? new McpError('CLOSED', `The connection to "${this.name}" is closed`);
    this.#state = 'closed';
    this.#opened?.(error);
    this.#stream?.close();
    for (const post of this.#posts) post.close(error);
    await this.#endpoint.close();
    if (wasOpen) this.#sink?.close(reason);
  }
}

function messageAddress(data: string, base: Address): Address | undefined {
  if (!URL.canParse(data, base.href)) return undefined;
  const target = new URL(data, base.href);
  return target.origin === base.origin ? addressOf(target) : undefined;
}
