import { isJsonObject, type JsonObject, McpError, toError } from '../jsonrpc/index.ts';
import { assertFunction, assertSignal, kindOf, misuse, oneOf } from '../jsonrpc/option.ts';
import type { ToolDefinition } from '../protocol/index.ts';
import type { ProcessSpec } from '../transport/index.ts';
import type {
  OtherBlock,
  Plugin,
  StreamBlock,
  StreamContext,
  ToolCallBlock,
  ToolResultBlock,
} from './model-stream.ts';
import {
  PluginConnection,
  type PluginConnectionOptions,
  type PluginTarget,
  type ToolCaller,
} from './plugin-connection.ts';
import { invalidArguments, PluginError } from './plugin-error.ts';
import { PluginThread } from './plugin-thread.ts';

export interface PluginOptions extends PluginConnectionOptions {
  /**
   * Whether the connection lives in a thread of its own, so that hosts which cannot wait for a promise can call tools
   * too. The target and the options must be plain data then, apart from `signal` and `onWarning`. Default false.
   */
  worker?: boolean;
}

/**
 * One MCP server as a plugin of a model's stream: its tools are found once, and calls of them are carried out in the
 * stream itself.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools
 */
export class McpPlugin implements Plugin {
  readonly name = 'mcp-connector';
  readonly #caller: ToolCaller;
  /** By name, in the order of the names. */
  readonly #tools: ReadonlyMap<string, ToolDefinition>;

  private constructor(caller: ToolCaller, warn: (warning: McpError) => void) {
    this.#caller = caller;
    const byName = new Map<string, ToolDefinition>();
    for (const tool of [...caller.tools].sort((a, b) => compare(a.name, b.name))) {
      if (byName.has(tool.name)) warn(repeated(tool));
      else byName.set(tool.name, tool);
    }
    this.#tools = byName;
  }

  /**
   * Connects to a server and reads the list of its tools, all pages of it.
   *
   * @throws PluginError `io` when the process cannot be started, `not-supported` for a WebSocket that was not allowed,
   *   else `internal`.
   * @throws TypeError when the target or an option makes no sense.
   */
  static async connect(target: PluginTarget, options: PluginOptions = {}): Promise<McpPlugin> {
    assertOptions(target, options);
    const { worker = false, ...connection } = options;
    const opened = worker ? PluginThread.open(target, connection) : PluginConnection.open(target, connection);
    return new McpPlugin(await opened, options.onWarning ?? (() => {}));
  }

  /** Starts a server as a child process and connects to it: a program alone, or one with its arguments. */
  static connectStdio(command: string | ProcessSpec, options: PluginOptions = {}): Promise<McpPlugin> {
    const spec = typeof command === 'string' ? { command } : command;
    return McpPlugin.connect({ type: 'stdio', ...spec }, options);
  }

