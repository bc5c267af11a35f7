import {
  type CallOptions,
  type JsonObject,
  type JsonRpcMessage,
  type JsonRpcNotification,
  McpError,
  Peer,
  type RequestId,
} from '../../../jsonrpc/index.ts';
import type { HttpExchange, HttpHeaders } from '../../../transport/index.ts';
import type { ServerCore } from '../core.ts';
import { Session } from '../session.ts';
import { LoggedStream, readEventId, type StreamSettings } from './logged-stream.ts';
import { type ExchangeHost, SessionExchange } from './session-exchange.ts';

/** Streams that are over are kept for clients that have not read them to their end: this many of a session. */
const MAX_FINISHED_STREAMS = 64;

/**
 * One session by HTTP: what its exchanges and streams share. Answers go out by the exchange that brought the request, and
 * never by its id alone.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export class HttpSession implements ExchangeHost {
  readonly id: string;
  /** Who opened it: nobody else may use it. */
  readonly principal: string;
  readonly dialect: Session;
  readonly #settings: StreamSettings;
  readonly #peer: Peer;
  readonly #exchanges = new Set<SessionExchange>();
  readonly #streams = new Map<number, LoggedStream>();
  /** Where each of our requests to the client was sent. */
  readonly #routes = new Map<RequestId, LoggedStream>();
  #standalone: LoggedStream | undefined;
  #nextStream = 1;
  /** When it was last used, as `performance.now()` counts. */
  lastUsed = performance.now();

  constructor(id: string, principal: string, core: ServerCore, settings: StreamSettings) {
    this.id = id;
    this.principal = principal;
    this.#settings = settings;
    // What belongs to no request goes out on the stream that the client keeps for it, where it keeps one.
    this.dialect = new Session(core, (method, params) =>
      this.#standalone?.send(notification(method, params)),
    );
    this.#peer = new Peer({
      name: 'client',
      send: (message) => this.#route(message),
      onAbandon: ({ id: call, reason }) => {
        const params = { requestId: call, reason: reason.message };
        void this.#routes.get(call)?.send(notification('notifications/cancelled', params));
      },
      onError: (error) => core.report(error),
    });
  }

  /** The client gets to know the session when it is open, and not when it was refused. */
  get replyHeaders(): HttpHeaders | undefined {
    return this.dialect.isOpened ? { 'mcp-session-id': this.id } : undefined;
  }

  /** Whether it is being used this very moment. */
  get isBusy(): boolean {
    if (this.#standalone?.isLive) return true;
    for (const exchange of this.#exchanges) if (exchange.isRunning) return true;
    return false;
  }

  /** Answers the requests of an exchange. Resolves when they are; never rejects. */
  async answer(
    exchange: HttpExchange,
    ...batch: [...Parameters<SessionExchange['answer']>, boolean]
  ): Promise<void> {
    const [requests, refusals, isBatch] = batch;
    const answering = new SessionExchange(this, exchange, isBatch);
    this.#exchanges.add(answering);
    await answering.answer(requests, refusals);
    this.#exchanges.delete(answering);
  }

  /** Takes a notification of the client. */
  notified(message: JsonRpcNotification): void {
    const { method, params } = message;
    if (method === 'notifications/cancelled') {
      const reason = typeof params?.reason === 'string' ? params.reason : 'The client cancelled the request';
      for (const exchange of this.#exchanges) exchange.cancel(params?.requestId, reason);
    } else if (method === 'notifications/progress') {
      if (params) this.#peer.progress(params.progressToken, params);
    } else {
      this.dialect.notified(message);
    }
  }

  /** Takes the client's answer to a request of ours. */
  responded(response: unknown): void {
    this.#peer.receive(response);
  }

  /** Opens the stream for what belongs to no request. An older one is ended. */
  listen(exchange: HttpExchange): void {
    this.#standalone?.finish();
    this.#standalone = this.openStream(exchange);
  }

  /**
   * Goes on with a stream whose connection broke.
   *
   * @returns false when there is no such stream, or what was missed is no longer kept.
   */
  async resume(lastEventId: string, exchange: HttpExchange): Promise<boolean> {
    const position = readEventId(lastEventId);
    const stream = position && this.#streams.get(position.stream);
    if (!stream) return false;
    return stream.resume(position.seq, () => exchange.stream(this.replyHeaders));
  }

  openStream(exchange: HttpExchange): LoggedStream {
    const number = this.#nextStream++;
    const stream = new LoggedStream(this.id, number, this.#settings);
    this.#streams.set(number, stream);
    this.#forgetFinished();
    stream.open(exchange.stream(this.replyHeaders), this.dialect.traits.primedStreams);
    return stream;
  }

  async callOn(
    stream: LoggedStream,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<JsonObject> {
    const id = this.#peer.nextId();
    this.#routes.set(id, stream);
    try {
      return await this.#peer.call(method, params, { ...options, id });
    } finally {
      this.#routes.delete(id);
    }
  }

  /** Ends everything: requests are aborted, streams end, nothing is kept. Idempotent. */
  close(reason: McpError): void {
    this.dialect.close();
    this.#peer.close(reason);
    for (const exchange of this.#exchanges) exchange.abort(reason);
    for (const stream of this.#streams.values()) {
      stream.finish();
      void this.#settings.log.drop(stream.key);
    }
    this.#streams.clear();
    this.#standalone = undefined;
  }

  #route(message: JsonRpcMessage): void | Promise<void> {
    const id = 'id' in message ? message.id : undefined;
    const stream = id === undefined || id === null ? undefined : this.#routes.get(id);
    if (!stream) throw new McpError('CLOSED', 'Cannot send to the client: its stream is gone');
    return stream.send(message);
  }

  #forgetFinished(): void {
    if (this.#streams.size <= MAX_FINISHED_STREAMS) return;
    for (const [number, stream] of this.#streams) {
      if (!stream.isFinished) continue;
      this.#streams.delete(number);
      void this.#settings.log.drop(stream.key);
      if (this.#streams.size <= MAX_FINISHED_STREAMS) return;
    }
  }
}

function notification(method: string, params: JsonObject | undefined): JsonRpcNotification {
  return params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params };
}
