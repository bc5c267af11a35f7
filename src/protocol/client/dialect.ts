import type { InboundRequest, JsonObject, JsonRpcRequest } from '../../jsonrpc/index.ts';
import type { DialectName, Revision } from '../revisions.ts';
import type {
  ClientCapabilities,
  Implementation,
  LoggingLevel,
  ServerCapabilities,
} from '../types/identity.ts';

/** What a client says of itself. */
export interface ClientIdentity {
  info: Implementation;
  capabilities: ClientCapabilities;
}

/** What a server said of itself. All of it is self-reported, and a server may leave any of it out. */
export interface ServerDescription {
  info?: Implementation;
  capabilities: ServerCapabilities;
  instructions?: string;
}

/** What rides in a request's `_meta` beside the caller's own. */
export interface RequestExtras {
  progressToken?: string | number;
  logLevel?: LoggingLevel;
}

/**
 * One era of the protocol, seen from the client. Chosen once, when the client connects; nothing outside its two
 * implementations asks which one it is.
 */
export interface ClientDialect {
  readonly name: DialectName;
  readonly revision: Revision;
  readonly server: ServerDescription;
  /** Whether an abandoned request is cancelled by a message even where the transport could end its exchange. */
  readonly cancelsByMessage: boolean;
  /** Whether a server may refuse the revision on any request, so that another has to be agreed on. */
  readonly renegotiates: boolean;
  /** The cheapest request that every server answers. */
  readonly pingMethod: string;
  /** Completes the params of a request with what this dialect puts into every one. */
  shape(params: JsonObject | undefined, extras: RequestExtras | undefined): JsonObject | undefined;
  /** The envelope metadata of a message, for transports that have a header layer. */
  headers(method: string, params: JsonObject | undefined): Record<string, string>;
  /**
   * Says whether a result is final or asks for input first.
   *
   * @throws McpError `INVALID_RESULT` when it is of a type that this client does not know.
   */
  resultType(method: string, result: JsonObject): 'complete' | 'input_required';
  /** Answers a request of the server; `undefined` where servers have no right to send any. */
  answer(request: JsonRpcRequest, inbound: InboundRequest): JsonObject | Promise<JsonObject> | undefined;
  /** Whether an array of messages is legal. */
  readonly acceptsBatches: boolean;
}
