import { isJsonObject, McpError } from '../jsonrpc/index.ts';
import { assertObject, misuse } from '../jsonrpc/option.ts';
import {
  type Checked,
  checkValue,
  type InferOutput,
  isStandardSchema,
  type JsonSchema,
  type Progress,
  type SchemaLike,
  type StandardSchema,
  toJsonSchema,
  type Violation,
} from '../protocol/index.ts';

/**
 * Something a model can call. A host with any agent loop can use it as it is: show name, description and input schema
 * to the model, hand what the model wrote to {@link Tool.call}, and show the output to the model. Where a tool comes
 * from, an MCP server or the host itself, does not show.
 *
 * The members may change while a tool is registered, when its server changes its contract; the object stays the same.
 */
export interface Tool {
  /** Unique in its registry. */
  readonly name: string;
  /** For people; absent where nobody gave one. */
  readonly title?: string | undefined;
  /** For the model; may be empty. */
  readonly description: string;
  /** What arguments the tool takes, as a JSON Schema of an object. Never changed itself: a tool gets another one. */
  readonly inputSchema: JsonSchema;
  /** What JSON the tool gives, as a JSON Schema; absent where it promises none. */
  readonly outputSchema?: JsonSchema | undefined;
  /** Whether it changes nothing. */
  readonly isReadOnly: boolean;
  /** Whether it may destroy something, as opposed to only adding. Of a tool that is read-only it says nothing. */
  readonly isDestructive: boolean;
  /** Whether a repeated call with the same arguments changes nothing more. */
  readonly isIdempotent: boolean;
  /** Whether it reaches beyond a closed domain, as a web search does. */
  readonly isOpenWorld: boolean;
  /**
   * Whether several calls may run at the same time. For the loop that calls tools for a model to heed: neither the registry
   * nor an adapter that serves it makes a call wait for another.
   */
  readonly isConcurrencySafe: boolean;
  /**
   * Runs the tool. A failure is an output with `isError`, which the model should see; a tool that throws instead is to
   * be taken as failed with that error. A tool that was imported never throws.
   *
   * @param args What the model wrote: an object where it kept to the schema. Whoever relies on that checks it:
   *   `(await compileSchema(tool.inputSchema)).validate(args)` says what does not fit.
   */
  call(args: unknown, context?: ToolContext): Promise<ToolOutput>;
}

/** What a caller may hand to a tool beside the arguments. */
export interface ToolContext {
  /** Gives the call up; its output is then a failure of kind `cancelled`. */
  signal?: AbortSignal;
  /** Hears how far the tool has come, before the output. */
  onProgress?: (progress: Progress) => void;
  /** Whatever else the host agreed on with its own tools. */
  [member: string]: unknown;
}

/** What a tool gave. Switch on `isError`. */
export type ToolOutput = ToolSuccess | ToolFailure;

export interface ToolSuccess {
  /** Plain text, or several parts in order. */
  content: string | readonly ToolPart[];
  isError?: false;
  /** `json`: the last text is JSON and may be shown as such. */
  displayHint?: 'json';
}

/** A soft error: the call came to its end, and the content tells the model what went wrong. */
export interface ToolFailure {
  content: string | readonly ToolPart[];
  isError: true;
  /** For the host: the kind of failure, and its cause. */
  error: ToolError;
}

export type ToolPart = TextPart | ImagePart | AudioPart;

export interface TextPart {
  type: 'text';
  text: string;
}

export interface ImagePart {
  type: 'image';
  /** Base64. */
  data: string;
  mimeType: string;
}

/** Only where the host asked for it: see the `audio` option of the provider. */
export interface AudioPart {
  type: 'audio';
  /** Base64. */
  data: string;
  mimeType: string;
}

/**
 * Why a tool failed.
 *
 * - `execution`: it ran and reported an error, or its server could not be reached or refused the call
 * - `timeout`: no result within the deadline
 * - `validation`: arguments or output do not fit the schema
 * - `cancelled`: the caller gave up
 */
export type ToolErrorKind = 'execution' | 'timeout' | 'validation' | 'cancelled';

/** A tool failed. Its `code` is `TOOL_FAILED`; branch on `kind`. */
export class ToolError extends McpError {
  readonly kind: ToolErrorKind;

  constructor(kind: ToolErrorKind, message: string, options?: { cause?: unknown }) {
    super('TOOL_FAILED', message, options);
    this.kind = kind;
  }
}

/**
 * What {@link createTool} needs to know. Absent flags claim nothing: not read-only, destructive, one call at a time. Schemas
 * are plain JSON Schema, or those of a library that follows Standard Schema.
 */
