import {
  type CallOptions,
  INTERNAL_ERROR,
  type InboundRequest,
  type JsonObject,
  type JsonRpcRequest,
  type JsonRpcResponse,
  McpError,
  type RequestId,
  RpcError,
} from '../../../jsonrpc/index.ts';
import type { HttpExchange, HttpHeaders } from '../../../transport/index.ts';
import type { Carrier, ServerDialect } from '../dialect.ts';
import type { LoggedStream } from './logged-stream.ts';

/** What an exchange needs of the session that it belongs to. */
export interface ExchangeHost {
  readonly dialect: ServerDialect;
  /** Headers of every reply. */
  readonly replyHeaders: HttpHeaders | undefined;
  /** Opens a stream as the reply to this exchange. */
  openStream(exchange: HttpExchange): LoggedStream;
  /** Sends a request to the client on a stream, and waits for the answer that comes by another exchange. */
  callOn?(
    stream: LoggedStream,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<JsonObject>;
}

/**
 * One POST with requests of a session, one or, in a batch, several. It is answered with JSON, or, once something is to be
 * sent before the answers, with a stream. That the client goes away cancels nothing: it may come back for the rest.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
 */
export class SessionExchange implements Carrier {
  readonly #host: ExchangeHost;
  readonly #exchange: HttpExchange;
  readonly #isBatch: boolean;
  readonly #running = new Map<RequestId, SessionRequest>();
  readonly #answers: JsonRpcResponse[] = [];
  #stream: LoggedStream | undefined;
  readonly call: Carrier['call'];

  constructor(host: ExchangeHost, exchange: HttpExchange, isBatch: boolean) {
    this.#host = host;
    this.#exchange = exchange;
    this.#isBatch = isBatch;
    const { callOn } = host;
    this.call = callOn && ((_id, ...call) => callOn.call(host, this.#openStream(), ...call));
  }

  get auth(): unknown {
    return this.#exchange.auth;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#exchange.headers;
  }

  /** Whether requests are still being answered. */
  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  notify(_id: RequestId, method: string, params: JsonObject): void | Promise<void> {
    return this.#openStream().send({ jsonrpc: '2.0', method, params });
  }

  /** Ends the connection that carries the stream, so that the client comes back later. False without a stream to end. */
  hangUp(): boolean {
    if (!this.isRunning) return false;
    this.#openStream().hangUp();
    return true;
  }

  /** Answers requests; the reply is complete when all of them are. Resolves then; never rejects. */
  async answer(
    requests: readonly JsonRpcRequest[],
    refusals: readonly JsonRpcResponse[] = [],
  ): Promise<void> {
    this.#answers.push(...refusals);
    const running = requests.map((request) => this.#run(request));
    await Promise.all(running);
    this.#complete();
  }

  /** Aborts the request with this id: it gets no answer. False when there is none. */
  cancel(id: unknown, reason: string): boolean {
    // Sound: a key of another type is simply not found.
    const request = this.#running.get(id as RequestId);
    if (!request) return false;
    request.abort(new McpError('ABORTED', reason));
    return true;
  }

  /** Aborts everything. */
  abort(reason: McpError): void {
    for (const request of this.#running.values()) request.abort(reason);
  }

  async #run(request: JsonRpcRequest): Promise<void> {
    const { id } = request;
    if (this.#running.has(id)) {
      this.#take({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: 'The id is used twice' } });
      return;
    }
    const inbound = new SessionRequest(id);
    this.#running.set(id, inbound);
    let response: JsonRpcResponse | undefined;
    try {
      const result = this.#host.dialect.answer(request, inbound, this);
      response = { jsonrpc: '2.0', id, result: await Promise.race([result, inbound.aborted]) };
    } catch (error) {
      if (error instanceof RpcError) response = { jsonrpc: '2.0', id, error: error.toJSON() };
      // Otherwise it was aborted: there is no answer.
    }
    this.#running.delete(id);
    if (response && !inbound.isAborted) this.#take(response);
  }

  #take(response: JsonRpcResponse): void {
    if (this.#stream) void this.#stream.send(response);
    else this.#answers.push(response);
  }

  #complete(): void {
    if (this.#stream) {
      this.#stream.finish();
      return;
    }
    const { replyHeaders } = this.#host;
    const [first] = this.#answers;
    if (!first) this.#exchange.reply(this.#isBatch ? 202 : 204, undefined, replyHeaders);
    else this.#exchange.reply(200, this.#isBatch ? this.#answers : first, replyHeaders);
  }

  #openStream(): LoggedStream {
    if (!this.#stream) {
      this.#stream = this.#host.openStream(this.#exchange);
      for (const answer of this.#answers.splice(0)) void this.#stream.send(answer);
    }
    return this.#stream;
  }
}

class SessionRequest implements InboundRequest {
  readonly id: RequestId;
  readonly #controller = new AbortController();
  /** Rejects when the request is aborted; pending until then. */
  readonly aborted: Promise<never>;
  #reject: (reason: McpError) => void = () => {};

  constructor(id: RequestId) {
    this.id = id;
    this.aborted = new Promise((_, reject) => {
      this.#reject = reject;
    });
    this.aborted.catch(() => {});
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#controller.signal.aborted;
  }

  abort(reason: McpError): void {
    this.#controller.abort(reason);
    this.#reject(reason);
  }
}
