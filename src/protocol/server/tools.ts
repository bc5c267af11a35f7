import { type JsonObject, McpError, RpcError, toError } from '../../jsonrpc/index.ts';
import { shown } from '../../jsonrpc/option.ts';
import { BearerChallenge } from '../../transport/index.ts';
import { inspectSchema, type SchemaFault } from '../json-schema.ts';
import type { RevisionTraits } from '../revisions.ts';
import {
  type Checked,
  checkValue,
  type InferInput,
  isStandardSchema,
  type SchemaLike,
  toJsonSchema,
} from '../standard-schema.ts';
import type { CallToolResult, ListToolsResult, ToolDefinition } from '../types/features.ts';
import type { Context, RequestContext } from './context.ts';
import {
  assertDefinition,
  type FeatureHost,
  invalidParams,
  isPromiseLike,
  optionalObject,
  requireString,
} from './feature.ts';
import { cutPage } from './pages.ts';
import { readToolReturn, type ToolReturn, withContent } from './results.ts';
import { shapeTool, shapeToolResult } from './shape.ts';
import { Shelf } from './shelf.ts';

/**
 * Does the work of a tool. What it throws becomes a result with `isError` whose text is the error's message, word for word,
 * for the client's model to read: no place for secrets. An {@link RpcError} travels as it is, and a {@link BearerChallenge}
 * asks the client for another token.
 */
export type ToolHandler<Args = JsonObject, Return = ToolReturn> = (
  args: Args,
  context: RequestContext,
) => Return | Promise<Return>;

/**
 * What a tool may return. Where its output schema tells a type, that is structured content of it, or a result that is an
 * error; a schema that is only known as one tells none.
 */
export type StructuredReturn<Output extends SchemaLike> = string extends keyof Output
  ? ToolReturn
  : SchemaLike extends Output
    ? ToolReturn
    :
        | (Omit<Partial<CallToolResult>, 'structuredContent'> & {
            structuredContent: Structured<InferInput<Output>>;
          })
        | (Partial<CallToolResult> & { isError: true });

/** Any object may be an object of any members, also one of an interface, which has no index. */
type Structured<Value> = JsonObject extends Value ? unknown : Value;

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

/**
 * A tool as it is registered: its schemas are plain JSON Schema, or those of a library that follows Standard Schema. What
 * the handler is given has the type that the input schema describes.
 */
export interface ToolDeclaration<
  Input extends SchemaLike = SchemaLike,
  Output extends SchemaLike = SchemaLike,
> extends Omit<ToolDefinition, 'inputSchema' | 'outputSchema'> {
  /** What the arguments must be. Default: a tool without arguments. */
  inputSchema?: Input;
  /** What `structuredContent` must be, in every result that is no error. Default: anything, or nothing. */
  outputSchema?: Output;
}

interface RegisteredTool {
  /** As it is listed. */
  readonly definition: ToolDefinition;
  readonly handler: ToolHandler;
  /** What the arguments are checked against; undefined where every object passes. */
  readonly input: SchemaLike | undefined;
  readonly output: SchemaLike | undefined;
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
    this.#shelf = new Shelf('tool', 'name', shapeTool, changed);
  }

  /** @throws TypeError for a schema that cannot be used, a name that is taken, or a handler that is no function. */
  add(declaration: ToolDeclaration, handler: ToolHandler): () => void {
    assertDeclaration(declaration);
    return this.#shelf.add(declaration.name, registered(declaration, handler), handler);
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
      const returned = tool
        ? callRegistered(tool, args ?? {}, context)
        : this.#callSource(name, args, context);
      if (!isPromiseLike(returned)) return this.#complete(name, tool, returned, context);
      return Promise.resolve(returned).then(
        (value) => this.#complete(name, tool, value, context),
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

  #complete(
    name: string,
    tool: RegisteredTool | undefined,
    returned: unknown,
    context: Context,
  ): CallToolResult | Promise<CallToolResult> {
    try {
      const result = readToolReturn(name, returned);
      const checked = tool?.output && !result.isError ? checkOutput(name, tool.output, result) : result;
      if (!isPromiseLike(checked)) return shapeToolResult(withContent(checked), context.traits);
      return Promise.resolve(checked).then(
        (value) => shapeToolResult(withContent(value), context.traits),
        (error) => this.#break(name, error, context),
      );
    } catch (error) {
      return this.#break(name, error, context);
    }
  }

  /** The result of a tool is none, or not what the tool promises: an error of ours says so, and names the tool. */
  #break(name: string, error: unknown, context: Context): CallToolResult {
    return error instanceof McpError ? this.#answer(error, error, context) : this.#fail(name, error, context);
  }

  #fail(name: string, error: unknown, context: Context): CallToolResult {
    const message = `Tool "${name}" failed: ${toError(error).message}`;
    return this.#answer(error, new McpError('HANDLER_FAILED', message, { cause: error }), context);
  }

  #answer(error: unknown, report: McpError, context: Context): CallToolResult {
    if (error instanceof RpcError || error instanceof BearerChallenge || context.isInterrupted) throw error;
    if (!context.isAborted) this.#host.report(report);
    return { content: [{ type: 'text', text: toError(error).message }], isError: true };
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

