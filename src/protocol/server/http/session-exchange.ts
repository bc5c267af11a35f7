import {
  type CallOptions,
  INTERNAL_ERROR,
  Inbound,
  type JsonObject,
  type JsonRpcRequest,
  type JsonRpcResponse,
  McpError,
  type RequestId,
  RpcError,
} from '../../../jsonrpc/index.ts';
import type { BearerChallenge, HttpExchange, HttpHeaders } from '../../../transport/index.ts';
import { challengeOf } from '../challenge-error.ts';
import type { Carrier, ServerDialect } from '../dialect.ts';
import type { LoggedStream } from './logged-stream.ts';

/** What an exchange needs of the session that it belongs to. */
export interface ExchangeHost {
  readonly dialect: ServerDialect;
  /** Headers of every reply. */
  readonly replyHeaders: HttpHeaders | undefined;
  /** Whether a client that goes away can not come back for the rest, so that its requests are over. */
  readonly endsWithClient: boolean;
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
 * sent before the answers, with a stream. That the client goes away cancels nothing where it may come back for the rest.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
 */
export class SessionExchange implements Carrier {
  readonly #host: ExchangeHost;
  readonly #exchange: HttpExchange;
  readonly #isBatch: boolean;
  readonly #running = new Map<RequestId, Inbound>();
  readonly #answers: JsonRpcResponse[] = [];
  #stream: LoggedStream | undefined;
  #isStarting = false;
  #hadRequests = false;
  /** Whether the exchange has been answered in another way than by what is in here. */
  #isAnswered = false;
  #resolve = () => {};
  /** Hears of an answer that cannot be written; who still starts the requests is told at once. */
  #reject = (error: unknown): void => {
    throw error;
  };

  constructor(host: ExchangeHost, exchange: HttpExchange, isBatch: boolean) {
    this.#host = host;
    this.#exchange = exchange;
    this.#isBatch = isBatch;
  }

  get call(): Carrier['call'] {
    const host = this.#host;
    const { callOn } = host;
    return callOn && ((_id, ...call) => callOn.call(host, this.#openStream(), ...call));
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

  /**
   * Answers requests; the reply is complete when all of them are. A promise resolves then.
   *
   * @throws TypeError at once or as a rejection, when an answer cannot be encoded as JSON.
   */
  answer(
    requests: readonly JsonRpcRequest[],
    refusals: readonly JsonRpcResponse[] = [],
  ): void | Promise<void> {
    this.#answers.push(...refusals);
    this.#hadRequests = requests.length > 0;
    this.#isStarting = true;
    for (const request of requests) this.#run(request);
    this.#isStarting = false;
    if (!this.isRunning) return this.#complete();
    if (this.#host.endsWithClient) this.#endWithClient();
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Aborts the request with this id: it gets no answer. False when there is none. */
  cancel(id: unknown, reason: string): boolean {
    // Sound: a key of another type is simply not found.
    const request = this.#running.get(id as RequestId);
    if (!request) return false;
    this.#abort(request, new McpError('ABORTED', reason));
    return true;
  }

  /** Aborts everything, and says so in place of the answers. */
  abort(reason: McpError): void {
    const error = { code: INTERNAL_ERROR, message: reason.message };
    for (const request of [...this.#running.values()]) {
      this.#abort(request, reason, { jsonrpc: '2.0', id: request.id, error });
    }
  }

  #endWithClient(): void {
    const { signal } = this.#exchange;
    const leave = () => this.abort(new McpError('ABORTED', 'The client went away'));
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  }

  #run(request: JsonRpcRequest): void {
    const { id, method } = request;
    if (this.#running.has(id)) {
      this.#take({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: 'The id is used twice' } });
      return;
    }
    const inbound = new Inbound(id, method);
    this.#running.set(id, inbound);
    let result: JsonObject | Promise<JsonObject>;
    try {
      result = this.#host.dialect.answer(request, inbound, this);
    } catch (error) {
      this.#fail(inbound, error);
      return;
    }
    if (!(result instanceof Promise)) {
      this.#settle(inbound, { jsonrpc: '2.0', id, result });
      return;
    }
    result.then(
      (value) => this.#settle(inbound, { jsonrpc: '2.0', id, result: value }),
      (error) => this.#fail(inbound, error),
    );
  }

  #fail(inbound: Inbound, error: unknown): void {
    // A dialect throws nothing else.
    const refusal = error instanceof RpcError ? error : new RpcError(INTERNAL_ERROR, 'Internal error');
    const response = { jsonrpc: '2.0', id: inbound.id, error: refusal.toJSON() } as const;
    const challenge = challengeOf(refusal);
    if (challenge && this.#challenge(inbound, challenge, response)) return;
    this.#settle(inbound, response);
  }

  /** Asks for another token, where this is all that the exchange answers. False where it is not. */
  #challenge(inbound: Inbound, challenge: BearerChallenge, response: JsonRpcResponse): boolean {
    if (inbound.aborted || this.#isBatch || !this.#exchange.challenge(challenge, response)) return false;
    this.#isAnswered = true;
    this.#release(inbound);
    return true;
  }

  #settle(inbound: Inbound, response: JsonRpcResponse): void {
    // What was aborted meanwhile is settled.
    if (inbound.aborted) return;
    this.#release(inbound, response);
  }

  /** A request that is given up is over at once, whatever its handler does. */
  #abort(inbound: Inbound, reason: McpError, response?: JsonRpcResponse): void {
    inbound.abort(reason);
    this.#release(inbound, response);
  }

  #release({ id }: Inbound, response?: JsonRpcResponse): void {
    this.#running.delete(id);
    try {
      if (response) this.#take(response);
      if (this.isRunning || this.#isStarting) return;
      this.#complete();
      this.#resolve();
    } catch (error) {
      this.#reject(error);
    }
  }

  #take(response: JsonRpcResponse): void {
    if (this.#stream) void this.#stream.send(response);
    else this.#answers.push(response);
  }

  #complete(): void {
    if (this.#isAnswered) return;
    if (this.#stream) {
      this.#stream.finish();
      return;
    }
    const { replyHeaders } = this.#host;
    const [first] = this.#answers;
    // What was cancelled has no answer, and clients take nothing but JSON or a stream in place of one.
    if (!first && this.#hadRequests) this.#exchange.stream(replyHeaders).end();
    else if (!first) this.#exchange.reply(202, undefined, replyHeaders);
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
