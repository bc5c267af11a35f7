import type {
  CallOptions,
  InboundRequest,
  JsonObject,
  JsonRpcRequest,
  RequestId,
} from '../../jsonrpc/index.ts';
import type { DialectName, Revision, RevisionTraits } from '../revisions.ts';
import type { ClientCapabilities, Implementation } from '../types/identity.ts';
import type { Answers, Questions } from './input.ts';

/** What a client said of itself. All of it is self-reported. */
export interface ClientDescription {
  readonly info?: Implementation;
  readonly capabilities: ClientCapabilities;
}

/**
 * What a request came by, and what belongs to it leaves by: one for all requests of a channel, one for each exchange of
 * HTTP.
 */
export interface Carrier {
  /** Who asks, as the transport's guard established it; undefined where there is none. */
  readonly auth?: unknown;
  /** The envelope's metadata, by lower-case name, on transports that have any. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Sends a notification that belongs to the request `id`. A promise means that the client is behind; it resolves when
   * there is room again.
   */
  notify(id: RequestId, method: string, params: JsonObject): void | Promise<void>;
  /**
   * Sends a request to the client in the course of its request `id`, and waits. Absent where nothing can carry one.
   */
  readonly call?:
    | ((
        id: RequestId,
        method: string,
        params: JsonObject | undefined,
        options: CallOptions,
      ) => Promise<JsonObject>)
    | undefined;
  /**
   * Waits until an answer does not arrive in one piece with progress that was sent at `sentAt`, by the clock of
   * {@link performance}. Undefined when that is long ago, absent where messages arrive by themselves.
   */
  readonly apart?: ((sentAt: number) => Promise<void> | undefined) | undefined;
  /**
   * Ends the connection that carries the request's messages, so that the client comes back for the rest later. False
   * where it could not come back.
   */
  hangUp?(): boolean;
}

/** A request that is being answered, as far as a dialect needs it. */
export interface OpenRequest {
  readonly requestId: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly carrier: Carrier;
  readonly auth: unknown;
  readonly signal: AbortSignal;
  /** What the handler wants to find again when it runs anew. */
  readonly state: unknown;
}

/**
 * What is known of the client while one of its requests is answered, and how it is asked for input. A session is the
 * scope of all its requests; in the stateless dialect each request brings its own.
 */
export interface RequestScope {
  readonly revision: Revision;
  readonly traits: RevisionTraits;
  readonly client: ClientDescription;
  /** The least severe level of log message that the client wants, as its index; undefined when it wants none. */
  readonly logLevel: number | undefined;
  /** What the handler left in `context.state` when it last asked for input on this request. */
  readonly state: unknown;
  /**
   * Gets the client's answers to questions, all or none.
   *
   * @throws RpcError or McpError when the client cannot be asked, or its answers do not fit the questions.
   */
  ask(request: OpenRequest, questions: Questions): Promise<Answers>;
  /** Whether {@link RequestScope.interruption} has something to say. */
  readonly isInterrupted: boolean;
  /**
   * What the client is answered whatever the handler did: the questions that it left open. Undefined when there are none.
   *
   * @throws RpcError when the client's answers did not fit.
   */
  interruption(request: OpenRequest): JsonObject | undefined;
  /** Completes what a handler returned with what this dialect puts into every result. */
  complete(request: OpenRequest, result: object): JsonObject;
}

/**
 * One era of the protocol, seen from the server. Which one a request belongs to is decided by how it comes; nothing
 * outside the two implementations asks which one it is.
 */
export interface ServerDialect {
  readonly name: DialectName;
  /**
   * Answers a request.
   *
   * @throws RpcError, and nothing else, at once or as a rejection.
   */
  answer(
    request: JsonRpcRequest,
    inbound: InboundRequest,
    carrier: Carrier,
  ): JsonObject | Promise<JsonObject>;
}