export interface ToolSpec<Input extends SchemaLike = SchemaLike> {
  name: string;
  title?: string;
  description?: string;
  /** Default: an object with any members. */
  inputSchema?: Input;
  outputSchema?: SchemaLike;
  /** Default false. */
  isReadOnly?: boolean;
  /** Default: the opposite of `isReadOnly`. */
  isDestructive?: boolean;
  /** Default false. */
  isIdempotent?: boolean;
  /** Default true. */
  isOpenWorld?: boolean;
  /** Default false. */
  isConcurrencySafe?: boolean;
  /**
   * Given the arguments as its caller has them: checked where an adapter serves the tool, and otherwise as the model wrote
   * them. With a schema of a library they are always what that made of them; others are a failure of kind `validation`. A
   * string is a successful output of plain text.
   */
  call(
    args: Input extends StandardSchema ? InferOutput<Input> : unknown,
    context: ToolContext,
  ): ToolOutput | string | Promise<ToolOutput | string>;
}

/**
 * Makes a tool of the host's own. What its `call` throws becomes a failure, and so does an output that is none.
 *
 * @throws TypeError when it has no name, no function `call`, or a schema that cannot be shown to a model.
 */
export function createTool<Input extends SchemaLike = JsonSchema>(spec: ToolSpec<Input>): Tool {
  assertTool('Cannot create a tool', spec);
  const { name, isReadOnly = false, inputSchema, outputSchema } = spec;
  const described = describeInput(name, inputSchema);
  return {
    name,
    title: spec.title,
    description: spec.description ?? '',
    inputSchema: described,
    outputSchema: outputSchema && toJsonSchema(outputSchema, 'output'),
    isReadOnly,
    isDestructive: spec.isDestructive ?? !isReadOnly,
    isIdempotent: spec.isIdempotent ?? false,
    isOpenWorld: spec.isOpenWorld ?? true,
    isConcurrencySafe: spec.isConcurrencySafe ?? false,
    async call(args, context = {}) {
      try {
        const checked = await readArguments(inputSchema, args);
        if (checked.violation) return invalidArguments(name, checked.violation);
        // Sound: a library has checked it, or the call takes anything.
        return readOutput(await spec.call(checked.value as Parameters<typeof spec.call>[0], context));
      } catch (error) {
        return failureOf(name, error, context.signal);
      }
    },
  };
}

/** @throws TypeError for what is no schema, or one of a library that describes no object. */
function describeInput(name: string, schema: SchemaLike = { type: 'object' }): JsonSchema {
  const option = `inputSchema of tool ${JSON.stringify(name)}`;
  if (!isStandardSchema(schema)) {
    assertObject(option, schema);
    return schema;
  }
  // A library may describe a union of objects without saying that it is one.
  const described = { type: 'object', ...toJsonSchema(schema) };
  if (described.type !== 'object') misuse(option, 'the schema of an object', `one of type ${described.type}`);
  return described;
}

/** Arguments for a plain JSON Schema are as their caller has them. */
function readArguments(
  schema: SchemaLike | undefined,
  args: unknown,
): Checked<unknown> | Promise<Checked<unknown>> {
  return isStandardSchema(schema) ? checkValue(schema, args) : { value: args };
}

function invalidArguments(name: string, { message, keyword }: Violation): ToolFailure {
  const text = `Invalid arguments for tool ${JSON.stringify(name)}: ${message} (${keyword})`;
  return toolFailure(new ToolError('validation', text));
}

/** @throws TypeError that says what is missing. Any string is a name, the empty one too. */
export function assertTool(what: string, tool: unknown): void {
  const { name, call } = isJsonObject(tool) ? tool : {};
  if (typeof name !== 'string') throw new TypeError(`${what}: its name must be a string`);
  if (typeof call !== 'function') {
    throw new TypeError(`${what}: the call of ${JSON.stringify(name)} must be a function`);
  }
}

/** @throws TypeError for what no compiler has seen, and is no output. */
function readOutput(output: ToolOutput | string): ToolOutput {
  if (typeof output === 'string') return { content: output };
  if (isJsonObject(output) && (typeof output.content === 'string' || Array.isArray(output.content)))
    return output;
  throw new TypeError('it gave neither a text nor an object with content');
}

/** The failed output that says why to the model and to the host. */
export function toolFailure(error: ToolError, content: ToolFailure['content'] = error.message): ToolFailure {
  return { content, isError: true, error };
}

/** Takes what a tool threw as its failure. */
export function failureOf(name: string, thrown: unknown, signal: AbortSignal | undefined): ToolFailure {
  if (thrown instanceof ToolError) return toolFailure(thrown);
  const kind = signal?.aborted ? 'cancelled' : 'execution';
  return toolFailure(new ToolError(kind, describeFailure(name, kind, thrown), { cause: thrown }));
}

function describeFailure(name: string, kind: ToolErrorKind, thrown: unknown): string {
  if (kind === 'cancelled') return `Tool ${JSON.stringify(name)} was cancelled`;
  return `Tool ${JSON.stringify(name)} failed: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
}

/** All the text of an output, its parts joined by newlines. Parts that are no text are named by a placeholder. */
export function textOf({ content }: ToolOutput): string {
  if (typeof content === 'string') return content;
  return content
    .map((part) => (part.type === 'text' ? part.text : `[${part.type} ${part.mimeType}]`))
    .join('\n');
}