/** @throws TypeError for what declares no tool; a name alone comes from a habit of other libraries. */
function assertDeclaration(declaration: unknown): void {
  if (typeof declaration === 'string') {
    const habit = 'tool({ name, inputSchema }, handler)';
    throw new TypeError(
      `Cannot register tool ${shown(declaration)}: it is declared by an object, as in ${habit}`,
    );
  }
  assertDefinition('tool', declaration);
}

/** @throws TypeError for a schema that cannot be used. */
function registered(declaration: ToolDeclaration, handler: ToolHandler): RegisteredTool {
  const { inputSchema = NO_ARGUMENTS, outputSchema, ...rest } = declaration;
  const { name } = declaration;
  const input = describeInput(inputSchema);
  assertUsable(name, 'input', inspectSchema(input, { rootObject: true }));
  const definition: ToolDefinition = { ...rest, inputSchema: input };
  if (outputSchema !== undefined) {
    definition.outputSchema = toJsonSchema(outputSchema, 'output');
    assertUsable(name, 'output', inspectSchema(definition.outputSchema));
  }
  return {
    definition,
    handler,
    input: isUnchecked(inputSchema) ? undefined : inputSchema,
    output: outputSchema,
  };
}

const NO_ARGUMENTS = { type: 'object', additionalProperties: false } as const;
const SAYS_NOTHING: readonly string[] = ['type', '$schema', 'title', 'description'];

/** A library may describe a union of objects without saying that it is one. */
function describeInput(schema: SchemaLike): ToolDefinition['inputSchema'] {
  const described = toJsonSchema(schema);
  const typed =
    isStandardSchema(schema) && described.type === undefined ? { ...described, type: 'object' } : described;
  // Sound: what has another type at its root is refused by the inspection that follows.
  return typed as ToolDefinition['inputSchema'];
}

function assertUsable(name: string, side: 'input' | 'output', fault: SchemaFault | undefined): void {
  if (!fault) return;
  const place = fault.path === '' ? '' : ` at ${fault.path}`;
  throw new TypeError(`Cannot register tool "${name}": its ${side} schema${place} ${fault.reason}`);
}

/** Whether every object passes: then the compiler need not be loaded. */
function isUnchecked(schema: SchemaLike): boolean {
  return !isStandardSchema(schema) && Object.keys(schema).every((keyword) => SAYS_NOTHING.includes(keyword));
}

function callRegistered(
  tool: RegisteredTool,
  args: JsonObject,
  context: Context,
): ToolReturn | Promise<ToolReturn> {
  if (!tool.input) return tool.handler(args, context);
  const checked = checkValue(tool.input, args);
  if (!(checked instanceof Promise)) return callChecked(tool, checked, context);
  return checked.then((value) => {
    if (context.isAborted) throw new McpError('ABORTED', 'The call was cancelled before it started');
    return callChecked(tool, value, context);
  });
}

function callChecked(
  tool: RegisteredTool,
  checked: Checked<unknown>,
  context: Context,
): ToolReturn | Promise<ToolReturn> {
  const { violation } = checked;
  // Sound: an input schema has an object at its root, and what becomes of it is for the handler's types to say.
  if (!violation) return tool.handler(checked.value as JsonObject, context);
  const text = `Invalid arguments for tool "${tool.definition.name}": ${violation.message} (${violation.keyword})`;
  return { content: [{ type: 'text', text }], isError: true };
}

/** @throws McpError `HANDLER_FAILED` when the tool breaks its own word. */
function checkOutput(
  name: string,
  schema: SchemaLike,
  result: Partial<CallToolResult>,
): Partial<CallToolResult> | Promise<Partial<CallToolResult>> {
  if (result.structuredContent === undefined) {
    throw new McpError(
      'HANDLER_FAILED',
      `Tool "${name}" has an output schema but returned no structuredContent`,
    );
  }
  const conclude = (checked: Checked<unknown>) => {
    if (!checked.violation) {
      const { value } = checked;
      return value === result.structuredContent ? result : { ...result, structuredContent: value };
    }
    const { message, keyword } = checked.violation;
    throw new McpError(
      'HANDLER_FAILED',
      `Tool "${name}" returned what breaks its output schema: ${message} (${keyword})`,
    );
  };
  const checked = checkValue(schema, result.structuredContent);
  return checked instanceof Promise ? checked.then(conclude) : conclude(checked);
}
