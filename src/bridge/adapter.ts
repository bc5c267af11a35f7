import {
  INVALID_PARAMS,
  isJsonObject,
  type JsonObject,
  McpError,
  METHOD_NOT_FOUND,
  RpcError,
} from '../jsonrpc/index.ts';
import { assertFunction, kindOf, misuse, oneOf } from '../jsonrpc/option.ts';
import {
  type CallToolResult,
  type CompiledSchema,
  type ConnectOptions,
  compileSchema,
  type HttpHandlerOptions,
  inspectSchema,
  type JsonSchema,
  McpServer,
  type RequestContext,
  type SchemaFault,
  type ServeHttpOptions,
  type ServerConnection,
  type ServerOptions,
  type ServeStdioOptions,
  type StdioServer,
  serveHttp,
  serveStdio,
  type ToolDefinition,
  toFetchHandler,
  toNodeHandler,
  type Violation,
} from '../protocol/index.ts';
import type { FetchListener, HttpListening, NodeListener, Transport } from '../transport/index.ts';
import { exportOutput, exportTool } from './export.ts';
import type { ToolRegistry } from './registry.ts';
import { failureOf, type Tool, type ToolContext, ToolError, type ToolOutput, toolFailure } from './tool.ts';

/** How many registered names the refusal of an unknown tool lists. */
const MAX_LISTED_NAMES = 20;
const MAX_NAME_CHARS = 64;
const MISSING =
  'it has no structured content; mark an output whose last text is JSON with displayHint: "json"';

/** What the server is, `name` and `version` first, and how it serves the registry. */
export interface AdapterOptions extends ServerOptions {
  /** The tools to serve. It stays the caller's: what is registered or removed shows on the next request. */
  registry: ToolRegistry;
  /**
   * Handed to every tool beside the request's own `signal` and `onProgress`: each member of it is one of the tool's
   * context. A `signal` in it gives calls up as well as the client does. Default: nothing more.
   */
  context?: object;
  /**
   * How a call of a tool that is not there is refused: as a method that does not exist (-32601), or with the code
   * that the specification gives as an example (-32602). Default `method-not-found`.
   */
  unknownTool?: 'method-not-found' | 'invalid-params';
  /** What a tool gets whose caller sent no arguments: `null`, or an object without members. Default `null`. */
  emptyArguments?: 'null' | 'object';
  /** Whether clients that can hear it are told when the registry changes. Default true. */
  listChanged?: boolean;
  /** Hears of tools that cannot be offered as they are, and of output that is not what it claims. Must not throw. Default: nobody hears. */
  onWarning?: (warning: McpError) => void;
}

/**
 * Serves the tools of a registry to MCP clients of either dialect, over any transport. The registry is read on each
 * request. Calls run as they come, also several of one tool at a time: clients decide what they call together, and a tool
 * that cannot bear that has to make its calls wait itself.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools
 */
export class McpServerAdapter {
  /** The live registry that is served. */
  readonly registry: ToolRegistry;
  /** The server behind it, for what else it is to offer or do: prompts, resources, middleware, other transports. */
  readonly server: McpServer;
  readonly #context: object;
  readonly #hostSignal: AbortSignal | undefined;
  readonly #unknownToolCode: number;
  readonly #emptyArguments: 'null' | 'object';
  readonly #warn: (warning: McpError) => void;
  /** What was last said of a tool, so that listing again does not say it again. */
  readonly #warned = new WeakMap<Tool, string>();
  readonly #unfollow: () => void;
  readonly #listening = new Set<Promise<HttpListening>>();

  /** @throws TypeError when an option is missing or out of range. */
  constructor(options: AdapterOptions) {
    if (!isJsonObject(options))
      misuse('options', 'an object with registry, name and version', kindOf(options));
    const { registry, context = {}, listChanged = true } = options;
    const { unknownTool = 'method-not-found', emptyArguments = 'null' } = options;
    if (typeof registry?.onChange !== 'function') misuse('registry', 'a ToolRegistry', kindOf(registry));
    oneOf('unknownTool', unknownTool, ['method-not-found', 'invalid-params']);
    oneOf('emptyArguments', emptyArguments, ['null', 'object']);
    assertFunction('onWarning', options.onWarning);
    this.registry = registry;
    this.#context = context;
    this.#hostSignal =
      'signal' in context && context.signal instanceof AbortSignal ? context.signal : undefined;
    this.#unknownToolCode = unknownTool === 'invalid-params' ? INVALID_PARAMS : METHOD_NOT_FOUND;
    this.#emptyArguments = emptyArguments;
    this.#warn = options.onWarning ?? (() => {});
    const { capabilities } = options;
    this.server = new McpServer({
      ...options,
      capabilities: { ...capabilities, tools: { ...capabilities?.tools, listChanged } },
    });
    this.server.toolSource({
      list: () => this.#list(),
      call: (name, args, request) => this.#call(name, args, request),
      inputSchemaOf: (name) => registry.get(name)?.inputSchema,
    });
    this.#unfollow = listChanged ? registry.onChange(() => this.server.notifyToolsChanged()) : () => {};
  }

