import {
  type JsonObject,
  type JsonRpcNotification,
  McpError,
  METHOD_NOT_FOUND,
  RpcError,
  TimeoutError,
  toError,
} from '../../jsonrpc/index.ts';
import { kindOf, misuse, oneOf } from '../../jsonrpc/option.ts';
import {
  createLinkedPair,
  type HttpClientOptions,
  type ProcessOptions,
  type ProcessSpec,
  ProcessTransport,
  type SocketOptions,
  type SocketTarget,
  SocketTransport,
  type Transport,
  type WebSocketOptions,
  WebSocketTransport,
} from '../../transport/index.ts';
import { HEADER_MISMATCH } from '../errors.ts';
import type { DialectName, Revision } from '../revisions.ts';
import type { Resource, ResourceTemplate } from '../types/content.ts';
import type {
  CallToolResult,
  CompleteParams,
  CompleteResult,
  GetPromptResult,
  PromptDefinition,
  ReadResourceResult,
  SubscriptionFilter,
  ToolDefinition,
} from '../types/features.ts';
import {
  type Implementation,
  LOGGING_LEVELS,
  type LoggingLevel,
  type ServerCapabilities,
} from '../types/identity.ts';
import type { Root } from '../types/input.ts';
import type { BackoffOptions } from './backoff.ts';
import type { Binding } from './binding.ts';
import { ResultCache } from './cache.ts';
import type { DialectChannel } from './dialect.ts';
import { httpBinding, withExtension } from './http.ts';
import { declaredCapabilities, type InputHandlers } from './input.ts';
import { assertRequestOptions, Link, type RequestOptions } from './link.ts';
import { Subscription } from './listen.ts';
import { MirroredParams } from './mirrored-params.ts';
import type { Verdict } from './negotiate.ts';
import { type ClientOptions, type ClientSettings, type Notification, readClientOptions } from './options.ts';
import { keepValid, readAllPages } from './pages.ts';

export interface StdioOptions extends ClientOptions, ProcessOptions {}

export interface SocketClientOptions extends ClientOptions, SocketOptions {}

export interface WebSocketClientOptions extends ClientOptions, WebSocketOptions {}

export interface HttpConnectOptions extends ClientOptions, HttpClientOptions {}

export interface ListOptions extends RequestOptions {
  /** Asks the server even where a kept result is still fresh. Default false. */
  fresh?: boolean;
}

/** Anything that can be the server at the other end of an in-process connection. */
export interface InProcessServer {
  connect(transport: Transport): unknown;
}

/**
 * A client of one MCP server, whatever dialect the server speaks.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic
 */
export class McpClient {
  readonly #settings: ClientSettings;
  readonly #link: Link;
  readonly #cache: ResultCache | undefined;
  readonly #listeners = new Set<(notification: Notification) => void>();
  readonly #mirrored = new MirroredParams();
  #roots: readonly Root[] | undefined;

  private constructor(binding: Binding, settings: ClientSettings) {
    const { timeoutMs, maxRounds, autoReconnect, onClose } = settings;
    this.#settings = settings;
    this.#roots = settings.roots;
    if (settings.cache !== false) this.#cache = new ResultCache(settings.cache);
    const handlers = this.#handlers();
    this.#link = new Link(
      {
        binding,
        dialect: settings.dialect,
        prior: settings.prior,
        identity: {
          info: settings.clientInfo,
          capabilities: declaredCapabilities(handlers, settings.capabilities),
        },
        handlers,
        probeTimeoutMs: settings.probeTimeoutMs,
        connectTimeoutMs: settings.connectTimeoutMs,
        signal: settings.signal,
      },
      {
        notification: (notification) => this.#onNotification(notification),
        missed: () => this.#cache?.drop(),
        warning: (warning) => this.#warn(warning),
      },
      { handlers, timeoutMs, maxRounds, autoReconnect, onClose, onReconnect: () => this.#onReconnect() },
    );
  }

