import {
  type InboundRequest,
  type JsonObject,
  type JsonRpcMessage,
  type JsonRpcRequest,
  McpError,
  METHOD_NOT_FOUND,
  type RequestId,
  RpcError,
} from '../../../jsonrpc/index.ts';
import type { EventStream, HttpExchange } from '../../../transport/index.ts';
import {
  HEADER_MISMATCH,
  MISSING_REQUIRED_CLIENT_CAPABILITY,
  UNSUPPORTED_PROTOCOL_VERSION,
} from '../../errors.ts';
import { challengeOf } from '../challenge-error.ts';
import type { Carrier } from '../dialect.ts';
import type { StatelessDialect } from '../stateless.ts';

/**
 * One request of the stateless dialect by HTTP: it is answered with one JSON message, or, once something is to be sent
 * before the answer, with a stream. When the client goes away the request is cancelled.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages
 */
export class StatelessExchange implements Carrier, InboundRequest {
  readonly id: RequestId;
  readonly #exchange: HttpExchange;
  #stream: EventStream | undefined;

  constructor(exchange: HttpExchange, id: RequestId) {
    this.#exchange = exchange;
    this.id = id;
  }

  get auth(): unknown {
    return this.#exchange.auth;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#exchange.headers;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get aborted(): boolean {
    return this.#exchange.gone;
  }

  notify(_id: RequestId, method: string, params: JsonObject): void | Promise<void> {
    this.#stream ??= this.#exchange.stream();
    return this.#send({ jsonrpc: '2.0', method, params });
  }

  /** Has the dialect answer the request, and sends the answer. */
  answer(dialect: StatelessDialect, request: JsonRpcRequest): void | Promise<void> {
    let result: JsonObject | Promise<JsonObject>;
    try {
      const run = dialect.open(request, this, this);
      try {
        result = run();
      } catch (error) {
        return this.#fail(error, statusOf(error));
      }
    } catch (error) {
      return this.#fail(error, isMethodNotFound(error) ? 404 : 400);
    }
    if (!(result instanceof Promise)) return this.#finish({ jsonrpc: '2.0', id: this.id, result });
    return result.then(
      (value) => this.#finish({ jsonrpc: '2.0', id: this.id, result: value }),
      (error) => this.#fail(error, statusOf(error)),
    );
  }

  #fail(error: unknown, status: number): void {
    // A dialect throws nothing else; what is not its doing is for the listener to report.
    if (!(error instanceof RpcError)) throw error;
    const response = { jsonrpc: '2.0', id: this.id, error: error.toJSON() } as const;
    const challenge = challengeOf(error);
    if (challenge && this.#exchange.challenge(challenge, response)) return;
    this.#finish(response, status);
  }

  #finish(response: JsonRpcMessage, status = 200): void {
    const stream = this.#stream;
    if (!stream) {
      this.#exchange.reply(status, response);
      return;
    }
    void this.#send(response);
    stream.end();
  }

  /** To a client that has gone away there is nothing to say: the request's signal tells the handler. */
  #send(message: JsonRpcMessage): void | Promise<void> {
    if (!this.#stream || this.#stream.closed) return;
    try {
      return this.#stream.send(message);
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
    }
  }
}

const REFUSALS: readonly number[] = [
  HEADER_MISMATCH,
  MISSING_REQUIRED_CLIENT_CAPABILITY,
  UNSUPPORTED_PROTOCOL_VERSION,
];

function isMethodNotFound(error: unknown): boolean {
  return error instanceof RpcError && error.rpcCode === METHOD_NOT_FOUND;
}

/**
 * The status of an error that a request came to: that of a failed call is 200, for the call itself was carried out. Its
 * code says nothing of the method, which was found: a 404 would tell clients that there is no endpoint of this era.
 */
function statusOf(error: unknown): number {
  if (!(error instanceof RpcError)) return 500;
  return REFUSALS.includes(error.rpcCode) ? 400 : 200;
}
