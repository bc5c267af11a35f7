import {
  DEFAULT_MAX_TIMEOUT_MS,
  DEFAULT_TIMEOUT_MS,
  type ErrorCode,
  isJsonObject,
  type JsonObject,
  McpError,
  toError,
} from '../jsonrpc/index.ts';
import { oneOf, positive } from '../jsonrpc/option.ts';
import {
  type ClientOptions,
  isStatelessRevision,
  McpClient,
  type RequestOptions,
  STATELESS_REVISIONS,
  type ToolDefinition,
} from '../protocol/index.ts';
import {
  type HttpClientOptions,
  ProcessError,
  type ProcessOptions,
  type ProcessSpec,
  type WebSocketOptions,
} from '../transport/index.ts';
import { MAX_DEFINITION_DEPTH } from './contract.ts';
import { isDeeper } from './depth.ts';
import { invalidArguments, PluginError } from './plugin-error.ts';
import { resultText } from './result-text.ts';

/** A server that is started as a child process, and ends with the plugin. */
export interface StdioTarget extends ProcessSpec, ProcessOptions {
  type: 'stdio';
}

/** A server that is reached by HTTP. */
export interface HttpTarget extends HttpClientOptions {
  type: 'streamableHttp';
  url: string | URL;
}

/** A server that is reached by WebSocket, which is no binding of the specification's. */
export interface WebSocketTarget extends WebSocketOptions {
  type: 'webSocket';
  url: string | URL;
}

/** Where a plugin's server is. */
export type PluginTarget = StdioTarget | HttpTarget | WebSocketTarget;

export interface PluginConnectionOptions extends Pick<ClientOptions, 'clientInfo' | 'onWarning' | 'signal'> {
  /**
   * `stateless` (default) takes a server of the stateless dialect alone: one `server/discover`, and whatever is not
   * answered by a discovery result is a failure. `auto` takes any.
   */
  dialect?: 'stateless' | 'auto';
  /** Whether a target may be reached in a way that the specification does not have. Default false. */
  allowCustomTransports?: boolean;
  /** How long the discovery, and the list of tools, may take, in milliseconds. Default 60000. */
  connectTimeoutMs?: number;
  /** The deadline of a call, in milliseconds; progress starts it anew. Default 60000; `Infinity` means none. */
  callTimeoutMs?: number;
  /**
   * The deadline of a call that progress cannot move, in milliseconds; no call takes longer. Default 600000, or
   * `callTimeoutMs` where that is longer.
   */
  maxCallTimeoutMs?: number;
}

/** Whoever calls the tools of a plugin's server: the connection itself, or the thread that has it. */
export interface ToolCaller {
  /** As the server lists them, all pages. */
  readonly tools: readonly ToolDefinition[];
  /** @throws PluginError */
  call(name: string, args: JsonObject | undefined, signal: AbortSignal | undefined): Promise<string>;
  /** Idempotent, never rejects. */
  close(): Promise<void>;
}

/** A connection to a plugin's server, whose tools are known. */
export class PluginConnection implements ToolCaller {
  readonly tools: readonly ToolDefinition[];
  readonly #client: McpClient;
  readonly #timing: RequestOptions;

  private constructor(client: McpClient, tools: readonly ToolDefinition[], timing: RequestOptions) {
    this.#client = client;
    this.tools = tools;
    this.#timing = timing;
  }

  /**
   * @throws PluginError
   * @throws TypeError when the target or an option makes no sense.
   */
  static async open(target: PluginTarget, options: PluginConnectionOptions): Promise<PluginConnection> {
    const timing = readTiming(options);
    const client = await connect(target, options);
    try {
      if (options.dialect !== 'auto') await discover(client, options);
      const tools = await client.listTools(setupOptions(options));
      const shown = tools.filter((tool) => canBeShown(tool, options));
      return new PluginConnection(client, shown, timing);
    } catch (error) {
      await client.close();
      throw asPluginError(error, `Cannot take the tools of "${client.name}"`);
    }
  }

