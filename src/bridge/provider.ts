import { DEFAULT_MAX_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, McpError } from '../jsonrpc/index.ts';
import type { McpClient, ToolDefinition } from '../protocol/index.ts';
import type { ConvertOptions } from './convert.ts';
import { type CallPolicy, ImportedTool } from './imported-tool.ts';
import type { ToolRegistry } from './registry.ts';
import type { Tool } from './tool.ts';

/** What stands between a prefix and a tool's own name. */
export const PREFIX_SEPARATOR = '__';

export interface ProviderOptions extends ConvertOptions {
  /** Put before every name, with two underscores between: `files` makes `files__read`. Default: none. */
  prefix?: string;
  /** The deadline of a call, in milliseconds; progress starts it anew. Default 60000; `Infinity` means none. */
  callTimeoutMs?: number;
  /** The deadline of a call that progress cannot move, in milliseconds. Default 600000, or `callTimeoutMs` where that is longer. */
  maxCallTimeoutMs?: number;
  /** Gives discovery up. */
  signal?: AbortSignal;
  /** Hears of tools that were left out, and why. Must not throw. Default: nobody hears. */
  onWarning?: (warning: McpError) => void;
}

/**
 * Imports the tools of one MCP server. The tools live as long as the client is connected; the provider owns neither
 * the client nor a registry.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools
 */
export class McpToolProvider {
  readonly client: McpClient;
  /** The prefix of every name; empty where there is none. */
  readonly prefix: string;
  readonly #policy: CallPolicy;
  readonly #warn: (warning: McpError) => void;
  readonly #tools: readonly Tool[];

  private constructor(client: McpClient, definitions: readonly ToolDefinition[], options: ProviderOptions) {
    this.client = client;
    this.prefix = options.prefix ?? '';
    this.#policy = readPolicy(options);
    this.#warn = options.onWarning ?? (() => {});
    this.#tools = this.#importAll(definitions);
  }

  /**
   * Reads all pages of the server's tools.
   *
   * @throws RpcError, TimeoutError or McpError `PAGINATION` when the list cannot be read to its end.
   */
  static async connect(client: McpClient, options: ProviderOptions = {}): Promise<McpToolProvider> {
    readPolicy(options);
    const definitions = await client.listTools(options.signal ? { signal: options.signal } : {});
    return new McpToolProvider(client, definitions, options);
  }

  /** The imported tools, in the server's order. */
  tools(): readonly Tool[] {
    return this.#tools;
  }

  /**
   * Registers every tool. One whose name is taken is left out with a warning; the registered tool stays.
   *
   * @returns the names that were registered.
   */
  registerInto(registry: ToolRegistry): string[] {
    const names: string[] = [];
    for (const tool of this.#tools) {
      if (registry.has(tool.name)) {
        this.#warnTaken(tool.name, 'the registry has a tool of that name');
      } else {
        registry.register(tool);
        names.push(tool.name);
      }
    }
    return names;
  }

  /** Changes the deadline of every later call, also for tools that are registered already. Returns the provider. */
  withCallTimeout(callTimeoutMs: number): this {
    assertTimeout('callTimeoutMs', callTimeoutMs);
    this.#policy.callTimeoutMs = callTimeoutMs;
    return this;
  }

  #importAll(definitions: readonly ToolDefinition[]): Tool[] {
    const tools = new Map<string, Tool>();
    for (const definition of definitions) {
      const name = this.prefix === '' ? definition.name : this.prefix + PREFIX_SEPARATOR + definition.name;
      if (tools.has(name)) this.#warnTaken(name, 'the server lists another tool of that name before it');
      else tools.set(name, new ImportedTool(name, definition, this.client, this.#policy));
    }
    return [...tools.values()];
  }

  #warnTaken(name: string, why: string): void {
    const message = `Left out tool ${JSON.stringify(name)} of "${this.client.name}": ${why}`;
    this.#warn(new McpError('DUPLICATE_TOOL', message));
  }
}

function readPolicy(options: ProviderOptions): CallPolicy {
  const { callTimeoutMs = DEFAULT_TIMEOUT_MS, maxCallTimeoutMs = DEFAULT_MAX_TIMEOUT_MS } = options;
  assertTimeout('callTimeoutMs', callTimeoutMs);
  assertTimeout('maxCallTimeoutMs', maxCallTimeoutMs);
  return { callTimeoutMs, maxCallTimeoutMs, audio: options.audio ?? 'note' };
}

function assertTimeout(option: string, value: number): void {
  if (!(value > 0)) throw new TypeError(`${option} must be a positive number of milliseconds`);
}
