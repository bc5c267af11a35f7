import { McpError, toError } from '../jsonrpc/index.ts';
import type { JsonSchema } from '../protocol/index.ts';
import { assertTool, type Tool } from './tool.ts';

/** What happened to the tool of this name. `refreshed`: the same object has another contract now. */
export interface RegistryEvent {
  type: 'added' | 'removed' | 'refreshed';
  name: string;
}

/** What a model is told of a tool. */
export interface ToolSchema {
  name: string;
  description: string;
  inputSchema: JsonSchema;
}

export interface RegistryOptions {
  /** Hears of a change listener that threw. Must not throw. Default: nobody hears. */
  onWarning?: (warning: McpError) => void;
}

/**
 * The tools a host offers to a model, by name, in the order of their registration. Any string is a name, those of the
 * members of Object.prototype too. Changes are visible at once; listeners hear of them before the changing call returns.
 */
export class ToolRegistry implements Iterable<Tool> {
  readonly #tools = new Map<string, Tool>();
  readonly #listeners = new Set<(event: RegistryEvent) => void>();
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions = {}) {
    this.#options = options;
  }

  get size(): number {
    return this.#tools.size;
  }

  /**
   * Adds a tool.
   *
   * @throws McpError `DUPLICATE_TOOL` when the name is taken; the registered tool stays.
   * @throws TypeError for what is no tool: it must have a name, and a function `call`.
   */
  register(tool: Tool): void {
    assertTool('Cannot register a tool', tool);
    const { name } = tool;
    if (this.#tools.has(name)) {
      throw new McpError(
        'DUPLICATE_TOOL',
        `Cannot register tool ${JSON.stringify(name)}: the name is taken; remove that tool first, or give the new one a prefix`,
      );
    }
    this.#tools.set(name, tool);
    this.#emit({ type: 'added', name });
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** Takes a tool out. False when there is none of this name. */
  remove(name: string): boolean {
    const removed = this.#tools.delete(name);
    if (removed) this.#emit({ type: 'removed', name });
    return removed;
  }

  /** Tells the listeners that a registered tool has changed in place. False when the registry holds another, or none. */
  refreshed(tool: Tool): boolean {
    const { name } = tool;
    if (this.#tools.get(name) !== tool) return false;
    this.#emit({ type: 'refreshed', name });
    return true;
  }

  names(): string[] {
    return [...this.#tools.keys()];
  }

  tools(): Tool[] {
    return [...this.#tools.values()];
  }

  /** What to tell a model of all the tools. */
  schemas(): ToolSchema[] {
    return this.tools().map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  }

  [Symbol.iterator](): IterableIterator<Tool> {
    return this.tools().values();
  }

  /** Adds a listener for every change. Returns what removes it. */
  onChange(listener: (event: RegistryEvent) => void): () => void {
    // Wrapped, so that a function that is added twice is two listeners and each removal takes one.
    const entry = (event: RegistryEvent) => listener(event);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  #emit(event: RegistryEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (cause) {
        const what = `A change listener of the registry threw: ${toError(cause).message}`;
        this.#options.onWarning?.(new McpError('HANDLER_FAILED', what, { cause }));
      }
    }
  }
}