  /** Serves one client over a transport that was not started yet; what `McpClient.inProcess(adapter)` calls. */
  connect(transport: Transport, options: ConnectOptions = {}): ServerConnection {
    return this.server.connect(transport, options);
  }

  /** Serves one client over the standard streams, until it ends its input. */
  serveStdio(options: ServeStdioOptions = {}): StdioServer {
    return serveStdio(this.server, options);
  }

  /**
   * Serves clients by HTTP, on this machine alone unless told otherwise.
   *
   * @throws McpError `TRANSPORT_FAILED` when the address cannot be listened on.
   */
  serveHttp(options: ServeHttpOptions = {}): Promise<HttpListening> {
    const listening = serveHttp(this.server, options);
    this.#listening.add(listening);
    return listening;
  }

  /** Makes a listener for node:http, and for any framework on it. */
  toNodeHandler(options: HttpHandlerOptions = {}): NodeListener {
    return toNodeHandler(this.server, options);
  }

  /** Makes a function from a web-standard request to its response. */
  toFetchHandler(options: HttpHandlerOptions = {}): FetchListener {
    return toFetchHandler(this.server, options);
  }

  /** Ends all connections, stops listening and lets go of the registry. Idempotent, never rejects. */
  async close(): Promise<void> {
    this.#unfollow();
    // Together: a listener ends the streams that the server's own end waits for.
    const listening = await Promise.allSettled(this.#listening);
    const started = listening.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    await Promise.all([this.server.close(), ...started.map((each) => each.close())]);
  }

  #list(): ToolDefinition[] {
    const definitions: ToolDefinition[] = [];
    for (const name of this.registry.names()) {
      const tool = this.registry.get(name);
      const definition = tool && this.#define(tool, name);
      if (definition) definitions.push(definition);
    }
    return definitions;
  }

  #define(tool: Tool, name: string): ToolDefinition | undefined {
    const { outputSchema } = tool;
    if (this.#hasBadInput(tool, name)) return undefined;
    const outputFault = outputSchema === undefined ? undefined : faultOfOutput(outputSchema);
    if (!outputFault) return exportTool(tool, name, outputSchema);
    const message = `Listed tool ${JSON.stringify(name)} without its output schema, which ${describe(outputFault)}`;
    this.#warnOnce(tool, message);
    return exportTool(tool, name, undefined);
  }

