import { type JsonObject, McpError, RpcError, toError } from '../../jsonrpc/index.ts';
import type { RevisionTraits } from '../revisions.ts';
import type { CallToolResult, ListToolsResult, ToolDefinition } from '../types/features.ts';
import type { Context, RequestContext } from './context.ts';
import { type FeatureHost, invalidParams, isPromiseLike, optionalObject, requireString } from './feature.ts';
import { cutPage } from './pages.ts';
import { readToolReturn, type ToolReturn } from './results.ts';
import { shapeTool, shapeToolResult } from './shape.ts';
import { Shelf } from './shelf.ts';

/** Does the work of a tool. What it throws becomes a result with `isError`, except for an RpcError, which travels. */
export type ToolHandler<Args = JsonObject> = (
  args: Args,
  context: RequestContext,
) => ToolReturn | Promise<ToolReturn>;

/**
 * Tools that are not registered one by one but looked up whenever a client lists or calls: a live collection kept
 * elsewhere.
 */
export interface ToolSource {
  /** All tools there are now, in a stable order. */
  list(context: RequestContext): readonly ToolDefinition[] | Promise<readonly ToolDefinition[]>;
  /**
   * Calls a tool that is not registered otherwise; for one it does not know it throws an {@link RpcError}. The arguments
   * are as they came, unchecked; undefined when there were none. What it returns and throws counts as for a tool.
   */
  call(name: string, args: JsonObject | undefined, context: RequestContext): ToolReturn | Promise<ToolReturn>;
  /** The input schema of one tool, where it is at hand: transports with headers check those that mirror arguments. */
  inputSchemaOf?(name: string): JsonObject | undefined;
}

interface RegisteredTool {
  readonly definition: ToolDefinition;
  readonly handler: ToolHandler;
}

/** The tools of a server: what `tools/list` and `tools/call` answer from. */
export class Tools {
  readonly #host: FeatureHost;
  readonly #shelf: Shelf<ToolDefinition, RegisteredTool>;
  readonly #changed: () => void;
  #source: ToolSource | undefined;

  constructor(host: FeatureHost, changed: () => void) {
    this.#host = host;
    this.#changed = changed;
    this.#shelf = new Shelf('tool', shapeTool, changed);
  }

  add(definition: ToolDefinition, handler: ToolHandler): () => void {
    return this.#shelf.add(definition.name, { definition, handler });
  }

  addSource(source: ToolSource): () => void {
    if (this.#source) throw new TypeError('Cannot add a tool source: there is one; remove it first');
    this.#source = source;
    this.#changed();
    return () => {
      if (this.#source !== source) return;
      this.#source = undefined;
      this.#changed();
    };
  }

  /** The input schema of a tool; undefined when there is none of that name, or its source does not say. */
  inputSchemaOf(name: string): JsonObject | undefined {
    return this.#shelf.get(name)?.definition.inputSchema ?? this.#source?.inputSchemaOf?.(name);
  }

  list(context: Context): ListToolsResult | Promise<ListToolsResult> {
    const registered = this.#shelf.list(context.traits);
    if (!this.#source) return this.#page(registered, context);
    const live = this.#source.list(context);
    if (!isPromiseLike(live)) return this.#page(this.#merge(registered, live, context.traits), context);
    return Promise.resolve(live).then((tools) =>
      this.#page(this.#merge(registered, tools, context.traits), context),
    );
  }

  call(context: Context): CallToolResult | Promise<CallToolResult> {
    const { params } = context;
    const name = requireString(params, 'name');
    const args = optionalObject(params, 'arguments');
    const tool = this.#shelf.get(name);
    try {
      const returned = tool ? tool.handler(args ?? {}, context) : this.#callSource(name, args, context);
      if (!isPromiseLike(returned)) return this.#complete(name, returned, context);
      return Promise.resolve(returned).then(
        (value) => this.#complete(name, value, context),
        (error) => this.#fail(name, error, context),
      );
    } catch (error) {
      return this.#fail(name, error, context);
    }
  }

  #callSource(
    name: string,
    args: JsonObject | undefined,
    context: Context,
  ): ToolReturn | Promise<ToolReturn> {
    if (this.#source) return this.#source.call(name, args, context);
    throw invalidParams(`Unknown tool: ${name}`);
  }

  #complete(name: string, returned: unknown, context: Context): CallToolResult {
    try {
      return shapeToolResult(readToolReturn(name, returned), context.traits);
    } catch (error) {
      return this.#fail(name, error, context);
    }
  }

  #fail(name: string, error: unknown, context: Context): CallToolResult {
    if (error instanceof RpcError || context.isInterrupted) throw error;
    const { message } = toError(error);
    if (!context.signal.aborted) {
      this.#host.report(
        new McpError('HANDLER_FAILED', `Tool "${name}" failed: ${message}`, { cause: error }),
      );
    }
    return { content: [{ type: 'text', text: message }], isError: true };
  }

  /** A registered tool hides a live one of its name. */
  #merge(
    registered: readonly ToolDefinition[],
    live: readonly ToolDefinition[],
    traits: RevisionTraits,
  ): readonly ToolDefinition[] {
    const visible = live.filter((tool) => this.#shelf.get(tool.name) === undefined);
    return [...registered, ...visible.map((tool) => shapeTool(tool, traits))];
  }

  #page(tools: readonly ToolDefinition[], context: Context): ListToolsResult {
    const { cursor } = context.params;
    const { items, nextCursor } = cutPage(
      'tools/list',
      tools,
      (tool) => tool.name,
      cursor,
      this.#host.pageSize,
    );
    const result: ListToolsResult = { tools: [...items] };
    if (nextCursor !== undefined) result.nextCursor = nextCursor;
    return result;
  }
}
