import { DEFAULT_TIMEOUT_MS, type ErrorCode, McpError, toError } from '../jsonrpc/index.ts';
import { assertFunction, kindOf, misuse, oneOf, positive, shown } from '../jsonrpc/option.ts';
import type { McpClient, ToolDefinition } from '../protocol/index.ts';
import { fingerprintOf, readContract, type StructuredPolicy } from './contract.ts';
import type { ConvertOptions } from './convert.ts';
import { type Following, follow } from './follow.ts';
import { type CallPolicy, ImportedTool, type ToolSource } from './imported-tool.ts';
import { isModelSafe, modelSafeName } from './names.ts';
import type { ToolRegistry } from './registry.ts';
import { type Mirrored, mirror, type SyncReport } from './sync.ts';
import type { Tool } from './tool.ts';

/** What stands between a prefix and a tool's own name. */
export const PREFIX_SEPARATOR = '__';

export interface ProviderOptions extends ConvertOptions {
  /** Put before every name, with two underscores between: `files` makes `files__read`. Default: none. */
  prefix?: string;
  /**
   * What becomes of names that model APIs refuse, which are those outside `[A-Za-z0-9_-]{1,64}`: `keep` keeps them, with
   * one warning for each; `model-safe` registers the tool under a safe name, the same in every run. Default `keep`.
   */
  names?: 'keep' | 'model-safe';
  /** The deadline of a call, in milliseconds; progress starts it anew. Default 60000; `Infinity` means none. */
  callTimeoutMs?: number;
  /**
   * The deadline of a call that progress cannot move, in milliseconds; no call takes longer. Default 600000, or
   * `callTimeoutMs` where that is longer.
   */
  maxCallTimeoutMs?: number;
  /** What becomes of structured content that does not fit its schema. Default `error`. */
  structuredContent?: StructuredPolicy;
  /**
   * How much of an output is kept, in characters, text and Base64 counted together. The rest is cut, with a note that
   * says so. Default `Infinity`: all of it.
   */
  maxResultChars?: number;
  /** Gives discovery up. */
  signal?: AbortSignal;
  /** Hears of what was left out, or is not as it should be, and why. Must not throw. Default: nobody hears. */
  onWarning?: (warning: McpError) => void;
}

/** Gives one reading of the server's list up. */
export interface RefreshOptions {
  signal?: AbortSignal;
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
  readonly #names: 'keep' | 'model-safe';
  readonly #policy: CallPolicy;
  readonly #source: ToolSource;
  readonly #mirrored = new WeakMap<ToolRegistry, Mirrored>();
  #structuredContent: StructuredPolicy;
  #tools = new Map<string, ImportedTool>();
  /** What the last reading warned of: the next one repeats none of it. */
  #warned: ReadonlySet<string> = new Set();
  #readings: Promise<unknown> = Promise.resolve();

  private constructor(client: McpClient, definitions: readonly ToolDefinition[], options: ProviderOptions) {
    this.client = client;
    this.prefix = options.prefix ?? '';
    this.#names = options.names ?? 'keep';
    this.#policy = readPolicy(options);
    this.#structuredContent = options.structuredContent ?? 'error';
    this.#source = { client, policy: this.#policy, warn: options.onWarning ?? (() => {}) };
    this.#importAll(definitions);
  }

  /**
   * Reads all pages of the server's tools.
   *
   * @throws RpcError, TimeoutError or McpError `PAGINATION` when the list cannot be read to its end.
   * @throws TypeError when an option makes no sense.
   */
  static async connect(client: McpClient, options: ProviderOptions = {}): Promise<McpToolProvider> {
    if (typeof client?.listTools !== 'function')
      misuse('client', 'an McpClient that is connected', kindOf(client));
    readPolicy(options);
    assertFunction('onWarning', options.onWarning);
    assertStructuredPolicy(options.structuredContent ?? 'error');
    const definitions = await client.listTools(options.signal ? { signal: options.signal } : {});
    return new McpToolProvider(client, definitions, options);
  }

