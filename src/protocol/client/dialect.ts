import type { InboundRequest, JsonObject, JsonRpcRequest, McpError, Peer } from '../../jsonrpc/index.ts';
import type { DialectName, Revision } from '../revisions.ts';
import type { SubscriptionFilter } from '../types/features.ts';
import type {
  ClientCapabilities,
  Implementation,
  LoggingLevel,
  ServerCapabilities,
} from '../types/identity.ts';
import type { ListenSink, OpenListen } from './changes.ts';

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

/** What a dialect works on when it does more than shape single messages: one open connection. */
export interface DialectChannel {
  readonly dialect: ClientDialect;
  readonly peer: Peer;
  /** What is at the other end, for error messages. */
  readonly name: string;
  /** Settles when the stream for what the server sends by itself is open, or refused. Absent where there is no such stream. */
  readonly serverStream: Promise<unknown> | undefined;
  /** Adds someone who follows what arrives. Returns what removes them. */
  tap(tap: ChannelTap): () => void;
  /** Says that one more listener wants to hear of a resource; the first one sends a request. */
  subscribe(uri: string, timeoutMs: number): Promise<void>;
  /** Says that one listener less does; the last one sends a request. Never rejects. */
  unsubscribe(uri: string, timeoutMs: number): Promise<void>;
}

/** Someone who follows what arrives on one connection. */
export interface ChannelTap {
  notification(method: string, params: JsonObject | undefined): void;
  /** Notifications may have been lost, while the connection goes on. */
  missed?(): void;
  closed(reason: McpError): void;
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
  /** Whether tools name arguments that are to ride in headers as well, on transports that have headers. */
  readonly mirrorsParams: boolean;
  /** Whether results say how long they are fresh. */
  readonly hasCachingHints: boolean;
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
  /** Opens a stream of changes on a connection. */
  listen(
    channel: DialectChannel,
    filter: SubscriptionFilter,
    sink: ListenSink,
    timeoutMs: number,
  ): Promise<OpenListen>;
  /** The request that sets the level of log messages; undefined where each request says it itself. */
  logLevelRequest(level: LoggingLevel): { method: string; params: JsonObject } | undefined;
  /** The notification that says that the client's roots changed; undefined where the server asks each time. */
  readonly rootsChanged: string | undefined;
}
