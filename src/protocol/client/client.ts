import {
  DEFAULT_TIMEOUT_MS,
  type JsonObject,
  type JsonRpcNotification,
  McpError,
  METHOD_NOT_FOUND,
  RpcError,
  TimeoutError,
} from '../../jsonrpc/index.ts';
import { createLinkedPair, type Transport } from '../../transport/index.ts';
import { isModernError, UNSUPPORTED_PROTOCOL_VERSION } from '../errors.ts';
import type { DialectName, Revision } from '../revisions.ts';
import type { CallToolResult, Progress, ToolDefinition } from '../types/features.ts';
import type {
  ClientCapabilities,
  Implementation,
  LoggingLevel,
  ServerCapabilities,
} from '../types/identity.ts';
import type { Connection } from './connection.ts';
import type { RequestExtras } from './dialect.ts';
import { declaredCapabilities, type InputHandlers } from './input.ts';
import { type NegotiationOptions, negotiate, renegotiate, type Verdict } from './negotiate.ts';
import { DEFAULT_MAX_PAGES, keepValid, readAllPages } from './pages.ts';
import { answerRound, DEFAULT_MAX_ROUNDS } from './rounds.ts';

const DEFAULT_PROBE_TIMEOUT_MS = 5000;

/** A notification of the server, as it came. */
export type Notification = Pick<JsonRpcNotification, 'method' | 'params'>;

export interface ClientOptions extends InputHandlers {
  /** Who this client says it is. Default: mcpwire and its version. */
  clientInfo?: Implementation;
  /** Capabilities to declare beside those that follow from the handlers. */
  capabilities?: ClientCapabilities;
  /** `auto` (default) finds out what the server speaks; the others insist. */
  dialect?: DialectName | 'auto';
  /** What an earlier connection to the same server found out ({@link McpClient.verdict}): connects without a probe. */
  prior?: Verdict;
  /** How long a server may be silent on the probe before it is taken for one of the session dialect, in milliseconds. Default 5000. */
  probeTimeoutMs?: number;
  /** How long the session handshake may take, in milliseconds. Default 60000. */
  connectTimeoutMs?: number;
  /** The deadline of every request that sets none, in milliseconds. Default 60000; `Infinity` means none. */
  timeoutMs?: number;
  /** How many pages of one list are read before it counts as endless. Default 1000. */
  maxPages?: number;
  /** How often a server may ask for input before one request is answered. Default 10. */
  maxRounds?: number;
  /** Gets every notification from the first moment on; see also {@link McpClient.onNotification}. */
  onNotification?: (notification: Notification) => void;
  /** Hears of what was skipped or repaired. Must not throw. Default: nobody hears. */
  onWarning?: (warning: McpError) => void;
  /** Called once when the connection ends without {@link McpClient.close}. */
  onClose?: (reason: McpError) => void;
  /** Gives up connecting. */
  signal?: AbortSignal;
}

export interface RequestOptions {
  /** Gives the request up: the server is told. The promise rejects with code `ABORTED`. */
  signal?: AbortSignal;
  /** The deadline, in milliseconds. Default: the client's `timeoutMs`; `Infinity` means none. */
  timeoutMs?: number;
  /** Gets each progress notification before the result. */
  onProgress?: (progress: Progress) => void;
  /** Whether progress starts the deadline anew. Default false. */
  resetTimeoutOnProgress?: boolean;
  /** The deadline that progress cannot move, in milliseconds. Default 600000. */
  maxTimeoutMs?: number;
  /** Stateless dialect: the least severe log message that the server may send for this request. */
  logLevel?: LoggingLevel;
}

/** Anything that can be the server at the other end of an in-process connection. */
export interface InProcessServer {
  connect(transport: Transport): unknown;
}

/**
 * A connection to one MCP server, whatever dialect it speaks.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic
 */
export class McpClient {
  readonly #options: ClientOptions;
  readonly #negotiation: NegotiationOptions;
  readonly #listeners = new Set<(notification: Notification) => void>();
  #connection: Connection | undefined;
  #renegotiation: Promise<void> | undefined;

  private constructor(open: () => Transport, canReopen: boolean, options: ClientOptions) {
    this.#options = options;
    this.#negotiation = {
      open,
      canReopen,
      dialect: options.dialect ?? 'auto',
      prior: options.prior,
      identity: {
        info: options.clientInfo ?? { name: 'mcpwire', version: '0.1.0' },
        capabilities: declaredCapabilities(options, options.capabilities),
      },
      handlers: options,
      probeTimeoutMs: options.probeTimeoutMs ?? DEFAULT_PROBE_TIMEOUT_MS,
      connectTimeoutMs: options.connectTimeoutMs ?? DEFAULT_TIMEOUT_MS,
      signal: options.signal,
      hooks: {
        notification: (notification) => this.#onNotification(notification),
        warning: (warning) => this.#warn(warning),
        closed: (connection, reason) => {
          if (connection === this.#connection) options.onClose?.(reason);
        },
      },
    };
  }

