import type {
  CallOptions,
  JsonObject,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  McpError,
} from '../../../jsonrpc/index.ts';
import type { HttpExchange, HttpHeaders } from '../../../transport/index.ts';
import type { ServerCore } from '../core.ts';
import { Session } from '../session.ts';
import { ClientCalls, notification } from './client-calls.ts';
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
  readonly endsWithClient = false;
  readonly #core: ServerCore;
  readonly #settings: StreamSettings;
  // A server may hold very many sessions that do nothing: each of these is there only while it has something.
  #calls: ClientCalls | undefined;
  #exchanges: Set<SessionExchange> | undefined;
  #streams: LoggedStream[] = [];
  #standalone: LoggedStream | undefined;
  #closed: McpError | undefined;
  #nextStream = 1;
  /** When it was last used, as `performance.now()` counts. */
  lastUsed = performance.now();

  constructor(id: string, principal: string, core: ServerCore, settings: StreamSettings) {
    this.id = id;
    this.principal = principal;
    this.#core = core;
    this.#settings = settings;
    // What belongs to no request goes out on the stream that the client keeps for it, where it keeps one.
    this.dialect = new Session(core, (method, params) =>
      this.#standalone?.send(notification(method, params)),
    );
  }

  /** The client gets to know the session when it is open, and not when it was refused. */
  get replyHeaders(): HttpHeaders | undefined {
    return this.dialect.isOpened ? { 'mcp-session-id': this.id } : undefined;
  }

  /** Whether it is being used this very moment. */
  get isBusy(): boolean {
    if (this.#standalone?.isLive) return true;
    for (const exchange of this.#exchanges ?? []) if (exchange.isRunning) return true;
    return false;
  }

  /** Answers the requests of an exchange. As {@link SessionExchange.answer}. */
  answer(
    exchange: HttpExchange,
    requests: readonly JsonRpcRequest[],
    refusals: readonly JsonRpcResponse[],
    isBatch: boolean,
  ): void | Promise<void> {
    const answering = new SessionExchange(this, exchange, isBatch);
    this.#exchanges ??= new Set();
    this.#exchanges.add(answering);
    try {
      const answered = answering.answer(requests, refusals);
      if (answered) return answered.finally(() => this.#forget(answering));
    } catch (error) {
      this.#forget(answering);
      throw error;
    }
    this.#forget(answering);
  }

  /** Takes a notification of the client. */
  notified(message: JsonRpcNotification): void {
    const { method, params } = message;
    if (method === 'notifications/cancelled') {
      const reason = typeof params?.reason === 'string' ? params.reason : 'The client cancelled the request';
      for (const exchange of this.#exchanges ?? []) exchange.cancel(params?.requestId, reason);
    } else if (method === 'notifications/progress') {
      if (params) this.#calls?.progress(params);
    } else {
      this.dialect.notified(message);
    }
  }

  /** Takes the client's answer to a request of ours. */
  responded(response: unknown): void {
    this.#openCalls().responded(response);
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
    const stream = position && this.#streams.find(({ number }) => number === position.stream);
    if (!stream) return false;
    return stream.resume(position.seq, () => exchange.stream(this.replyHeaders));
  }

  openStream(exchange: HttpExchange): LoggedStream {
    const stream = new LoggedStream(this.id, this.#nextStream++, this.#settings);
    this.#streams = [...this.#withoutOldest(), stream];
    stream.open(exchange.stream(this.replyHeaders), this.dialect.traits.primedStreams);
    return stream;
  }

  callOn(
    stream: LoggedStream,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<JsonObject> {
    return this.#openCalls().call(stream, method, params, options);
  }

  /** Ends everything: requests are aborted, streams end, nothing is kept. Idempotent. */
  close(reason: McpError): void {
    this.#closed ??= reason;
    this.dialect.close();
    this.#calls?.close(reason);
    for (const exchange of this.#exchanges ?? []) exchange.abort(reason);
    for (const stream of this.#streams) {
      stream.finish();
      void this.#settings.log.drop(stream.key);
    }
    this.#streams = [];
    this.#standalone = undefined;
  }

  #forget(exchange: SessionExchange): void {
    this.#exchanges?.delete(exchange);
    if (this.#exchanges?.size === 0) this.#exchanges = undefined;
  }

  #openCalls(): ClientCalls {
    if (!this.#calls) {
      this.#calls = new ClientCalls((error) => this.#core.report(error));
      if (this.#closed) this.#calls.close(this.#closed);
    }
    return this.#calls;
  }

  /** The streams that are kept beside another one. */
  #withoutOldest(): LoggedStream[] {
    let surplus = this.#streams.length + 1 - MAX_FINISHED_STREAMS;
    if (surplus <= 0) return this.#streams;
    return this.#streams.filter((stream) => {
      if (surplus <= 0 || !stream.isFinished) return true;
      surplus--;
      void this.#settings.log.drop(stream.key);
      return false;
    });
  }
}