  /**
   * Starts a server as a child process and connects to it over its standard streams. The process ends with
   * {@link McpClient.close}. One that exits on being probed is started once more.
   *
   * @throws ProcessError `SPAWN_FAILED` when it cannot be started, McpError `CONNECT_FAILED` when no dialect is found.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
   */
  static stdio(spec: ProcessSpec, options: StdioOptions = {}): Promise<McpClient> {
    return McpClient.#connect({ open: () => new ProcessTransport(spec, options), canReopen: true }, options);
  }

  /**
   * Connects to a server by HTTP: Streamable HTTP of any revision, or the deprecated HTTP+SSE transport where the server
   * has no other.
   *
   * @throws HttpError `UNAUTHORIZED` or `HTTP_STATUS` when the server wants credentials or fails, McpError
   *   `CONNECT_FAILED` when no dialect is found.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
   */
  static http(url: string | URL, options: HttpConnectOptions = {}): Promise<McpClient> {
    const capabilities = withExtension(options.capabilities, options.authorizer);
    return McpClient.#connect(httpBinding(url, options), { ...options, capabilities });
  }

  /** Connects to a server in this process. @throws McpError `CONNECT_FAILED` when no dialect is found. */
  static async inProcess(server: InProcessServer, options: ClientOptions = {}): Promise<McpClient> {
    if (typeof server?.connect !== 'function') misuse('server', 'an McpServer', kindOf(server));
    const open = () => {
      const [ours, theirs] = createLinkedPair();
      server.connect(theirs);
      return ours;
    };
    return McpClient.#connect({ open, canReopen: false }, options);
  }

  /**
   * Connects over a transport that was not started yet, or over those that a function makes: then the connection can be
   * made again.
   *
   * @throws McpError `CONNECT_FAILED` when no dialect is found; the transport's own error when it does not start.
   */
  static async connect(
    transport: Transport | (() => Transport),
    options: ClientOptions = {},
  ): Promise<McpClient> {
    if (typeof transport === 'function')
      return McpClient.#connect({ open: transport, canReopen: true }, options);
    if (typeof transport?.start !== 'function')
      misuse('transport', 'a transport, or a function that makes one', kindOf(transport));
    return McpClient.#connect({ open: () => transport, canReopen: false }, options);
  }

  /**
   * Connects to a server that listens on a Unix domain socket or a TCP port.
   *
   * @throws McpError `CONNECT_FAILED` when no dialect is found, `TRANSPORT_FAILED` when nobody listens there.
   * @throws TypeError when the target or an option makes no sense.
   */
  static socket(target: SocketTarget, options: SocketClientOptions = {}): Promise<McpClient> {
    return McpClient.#connect({ open: () => new SocketTransport(target, options), canReopen: true }, options);
  }

  /**
   * Connects to a server by WebSocket.
   *
   * @throws HttpError `UNAUTHORIZED` or `HTTP_STATUS` when the server refuses the handshake, McpError `TRANSPORT_FAILED`
   *   when it cannot be reached, `CONNECT_FAILED` when no dialect is found.
   * @throws TypeError when the address or an option makes no sense.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#custom-transports
   */
  static webSocket(url: string | URL, options: WebSocketClientOptions = {}): Promise<McpClient> {
    const open = () => new WebSocketTransport(url, options);
    return McpClient.#connect({ open, canReopen: true }, options);
  }