  /** The imported tools as they were read last, in the server's order. */
  tools(): readonly Tool[] {
    return [...this.#tools.values()];
  }

  /**
   * Registers every tool. One whose name is taken is left out with a warning; the registered tool stays.
   *
   * @returns the names that were registered.
   */
  registerInto(registry: ToolRegistry): string[] {
    const { contracts } = this.#mirroredIn(registry);
    const names: string[] = [];
    for (const [name, tool] of this.#tools) {
      if (registry.has(name)) {
        this.#warnTaken(name, 'the registry has a tool of that name');
      } else {
        registry.register(tool);
        contracts.set(name, tool.contract);
        names.push(name);
      }
    }
    return names;
  }

  /**
   * Reads the server's list again. {@link McpToolProvider.tools} and later registrations have the new state; tools that
   * are registered stay as they are until {@link McpToolProvider.syncInto}. Readings of one provider follow each other.
   *
   * @throws as {@link McpToolProvider.connect} does; then the state is that of before.
   */
  refresh(options: RefreshOptions = {}): Promise<readonly Tool[]> {
    return this.#afterOthers(async () => {
      await this.#read(options);
      return this.tools();
    });
  }

  /**
   * Reads the server's list again and makes the tools of this provider in a live registry the same: what is new is added,
   * what is gone is removed, a tool whose contract changed gets the new one in place, and every other stays the object it
   * was. A tool of another origin is never touched; where it has a name of ours, that costs a warning. Readings of one
   * provider follow each other.
   *
   * @throws as {@link McpToolProvider.connect} does; then nothing has changed.
   */
  syncInto(registry: ToolRegistry, options: RefreshOptions = {}): Promise<SyncReport> {
    return this.#afterOthers(async () => {
      await this.#read(options);
      return mirror(this.#tools, this.#source, registry, this.#mirroredIn(registry), (name) =>
        this.#warnTaken(name, 'the registry has a tool of another origin by that name'),
      );
    });
  }

  /**
   * Brings a registry in step, as {@link McpToolProvider.syncInto} does, and again whenever the server says that its tools
   * changed. Changes that come together are read together. A reading that fails is warned of, tried again some times, and
   * leaves the registry as it was. Where the server has no way to tell of changes, there is a warning and the first
   * reading alone.
   *
   * @param options Its signal ends it, as closing does.
   * @throws McpError when the connection fails, and as {@link McpToolProvider.connect} does for the first reading.
   */
  follow(registry: ToolRegistry, options: RefreshOptions = {}): Promise<Following> {
    const { client, warn } = this.#source;
    const sync = (signal: AbortSignal) => this.syncInto(registry, { signal });
    return follow({ client, warn, sync }, options.signal);
  }

  /** Changes the deadline of every later call, also for tools that are registered already. Returns the provider. */
  withCallTimeout(callTimeoutMs: number): this {
    positive('callTimeoutMs', callTimeoutMs, 'milliseconds');
    this.#policy.callTimeoutMs = callTimeoutMs;
    return this;
  }

  /**
   * Changes what becomes of structured content that does not fit its schema. It is a part of a tool's contract: later
   * registrations have it, and {@link McpToolProvider.syncInto} brings it to tools that are registered already. Returns
   * the provider.
   */
  withStructuredPolicy(structuredContent: StructuredPolicy): this {
    assertStructuredPolicy(structuredContent);
    this.#structuredContent = structuredContent;
    for (const [name, tool] of this.#tools) {
      const { contract } = tool;
      if (contract.outputSchema === undefined || contract.structuredContent === structuredContent) continue;
      this.#tools.set(name, new ImportedTool(name, { ...contract, structuredContent }, this.#source));
    }
    return this;
  }

  #afterOthers<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#readings.then(work);
    this.#readings = done.catch(() => {}); // Whoever asked hears of it.
    return done;
  }

  async #read({ signal }: RefreshOptions): Promise<void> {
    this.#importAll(await this.client.listTools({ fresh: true, ...(signal && { signal }) }));
  }

  /** A tool whose contract did not change stays the object it was. */
  #importAll(definitions: readonly ToolDefinition[]): void {
    const tools = new Map<string, ImportedTool>();
    const warnings = new Map<string, McpError>();
    const warn = (warning: McpError) => warnings.set(warning.message, warning);
    for (const definition of definitions) {
      const tool = this.#importOne(definition, warn);
      if (!tool) continue;
      const { name } = tool;
      const before = this.#tools.get(name);
      if (tools.has(name)) warn(this.#leftOut(name, 'the server lists another tool of that name before it'));
      else tools.set(name, before && isSame(before, tool) ? before : tool);
    }
    this.#tools = tools;
    const warned = this.#warned;
    this.#warned = new Set(warnings.keys());
    for (const [message, warning] of warnings) if (!warned.has(message)) this.#source.warn(warning);
  }

  #importOne(definition: ToolDefinition, warn: (warning: McpError) => void): ImportedTool | undefined {
    const full = this.prefix === '' ? definition.name : this.prefix + PREFIX_SEPARATOR + definition.name;
    const name = this.#names === 'model-safe' ? modelSafeName(full) : full;
    try {
      const contract = readContract(definition, this.#structuredContent, warn);
      if (!isModelSafe(name)) warn(this.#unsafe(name));
      return new ImportedTool(name, contract, this.#source);
    } catch (error) {
      warn(this.#leftOut(name, toError(error).message, 'INVALID_RESULT'));
      return undefined;
    }
  }

  #mirroredIn(registry: ToolRegistry): Mirrored {
    let mirrored = this.#mirrored.get(registry);
    if (!mirrored) {
      mirrored = { contracts: new Map(), foreign: new Set() };
      this.#mirrored.set(registry, mirrored);
    }
    return mirrored;
  }

  #warnTaken(name: string, why: string): void {
    this.#source.warn(this.#leftOut(name, why));
  }

  #leftOut(name: string, why: string, code: ErrorCode = 'DUPLICATE_TOOL'): McpError {
    return new McpError(code, `Left out tool ${JSON.stringify(name)} of "${this.client.name}": ${why}`);
  }

  #unsafe(name: string): McpError {
    const what = `Tool ${JSON.stringify(name)} of "${this.client.name}" has a name that model APIs may refuse`;
    const remedy = 'it is not 1 to 64 letters, digits, "_" or "-"; import with names: "model-safe"';
    return new McpError('INVALID_NAME', `${what}: ${remedy}`);
  }
}

function isSame(a: ImportedTool, b: ImportedTool): boolean {
  return fingerprintOf(a.contract) === fingerprintOf(b.contract);
}

function readPolicy(options: ProviderOptions): CallPolicy {
  const { callTimeoutMs = DEFAULT_TIMEOUT_MS, maxCallTimeoutMs } = options;
  const { maxResultChars = Number.POSITIVE_INFINITY, names = 'keep', audio = 'note', prefix = '' } = options;
  positive('callTimeoutMs', callTimeoutMs, 'milliseconds');
  if (maxCallTimeoutMs !== undefined) positive('maxCallTimeoutMs', maxCallTimeoutMs, 'milliseconds');
  positive('maxResultChars', maxResultChars, 'characters');
  oneOf('names', names, ['keep', 'model-safe']);
  oneOf('audio', audio, ['note', 'part']);
  if (typeof prefix !== 'string') misuse('prefix', 'a string', shown(prefix));
  return { callTimeoutMs, maxCallTimeoutMs, maxResultChars, audio };
}

function assertStructuredPolicy(policy: StructuredPolicy): void {
  oneOf('structuredContent', policy, ['error', 'lenient']);
}