  /** Connects to a server in this process. @throws McpError `CONNECT_FAILED` when no dialect is found. */
  static inProcess(server: InProcessServer, options: ClientOptions = {}): Promise<McpClient> {
    const open = () => {
      const [ours, theirs] = createLinkedPair();
      server.connect(theirs);
      return ours;
    };
    return McpClient.#connect(open, false, options);
  }

  /**
   * Connects over a transport that was not started yet, or over those that a function makes: then the connection can be
   * made again.
   *
   * @throws McpError `CONNECT_FAILED` when no dialect is found; the transport's own error when it does not start.
   */
  static connect(transport: Transport | (() => Transport), options: ClientOptions = {}): Promise<McpClient> {
    if (typeof transport === 'function') return McpClient.#connect(transport, true, options);
    return McpClient.#connect(() => transport, false, options);
  }

  static async #connect(
    open: () => Transport,
    canReopen: boolean,
    options: ClientOptions,
  ): Promise<McpClient> {
    const client = new McpClient(open, canReopen, options);
    client.#connection = await negotiate(client.#negotiation);
    return client;
  }

  /** The dialect that this connection speaks. */
  get dialect(): DialectName {
    return this.#open.dialect.name;
  }

  /** The revision that was agreed on. */
  get protocolVersion(): Revision {
    return this.#open.dialect.revision;
  }

  /** Who the server says it is. Undefined where it says nothing. */
  get serverInfo(): Implementation | undefined {
    return this.#open.dialect.server.info;
  }

  get serverCapabilities(): ServerCapabilities {
    return this.#open.dialect.server.capabilities;
  }

  /** What the server tells a model about how to use it. */
  get instructions(): string | undefined {
    return this.#open.dialect.server.instructions;
  }

  /** What was found out about this server, as plain JSON; the `prior` option of the next connection takes it. */
  get verdict(): Verdict {
    const { name, revision, server } = this.#open.dialect;
    return { dialect: name, revision, server };
  }

  /** What this client is connected to, for messages to people. */
  get name(): string {
    return this.#open.transport.name;
  }

  /** Adds a listener for every notification of the server. Returns what removes it. */
  onNotification(listener: (notification: Notification) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Reads all pages of the server's tools. A server without the method has no tools, which costs a warning; an entry
   * that is no tool is left out with a warning.
   *
   * @throws McpError `PAGINATION` when the list does not end within `maxPages`, TimeoutError when all pages together
   *   take longer than the deadline.
   */
  async listTools(options: RequestOptions = {}): Promise<ToolDefinition[]> {
    const items = await this.#list('tools/list', 'tools', options);
    return keepValid<ToolDefinition>(
      'tools/list',
      items,
      { name: 'string', inputSchema: 'object' },
      (warning) => this.#warn(warning),
    );
  }

  /**
   * Calls a tool. A tool that failed is a result with `isError`, not an exception.
   *
   * @param args Sent where they are given; left out otherwise.
   * @throws RpcError when the server refuses the call, TimeoutError at the deadline, McpError `INVALID_RESULT`,
   *   `ROUNDS_EXCEEDED` or `INPUT_REQUIRED`.
   */
  async callTool(name: string, args?: JsonObject, options: RequestOptions = {}): Promise<CallToolResult> {
    const params: JsonObject = args === undefined ? { name } : { name, arguments: args };
    const result = await this.request('tools/call', params, options);
    if (result.content === undefined) return { ...result, content: [] };
    if (Array.isArray(result.content)) return result as unknown as CallToolResult; // Sound: content, the one required member, is checked.
    throw new McpError(
      'INVALID_RESULT',
      `Cannot read the result of tool "${name}": "content" is not an array`,
    );
  }

  /** Asks for a sign of life. Resolves when the server answers. */
  async ping(options: RequestOptions = {}): Promise<void> {
    await this.request(this.#open.dialect.pingMethod, undefined, options);
  }

  /**
   * Sends any request and waits for its final result: input that the server asks for on the way is answered by the
   * client's handlers.
   *
   * @throws RpcError when the server answers with an error, TimeoutError at the deadline.
   */
  async request(method: string, params?: JsonObject, options: RequestOptions = {}): Promise<JsonObject> {
    const connection = this.#open;
    const result = await this.#send(connection, method, params, options);
    if (connection.dialect.resultType(method, result) === 'complete') return result;
    return this.#driveRounds(method, params, result, options);
  }

  /** Sends a notification. */
  async notify(method: string, params?: JsonObject): Promise<void> {
    const { dialect, peer, transport } = this.#open;
    const shaped = dialect.shape(params, undefined);
    await peer.notify(
      method,
      shaped,
      transport.carriesHeaders ? { headers: dialect.headers(method, shaped) } : undefined,
    );
  }

  /** Ends the connection and everything it owns. Pending requests reject with code `CLOSED`. Idempotent. */
  async close(): Promise<void> {
    await this.#connection?.close();
  }

  get #open(): Connection {
    if (!this.#connection) throw new McpError('CLOSED', 'The client is not connected');
    return this.#connection;
  }

  #send(
    connection: Connection,
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
  ): Promise<JsonObject> {
    const sent = this.#sendOnce(connection, method, params, options);
    if (!connection.dialect.renegotiates) return sent;
    return sent.catch(async (error) => {
      if (!isModernError(error) || error.rpcCode !== UNSUPPORTED_PROTOCOL_VERSION) throw error;
      await this.#renegotiate(connection, error);
      return this.#sendOnce(connection, method, params, options);
    });
  }

  #sendOnce(
    connection: Connection,
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
  ): Promise<JsonObject> {
    const { peer, dialect, transport } = connection;
    const { onProgress } = options;
    const id = peer.nextId();
    const shaped = dialect.shape(params, requestExtras(id, options));
    return peer.call(method, shaped, {
      id,
      timeoutMs: options.timeoutMs ?? this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      ...(options.signal && { signal: options.signal }),
      ...(options.maxTimeoutMs !== undefined && { maxTimeoutMs: options.maxTimeoutMs }),
      ...(options.resetTimeoutOnProgress && { resetOnProgress: true }),
      ...(onProgress && { onProgress: (progress: JsonObject) => onProgress(readProgress(progress)) }),
      ...(transport.carriesHeaders && { headers: dialect.headers(method, shaped) }),
    });
  }

  /** One renegotiation serves all requests that were refused at the same time. */
  #renegotiate(connection: Connection, refusal: RpcError): Promise<void> {
    this.#renegotiation ??= renegotiate(connection, refusal, this.#negotiation).finally(() => {
      this.#renegotiation = undefined;
    });
    return this.#renegotiation;
  }

  async #driveRounds(
    method: string,
    params: JsonObject | undefined,
    first: JsonObject,
    options: RequestOptions,
  ): Promise<JsonObject> {
    const maxRounds = this.#options.maxRounds ?? DEFAULT_MAX_ROUNDS;
    const context = { signal: options.signal ?? new AbortController().signal };
    let result = first;
    for (let round = 0; round < maxRounds; round++) {
      const answers = await answerRound(method, result, this.#options, context);
      const connection = this.#open;
      result = await this.#send(connection, method, { ...params, ...answers }, options);
      if (connection.dialect.resultType(method, result) === 'complete') return result;
    }
    throw new McpError(
      'ROUNDS_EXCEEDED',
      `"${this.name}" asked for input more than ${maxRounds} times on "${method}"; raise maxRounds`,
    );
  }

  async #list(method: string, member: string, options: RequestOptions): Promise<unknown[]> {
    const { timeoutMs = this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS } = options;
    const end = performance.now() + timeoutMs;
    try {
      return await readAllPages(method, member, this.#options.maxPages ?? DEFAULT_MAX_PAGES, (cursor) => {
        const left = end - performance.now();
        if (left <= 0)
          throw new TimeoutError(`Cannot read "${method}" to its end within ${timeoutMs} ms`, timeoutMs);
        return this.request(method, cursor === undefined ? undefined : { cursor }, {
          ...options,
          timeoutMs: left,
        });
      });
    } catch (error) {
      if (!(error instanceof RpcError) || error.rpcCode !== METHOD_NOT_FOUND) throw error;
      this.#warn(
        new McpError('NOT_SUPPORTED', `"${this.name}" does not know "${method}": taken as an empty list`),
      );
      return [];
    }
  }

  #onNotification({ method, params }: JsonRpcNotification): void {
    const notification: Notification = params === undefined ? { method } : { method, params };
    this.#options.onNotification?.(notification);
    for (const listener of this.#listeners) listener(notification);
  }

  #warn(warning: McpError): void {
    this.#options.onWarning?.(warning);
  }
}

function requestExtras(id: number, options: RequestOptions): RequestExtras | undefined {
  const { onProgress, resetTimeoutOnProgress, logLevel } = options;
  if (!onProgress && !resetTimeoutOnProgress && logLevel === undefined) return undefined;
  const extras: RequestExtras = {};
  if (onProgress || resetTimeoutOnProgress) extras.progressToken = id;
  if (logLevel !== undefined) extras.logLevel = logLevel;
  return extras;
}

function readProgress(params: JsonObject): Progress {
  const progress: Progress = { progress: typeof params.progress === 'number' ? params.progress : 0 };
  if (typeof params.total === 'number') progress.total = params.total;
  if (typeof params.message === 'string') progress.message = params.message;
  return progress;
}