  static async #connect(binding: Binding, options: ClientOptions): Promise<McpClient> {
    const client = new McpClient(binding, readClientOptions(options));
    await client.#link.open();
    return client;
  }

  /** The dialect that this connection speaks. */
  get dialect(): DialectName {
    return this.#link.connection.dialect.name;
  }

  /** The revision that was agreed on. */
  get protocolVersion(): Revision {
    return this.#link.connection.dialect.revision;
  }

  /** Who the server says it is. Undefined where it says nothing. */
  get serverInfo(): Implementation | undefined {
    return this.#link.connection.dialect.server.info;
  }

  get serverCapabilities(): ServerCapabilities {
    return this.#link.connection.dialect.server.capabilities;
  }

  /** What the server tells a model about how to use it. */
  get instructions(): string | undefined {
    return this.#link.connection.dialect.server.instructions;
  }

  /** What was found out about this server, as plain JSON; the `prior` option of the next connection takes it. */
  get verdict(): Verdict {
    const { name, revision, server } = this.#link.connection.dialect;
    return { dialect: name, revision, server };
  }

  /** What this client is connected to, for messages to people. */
  get name(): string {
    return this.#link.connection.transport.name;
  }

  /** Whether {@link McpClient.close} was called. A connection that was lost can still be made anew. */
  get closed(): boolean {
    return this.#link.closing.aborted;
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
  async listTools(options: ListOptions = {}): Promise<ToolDefinition[]> {
    const required = { name: 'string', inputSchema: 'object' } as const;
    const tools = await this.#list<ToolDefinition>('tools/list', 'tools', required, options);
    return this.#link.mirrorsParams ? this.#mirrored.learn(tools, (warning) => this.#warn(warning)) : tools;
  }

  /** Reads all pages of the server's resources. See {@link McpClient.listTools} for what it does with faults. */
  listResources(options: ListOptions = {}): Promise<Resource[]> {
    return this.#list('resources/list', 'resources', { uri: 'string', name: 'string' }, options);
  }

  /** Reads all pages of the server's resource templates. See {@link McpClient.listTools} for what it does with faults. */
  listResourceTemplates(options: ListOptions = {}): Promise<ResourceTemplate[]> {
    const required = { uriTemplate: 'string', name: 'string' } as const;
    return this.#list('resources/templates/list', 'resourceTemplates', required, options);
  }

  /** Reads all pages of the server's prompts. See {@link McpClient.listTools} for what it does with faults. */
  listPrompts(options: ListOptions = {}): Promise<PromptDefinition[]> {
    return this.#list('prompts/list', 'prompts', { name: 'string' }, options);
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
    const result = await (this.#link.mirrorsParams
      ? this.#callMirrored(name, params, args, options)
      : this.#link.request('tools/call', params, options));
    // Sound: content, the one required member, is an array.
    if (Array.isArray(result.content)) return result as unknown as CallToolResult;
    if (result.content === undefined) return { ...result, content: [] };
    throw new McpError(
      'INVALID_RESULT',
      `Cannot read the result of tool "${name}": "content" is not an array`,
    );
  }

  /** Reads a resource. @throws RpcError when there is none, with code -32602, or -32002 from older servers. */
  async readResource(uri: string, options: ListOptions = {}): Promise<ReadResourceResult> {
    assertRequestOptions(options);
    const result = await this.#cached('resources/read', { uri }, options);
    if (!Array.isArray(result.contents)) {
      throw new McpError(
        'INVALID_RESULT',
        `Cannot read the result of resource "${uri}": "contents" is not an array`,
      );
    }
    return result as unknown as ReadResourceResult; // Sound: contents, the one required member, is an array.
  }

  /** Fills in a prompt. @throws RpcError when the server refuses. */
  async getPrompt(
    name: string,
    args?: { [name: string]: string },
    options: RequestOptions = {},
  ): Promise<GetPromptResult> {
    const params: JsonObject = args === undefined ? { name } : { name, arguments: args };
    const result = await this.#link.request('prompts/get', params, options);
    if (!Array.isArray(result.messages)) {
      throw new McpError(
        'INVALID_RESULT',
        `Cannot read the result of prompt "${name}": "messages" is not an array`,
      );
    }
    return result as unknown as GetPromptResult; // Sound: messages, the one required member, is an array.
  }

  /** Asks what an argument of a prompt or of a resource template may be completed to. */
  async complete(
    params: CompleteParams,
    options: RequestOptions = {},
  ): Promise<CompleteResult['completion']> {
    const { completion } = await this.#link.request('completion/complete', { ...params }, options);
    if (
      typeof completion !== 'object' ||
      completion === null ||
      !('values' in completion) ||
      !Array.isArray(completion.values)
    ) {
      throw new McpError('INVALID_RESULT', 'Cannot read a completion: "completion.values" is not an array');
    }
    return completion as CompleteResult['completion']; // Sound: values, the one required member, is an array.
  }

  /**
   * Sets the least severe log message that is wanted. The session dialect tells the server once; in the stateless
   * dialect every later request says it.
   */
  async setLogLevel(level: LoggingLevel, options: RequestOptions = {}): Promise<void> {
    oneOf('level', level, LOGGING_LEVELS);
    this.#link.logLevel = level;
    const request = this.#link.connection.dialect.logLevelRequest(level);
    if (request) await this.#link.request(request.method, request.params, options);
  }

  /**
   * Changes the directories that the server may work in, and tells it where the dialect has a way to. Only for clients
   * made with the `roots` option: without it the capability is not declared.
   */
  async setRoots(roots: readonly Root[]): Promise<void> {
    if (this.#roots === undefined)
      throw new TypeError('setRoots needs a client that was made with the roots option');
    this.#roots = roots;
    const { rootsChanged } = this.#link.connection.dialect;
    if (rootsChanged) await this.notify(rootsChanged);
  }

  /**
   * Follows changes at the server.
   *
   * @throws McpError when the server refuses, TimeoutError when it does not acknowledge in time.
   */
  listen(filter: SubscriptionFilter, options: { signal?: AbortSignal } = {}): Promise<Subscription> {
    const host = {
      onConnection: <Value>(work: (channel: DialectChannel) => Promise<Value>) =>
        this.#link.onConnection(work),
      closing: this.#link.closing,
      timeoutMs: this.#settings.timeoutMs,
      missed: () => this.#cache?.drop(),
      warn: (warning: McpError) => this.#warn(warning),
    };
    return Subscription.open(host, filter, options.signal);
  }

  /** Asks for a sign of life. Resolves when the server answers. */
  async ping(options: RequestOptions = {}): Promise<void> {
    await this.#link.request(this.#link.connection.dialect.pingMethod, undefined, options);
  }

  /**
   * Sends any request and waits for its final result: input that the server asks for on the way is answered by the
   * client's handlers.
   *
   * @throws RpcError when the server answers with an error, TimeoutError at the deadline.
   */
  request(method: string, params?: JsonObject, options: RequestOptions = {}): Promise<JsonObject> {
    return this.#link.request(method, params, options);
  }

  /** Sends a notification. */
  notify(method: string, params?: JsonObject): Promise<void> {
    return this.#link.notify(method, params);
  }

  /**
   * Makes a lost connection anew: at least once, then with growing delays. Handlers stay, subscriptions are opened
   * again, and whoever holds this client goes on using it.
   *
   * @throws McpError `NOT_SUPPORTED` for an in-process client or a single transport, else the last attempt's error.
   */
  reconnect(retry: BackoffOptions = {}): Promise<void> {
    return this.#link.reconnect(retry);
  }

  /** Ends the connection and everything it owns. Pending requests reject with code `CLOSED`. Idempotent. */
  close(): Promise<void> {
    return this.#link.close();
  }

  #handlers(): InputHandlers {
    const { onElicit, onSample, onListRoots } = this.#settings;
    const answerRoots = onListRoots ?? (this.#roots && (() => this.#roots ?? []));
    return {
      ...(onElicit && { onElicit }),
      ...(onSample && { onSample }),
      ...(answerRoots && { onListRoots: answerRoots }),
    };
  }

  /** A server that refuses the headers may have changed the tool since it was listed: its list is read again, once. */
  async #callMirrored(
    name: string,
    params: JsonObject,
    args: JsonObject | undefined,
    options: RequestOptions,
  ): Promise<JsonObject> {
    const call = () =>
      this.#link.request('tools/call', params, options, this.#mirrored.headersFor(name, args));
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof RpcError) || error.rpcCode !== HEADER_MISMATCH) throw error;
      await this.listTools({ fresh: true, ...(options.signal && { signal: options.signal }) });
      return call();
    }
  }

  async #list<Item>(
    method: string,
    member: string,
    required: { readonly [member: string]: 'string' | 'object' },
    options: ListOptions,
  ): Promise<Item[]> {
    assertRequestOptions(options);
    try {
      const items = await this.#readPages(method, member, options);
      return keepValid<Item>(method, items, required, (warning) => this.#warn(warning));
    } catch (error) {
      if (!(error instanceof RpcError) || error.rpcCode !== METHOD_NOT_FOUND) throw error;
      this.#warn(
        new McpError('NOT_SUPPORTED', `"${this.name}" does not know "${method}": taken as an empty list`),
      );
      return [];
    }
  }

  /** A cursor of a kept page may be valid no longer: then everything is read anew, once. */
  async #readPages(method: string, member: string, options: ListOptions): Promise<unknown[]> {
    const { maxPages } = this.#settings;
    const { timeoutMs = this.#settings.timeoutMs } = options;
    const end = performance.now() + timeoutMs;
    let isCursorRefused = false;
    const readAll = (fresh: boolean) =>
      readAllPages(method, member, maxPages, async (cursor) => {
        const left = end - performance.now();
        if (left <= 0)
          throw new TimeoutError(`Cannot read "${method}" to its end within ${timeoutMs} ms`, timeoutMs);
        const params = cursor === undefined ? undefined : { cursor };
        try {
          return await this.#cached(method, params, { ...options, fresh, timeoutMs: left });
        } catch (error) {
          isCursorRefused = params !== undefined && error instanceof RpcError;
          throw error;
        }
      });
    try {
      return await readAll(options.fresh ?? false);
    } catch (error) {
      if (!isCursorRefused || !this.#cache?.drop([method])) throw error;
      return readAll(true);
    }
  }

  async #cached(method: string, params: JsonObject | undefined, options: ListOptions): Promise<JsonObject> {
    const cache = this.#cache;
    if (!cache) return this.#link.request(method, params, options);
    const kept = options.fresh ? undefined : cache.get(method, params);
    if (kept) return kept;
    const { generation } = cache;
    const first = await this.#link.ask(method, params, options);
    const result = await this.#link.finish(method, params, first, options);
    // What input went into belongs to that input, which is no part of the key.
    if (result === first && generation === cache.generation) {
      const ttlMs = this.#link.connection.dialect.hasCachingHints ? result.ttlMs : undefined;
      cache.set(method, params, result, ttlMs);
    }
    return result;
  }

  #onReconnect(): void {
    this.#cache?.drop();
    const { logLevel } = this.#link;
    if (logLevel === undefined) return;
    this.setLogLevel(logLevel).catch((cause) => {
      this.#warn(
        new McpError('RPC_ERROR', 'The log level could not be set again after reconnecting', { cause }),
      );
    });
  }

  #onNotification({ method, params }: JsonRpcNotification): void {
    this.#cache?.onNotification(method, params);
    const notification: Notification = params === undefined ? { method } : { method, params };
    const { onNotification } = this.#settings;
    if (onNotification) this.#tell(onNotification, notification);
    for (const listener of this.#listeners) this.#tell(listener, notification);
  }

  /** One listener that throws must not cost the others the notification. */
  #tell(listener: (notification: Notification) => void, notification: Notification): void {
    try {
      listener(notification);
    } catch (cause) {
      const message = `A listener of "${notification.method}" threw: ${toError(cause).message}`;
      this.#warn(new McpError('HANDLER_FAILED', message, { cause }));
    }
  }

  #warn(warning: McpError): void {
    this.#settings.onWarning(warning);
  }
}