  /** The tools of the server, by name. */
  tools(): readonly ToolDefinition[] {
    return [...this.#tools.values()];
  }

  /** Does nothing: the host tells its model of {@link McpPlugin.tools}. */
  onRequest(_request: object): void {}

  /** Does nothing. */
  onResponseComplete(_blocks: readonly OtherBlock[]): void {}

  /**
   * Carries out a call of one of the server's tools; its result takes the place of the call, and a failure is the text of
   * the result. Every other block is returned as it is. Never rejects.
   */
  async onStreamChunk<Other extends OtherBlock = never>(
    block: StreamBlock | Other,
    context?: StreamContext,
  ): Promise<StreamBlock | Other> {
    if (!this.#isOurs(block)) return block;
    try {
      const options = { signal: context?.signal };
      return resultOf(block, await this.callTool(block.name, parseArguments(block), options));
    } catch (error) {
      return resultOf(block, toError(error).message);
    }
  }

  /** Does what {@link McpPlugin.onStreamChunk} does, and blocks the thread meanwhile. Never throws. Needs `worker: true`. */
  onStreamChunkSync<Other extends OtherBlock = never>(block: StreamBlock | Other): StreamBlock | Other {
    if (!this.#isOurs(block)) return block;
    try {
      return resultOf(block, this.callToolSync(block.name, parseArguments(block)));
    } catch (error) {
      return resultOf(block, toError(error).message);
    }
  }

  /**
   * Calls a tool and returns its result as text.
   *
   * @param args An object, or `null` for none.
   * @throws PluginError `validation` for other arguments, `not-supported` when the server wants input or makes a task of
   *   the call, else `internal`.
   */
  async callTool(
    name: string,
    args: unknown,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<string> {
    const read = readArguments(name, args);
    assertSignal('signal', options.signal);
    return this.#caller.call(name, read, options.signal);
  }

  /**
   * Does what {@link McpPlugin.callTool} does, and blocks the thread meanwhile: until the deadline of the call at most, and
   * of those that were begun before. A result may be as large as a message of its transport, 64 MiB by default.
   *
   * @throws PluginError as {@link McpPlugin.callTool}; `not-supported` without `worker: true`.
   */
  callToolSync(name: string, args: unknown): string {
    const read = readArguments(name, args);
    if (this.#caller instanceof PluginThread) return this.#caller.callSync(name, read);
    throw new PluginError(
      'not-supported',
      `Cannot wait for tool ${JSON.stringify(name)} without a promise: connect with worker: true`,
    );
  }

  /** Ends the connection, the process and the thread, whichever there are. Idempotent, never rejects. */
  close(): Promise<void> {
    return this.#caller.close();
  }

  /** A host may hand on anything: the hooks never throw. */
  #isOurs(block: StreamBlock | OtherBlock): block is ToolCallBlock {
    return block?.type === 'toolCall' && 'name' in block && this.#tools.has(String(block.name));
  }
}

/** An option of another name is one that somebody counts on: those of a target are not options. */
const OPTIONS: { readonly [option in keyof Required<PluginOptions>]: true } = {
  worker: true,
  dialect: true,
  allowCustomTransports: true,
  connectTimeoutMs: true,
  callTimeoutMs: true,
  maxCallTimeoutMs: true,
  clientInfo: true,
  onWarning: true,
  signal: true,
};

/** @throws TypeError when the target is none, or an option cannot mean anything. */
function assertOptions(target: PluginTarget, options: PluginOptions): void {
  if (!isJsonObject(target)) misuse('target', 'an object with a type', kindOf(target));
  const { worker = false, signal, onWarning } = options;
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(OPTIONS, name));
  if (unknown !== undefined) misuse('options', `of ${Object.keys(OPTIONS).join(', ')}`, unknown);
  oneOf('worker', worker, [true, false]);
  assertSignal('signal', signal);
  assertFunction('onWarning', onWarning);
}

/** A model writes JSON; a host may have read it already. No text at all stands for no arguments. */
function parseArguments({ name, arguments: args }: ToolCallBlock): unknown {
  if (args === undefined) return null;
  if (typeof args !== 'string') return args;
  if (args.trim() === '') return null;
  try {
    return JSON.parse(args);
  } catch (cause) {
    throw invalidArguments(name, `they are no JSON: ${toError(cause).message}`, cause);
  }
}

/** @throws PluginError `validation` */
function readArguments(name: string, args: unknown): JsonObject | undefined {
  if (args === null) return undefined;
  // What has a class of its own, such as a Map, is no object of JSON: its content would be lost.
  if (isJsonObject(args) && Object.prototype.toString.call(args) === '[object Object]') return args;
  const given = isJsonObject(args) ? `a ${args.constructor?.name ?? 'special object'}` : kindOf(args);
  throw invalidArguments(name, `they must be an object or null, not ${given}`);
}

function resultOf({ id }: ToolCallBlock, output: string): ToolResultBlock {
  return { type: 'toolResult', toolCallId: id, output };
}

function repeated({ name }: ToolDefinition): McpError {
  const message = `Left out tool ${JSON.stringify(name)}: the server lists another tool of that name before it`;
  return new McpError('DUPLICATE_TOOL', message);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