  /** Warns where it has. */
  #hasBadInput(tool: Tool, name: string): boolean {
    const fault = inspectSchema(tool.inputSchema, { rootObject: true });
    if (!fault) return false;
    this.#warnOnce(tool, `Left out tool ${JSON.stringify(name)}: its input schema ${describe(fault)}`);
    return true;
  }

  async #call(name: string, args: JsonObject | undefined, request: RequestContext): Promise<CallToolResult> {
    const tool = this.registry.get(name);
    if (!tool) throw this.#unknownTool(name);
    // A cancellation that came together with the request is heard meanwhile.
    const schema = await this.#compileInput(tool, name);
    const violation = schema.validate(args ?? {});
    const given = args ?? (this.#emptyArguments === 'object' ? {} : null);
    const output = violation
      ? toolFailure(misfit(name, violation))
      : await this.#run(tool, name, given, request);
    const result = exportOutput(name, output, this.#warn);
    if (tool.outputSchema !== undefined && result.isError !== true) {
      await this.#checkOutput(tool, name, result);
    }
    return result;
  }

  /** What a tool did is done, so that its output is sent as it is: clients that check it may refuse it. */
  async #checkOutput(
    { outputSchema }: Tool,
    name: string,
    { structuredContent }: CallToolResult,
  ): Promise<void> {
    if (faultOfOutput(outputSchema)) return; // It was listed without, with a warning.
    const fault = structuredContent === undefined ? MISSING : await faultOf(outputSchema, structuredContent);
    if (fault === undefined) return;
    const message = `The output of tool ${JSON.stringify(name)} does not keep to its output schema, and clients may refuse it: ${fault}`;
    this.#warn(new McpError('HANDLER_FAILED', message));
  }

  /** @throws RpcError for a tool that is not offered. */
  async #compileInput(tool: Tool, name: string): Promise<CompiledSchema> {
    try {
      if (!this.#hasBadInput(tool, name)) return await compileSchema(tool.inputSchema);
    } catch (error) {
      if (!(error instanceof McpError && error.code === 'INVALID_SCHEMA')) throw error;
      this.#hasBadInput(tool, name); // Now it is known.
    }
    const message = `Tool ${quote(name)} is not offered: its input schema cannot be used`;
    throw new RpcError(this.#unknownToolCode, message);
  }

  /** Not with `AbortSignal.any`: the host's signal outlives all calls, and would keep a trace of each. */
  async #run(tool: Tool, name: string, args: unknown, request: RequestContext): Promise<ToolOutput> {
    const host = this.#hostSignal;
    if (!host) return runTool(tool, name, args, this.#contextOf(request, request.signal));
    const either = new AbortController();
    const sources = [request.signal, host];
    const abort = () => either.abort(sources.find(({ aborted }) => aborted)?.reason);
    for (const source of sources) source.addEventListener('abort', abort);
    if (sources.some(({ aborted }) => aborted)) abort();
    try {
      return await runTool(tool, name, args, this.#contextOf(request, either.signal));
    } finally {
      for (const source of sources) source.removeEventListener('abort', abort);
    }
  }

  #contextOf(request: RequestContext, signal: AbortSignal): ToolContext {
    const context: ToolContext = { ...this.#context, signal };
    const meta = request.params._meta;
    if (isJsonObject(meta) && meta.progressToken !== undefined) {
      context.onProgress = ({ progress, total, message }) => void request.progress(progress, total, message);
    }
    return context;
  }

  #unknownTool(name: string): RpcError {
    const names = this.registry.names();
    const listed = names.slice(0, MAX_LISTED_NAMES).map(quote).join(', ');
    const more = names.length > MAX_LISTED_NAMES ? `, … (${names.length} in all)` : '';
    const found = names.length === 0 ? 'there are no tools' : `there are ${listed}${more}`;
    return new RpcError(this.#unknownToolCode, `Unknown tool ${quote(name)}: ${found}`);
  }

  #warnOnce(tool: Tool, message: string): void {
    if (this.#warned.get(tool) === message) return;
    this.#warned.set(tool, message);
    this.#warn(new McpError('INVALID_SCHEMA', message));
  }
}

/** Never rejects: whatever happens to a tool that was found is its output. */
async function runTool(tool: Tool, name: string, args: unknown, context: ToolContext): Promise<ToolOutput> {
  const { signal } = context;
  try {
    signal?.throwIfAborted();
    return await tool.call(args, context);
  } catch (error) {
    return failureOf(name, error, signal);
  }
}

/** A boolean is a schema too, but none that the protocol has a place for. */
function faultOfOutput(outputSchema: unknown): SchemaFault | undefined {
  return isJsonObject(outputSchema) ? inspectSchema(outputSchema) : { path: '', reason: 'is no object' };
}

/** Undefined for what fits, and where the schema turns out to be of no use. */
async function faultOf(
  outputSchema: JsonSchema | undefined,
  structuredContent: unknown,
): Promise<string | undefined> {
  try {
    const compiled = await compileSchema(outputSchema);
    const violation = compiled.validate(structuredContent);
    return violation && describeViolation(violation);
  } catch (error) {
    if (error instanceof McpError) return undefined;
    throw error;
  }
}

function misfit(name: string, violation: Violation): ToolError {
  const what = `The arguments of tool ${JSON.stringify(name)} do not fit its input schema`;
  return new ToolError('validation', `${what}: ${describeViolation(violation)}`);
}

function describeViolation({ message, keyword }: Violation): string {
  return `${message} (keyword "${keyword}")`;
}

function describe({ path, reason }: SchemaFault): string {
  return path === '' ? reason : `at ${path} ${reason}`;
}

function quote(name: string): string {
  return JSON.stringify(name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name);
}