  async call(name: string, args: JsonObject | undefined, signal: AbortSignal | undefined): Promise<string> {
    try {
      const options = { ...this.#timing, once: true, ...(signal && { signal }) };
      const result = await this.#client.callTool(name, args, options);
      assertComplete(name, { ...result });
      return resultText(result);
    } catch (error) {
      if (error instanceof TypeError) throw invalidArguments(name, error.message, error);
      throw asPluginError(error, `Cannot call tool ${JSON.stringify(name)}`);
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

async function connect(target: PluginTarget, options: PluginConnectionOptions): Promise<McpClient> {
  const clientOptions = readClientOptions(options);
  try {
    switch (target.type) {
      case 'stdio':
        return await McpClient.stdio(target, { ...target, ...clientOptions });
      case 'streamableHttp':
        return await McpClient.http(target.url, { ...target, ...clientOptions });
      case 'webSocket':
        if (options.allowCustomTransports) {
          return await McpClient.webSocket(target.url, { ...target, ...clientOptions });
        }
    }
  } catch (error) {
    throw asPluginError(error);
  }
  oneOf('type', target.type, ['stdio', 'streamableHttp', 'webSocket']);
  throw new PluginError(
    'not-supported',
    `Cannot connect to "${target.url}" by WebSocket: it is no binding of the specification's; allowCustomTransports takes it all the same`,
  );
}

/**
 * A connection that is said to be stateless is not probed: what the server is, the plugin asks itself.
 *
 * @throws TypeError for a dialect that there is not.
 */
function readClientOptions(options: PluginConnectionOptions): ClientOptions {
  const { dialect = 'stateless', clientInfo, onWarning, signal, connectTimeoutMs } = options;
  oneOf('dialect', dialect, ['stateless', 'auto']);
  const [revision] = STATELESS_REVISIONS;
  return {
    cache: false,
    dialect,
    ...(dialect === 'stateless' && { prior: { dialect, revision } }),
    ...(clientInfo !== undefined && { clientInfo }),
    ...(onWarning !== undefined && { onWarning }),
    ...(signal !== undefined && { signal }),
    ...(connectTimeoutMs !== undefined && { connectTimeoutMs }),
  };
}

/** What says that there is a server, and that it is none of the stateless dialect. */
const REFUSALS: ReadonlySet<string> = new Set<ErrorCode>([
  'RPC_ERROR',
  'HTTP_STATUS',
  'TIMEOUT',
  'INVALID_RESULT',
  'UNSUPPORTED_VERSION',
]);

/** @throws PluginError when the server does not say that it is one of the stateless dialect. */
async function discover(client: McpClient, options: PluginConnectionOptions): Promise<void> {
  try {
    await askForDiscovery(client, options);
  } catch (error) {
    if (!(error instanceof McpError) || !REFUSALS.has(error.code)) throw error;
    const remedy = 'dialect: "auto" takes servers of the session dialect too';
    throw new PluginError('internal', `Cannot discover "${client.name}": ${error.message}; ${remedy}`, {
      cause: error,
    });
  }
}

/** @throws McpError */
async function askForDiscovery(client: McpClient, options: PluginConnectionOptions): Promise<void> {
  const result = await client.request('server/discover', undefined, { ...setupOptions(options), once: true });
  const { resultType = 'complete', supportedVersions, capabilities } = result;
  if (resultType !== 'complete' || !Array.isArray(supportedVersions) || !isJsonObject(capabilities)) {
    throw new McpError('INVALID_RESULT', 'its answer to "server/discover" is no discovery result');
  }
  if (!supportedVersions.some(isStatelessRevision)) {
    const spoken = supportedVersions.map(String).join(', ') || 'no revision';
    throw new McpError(
      'UNSUPPORTED_VERSION',
      `it speaks ${spoken}, and a plugin ${STATELESS_REVISIONS.join(', ')}`,
    );
  }
}

/** What nests too deeply can neither be written for a model nor handed to another thread. */
function canBeShown(tool: ToolDefinition, { onWarning }: PluginConnectionOptions): boolean {
  if (!isDeeper(tool, MAX_DEFINITION_DEPTH)) return true;
  const why = `it nests deeper than ${MAX_DEFINITION_DEPTH} levels`;
  onWarning?.(new McpError('INVALID_RESULT', `Left out tool ${JSON.stringify(tool.name)}: ${why}`));
  return false;
}

function setupOptions({
  connectTimeoutMs = DEFAULT_TIMEOUT_MS,
  signal,
}: PluginConnectionOptions): RequestOptions {
  return { timeoutMs: connectTimeoutMs, ...(signal && { signal }) };
}

/** @throws TypeError when one is no span of time. */
function readTiming(options: PluginConnectionOptions): RequestOptions {
  const { callTimeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const { maxCallTimeoutMs = Math.max(callTimeoutMs, DEFAULT_MAX_TIMEOUT_MS) } = options;
  const { connectTimeoutMs = DEFAULT_TIMEOUT_MS } = options;
  for (const [name, value] of Object.entries({ callTimeoutMs, maxCallTimeoutMs, connectTimeoutMs })) {
    positive(name, value, 'milliseconds');
  }
  return { timeoutMs: callTimeoutMs, maxTimeoutMs: maxCallTimeoutMs, resetTimeoutOnProgress: true };
}

/** @throws PluginError for a result that is not the tool's last word. */
function assertComplete(name: string, { resultType = 'complete', inputRequests }: JsonObject): void {
  if (resultType === 'complete') return;
  const quoted = JSON.stringify(name);
  if (resultType !== 'input_required' && resultType !== 'task') {
    throw new PluginError(
      'internal',
      `Cannot read the result of tool ${quoted}: its type is ${JSON.stringify(resultType)}`,
    );
  }
  const inputs = isJsonObject(inputRequests) ? Object.keys(inputRequests).length : 0;
  throw new PluginError(
    'not-supported',
    `Tool ${quoted} answered with "${resultType}", which a plugin does not follow: it asks for ${inputs} ${inputs === 1 ? 'input' : 'inputs'}`,
  );
}

/** What could not be done is said before the reason, where that does not say so itself. */
function asPluginError(error: unknown, what?: string): unknown {
  if (error instanceof PluginError || error instanceof TypeError) return error;
  const kind = error instanceof ProcessError && error.code === 'SPAWN_FAILED' ? 'io' : 'internal';
  const { message } = toError(error);
  return new PluginError(kind, what === undefined ? message : `${what}: ${message}`, { cause: error });
}
