import { DEFAULT_MAX_TIMEOUT_MS, isJsonObject, McpError, TimeoutError, toError } from '../jsonrpc/index.ts';
import {
  type CallToolResult,
  type CompiledSchema,
  compileSchema,
  type JsonSchema,
  type McpClient,
  type RequestOptions,
  type ToolAnnotations,
} from '../protocol/index.ts';
import { capOutput } from './cap.ts';
import { asString, type ToolContract } from './contract.ts';
import { type ConvertOptions, convertContent } from './convert.ts';
import { describeMisfit, rawJson, withCheckedJson, withPlainJson } from './structured.ts';
import { type Tool, type ToolContext, ToolError, type ToolOutput, textOf, toolFailure } from './tool.ts';

/** How the tools of one provider are called. The provider owns it and may change it; the tools read it on each call. */
export interface CallPolicy extends ConvertOptions {
  callTimeoutMs: number;
  /** Undefined for the default, which a longer `callTimeoutMs` moves. */
  maxCallTimeoutMs: number | undefined;
  maxResultChars: number;
}

/** What the tools of one provider have in common. */
export interface ToolSource {
  readonly client: McpClient;
  readonly policy: CallPolicy;
  readonly warn: (warning: McpError) => void;
}

/** How much of a server's own error text goes into the message of a {@link ToolError}. The content has all of it. */
const MAX_MESSAGE_CHARS = 500;

/**
 * A tool of an MCP server. Its name in the registry may differ from the one the server knows.
 *
 * What a tool has, it has as members of its own, as any object literal would: a copy of it, and its `call` taken off
 * it, work as well.
 */
export class ImportedTool implements Tool {
  readonly name: string;
  title: string | undefined;
  description = '';
  inputSchema: JsonSchema = {};
  outputSchema: JsonSchema | undefined;
  isReadOnly = false;
  isDestructive = true;
  isIdempotent = false;
  isOpenWorld = true;
  /** Nothing in the protocol says so, so it is never assumed. */
  readonly isConcurrencySafe = false;
  readonly call: Tool['call'];
  readonly #source: ToolSource;
  #contract: ToolContract;
  /** The contract whose schema turned out to be of no use when it was compiled. */
  #unchecked: ToolContract | undefined;

  constructor(name: string, contract: ToolContract, source: ToolSource) {
    this.name = name;
    this.#source = source;
    this.#contract = contract;
    this.call = (args, context) => this.#call(args, context);
    this.adopt(contract);
  }

  /** Whether it is a tool of this source itself, and not a copy or a wrapper of one. */
  static isOf(source: ToolSource, tool: Tool): tool is ImportedTool {
    return #source in tool && tool.#source === source;
  }

  get contract(): ToolContract {
    return this.#contract;
  }

  /** Takes another contract. Calls that are on their way end under the one they began with. */
  adopt(contract: ToolContract): void {
    const { definition, outputSchema } = contract;
    const annotations: ToolAnnotations = isJsonObject(definition.annotations) ? definition.annotations : {};
    this.#contract = contract;
    this.title = asString(definition.title) ?? asString(annotations.title);
    this.description = asString(definition.description) ?? '';
    this.inputSchema = definition.inputSchema;
    this.outputSchema = outputSchema;
    this.isReadOnly = annotations.readOnlyHint === true;
    this.isDestructive = annotations.destructiveHint !== false;
    this.isIdempotent = annotations.idempotentHint === true;
    this.isOpenWorld = annotations.openWorldHint !== false;
  }

  async #call(args: unknown, context: ToolContext = {}): Promise<ToolOutput> {
    const contract = this.#contract;
    const { client, policy } = this.#source;
    let output: ToolOutput;
    try {
      const result = await client.callTool(
        contract.definition.name,
        isJsonObject(args) ? args : undefined,
        this.#requestOptions(context),
      );
      output = await this.#convert(result, contract);
    } catch (error) {
      output = toolFailure(this.#errorOf(error));
    }
    return policy.maxResultChars === Number.POSITIVE_INFINITY
      ? output
      : capOutput(output, policy.maxResultChars);
  }

  #requestOptions({ signal, onProgress }: ToolContext): RequestOptions {
    const { callTimeoutMs, maxCallTimeoutMs } = this.#source.policy;
    const options: RequestOptions = {
      timeoutMs: callTimeoutMs,
      maxTimeoutMs: maxCallTimeoutMs ?? Math.max(callTimeoutMs, DEFAULT_MAX_TIMEOUT_MS),
      resetTimeoutOnProgress: true,
    };
    if (signal) options.signal = signal;
    if (onProgress) options.onProgress = onProgress;
    return options;
  }

  async #convert(result: CallToolResult, contract: ToolContract): Promise<ToolOutput> {
    const { structuredContent } = result;
    const content = convertContent(result.content, this.#source.policy);
    if (result.isError === true) return this.#failed(content, structuredContent);
    if (structuredContent === undefined) return { content };
    const schema = await this.#compiled(contract);
    if (!schema) return { content: withPlainJson(content, structuredContent) };
    const violation = schema.validate(structuredContent);
    if (violation) {
      const message = describeMisfit(this.name, violation);
      if (contract.structuredContent === 'error') {
        return toolFailure(new ToolError('validation', message), `${message}\n${rawJson(structuredContent)}`);
      }
      this.#source.warn(new McpError('INVALID_RESULT', message));
    }
    return withCheckedJson(content, structuredContent);
  }

  /** What a server reports as an error is not held to its output schema. */
  #failed(content: ToolOutput['content'], structuredContent: unknown): ToolOutput {
    const quoted = JSON.stringify(this.name);
    const shown = structuredContent === undefined ? content : withPlainJson(content, structuredContent);
    if (typeof shown !== 'string' && shown.length === 0) {
      return toolFailure(new ToolError('execution', `Tool ${quoted} failed and gave no reason`));
    }
    const reason = textOf({ content: shown }).slice(0, MAX_MESSAGE_CHARS);
    return toolFailure(new ToolError('execution', `Tool ${quoted} failed: ${reason}`), shown);
  }

  /** Compiled when it is needed first; shared between tools and contracts with the same schema. */
  async #compiled(contract: ToolContract): Promise<CompiledSchema | undefined> {
    if (contract.outputSchema === undefined || contract === this.#unchecked) return undefined;
    try {
      return await compileSchema(contract.outputSchema);
    } catch (cause) {
      this.#unchecked = contract;
      const message = `The results of tool ${JSON.stringify(this.name)} are not checked: ${toError(cause).message}`;
      this.#source.warn(new McpError('INVALID_SCHEMA', message, { cause }));
      return undefined;
    }
  }

  #errorOf(error: unknown): ToolError {
    const quoted = JSON.stringify(this.name);
    if (error instanceof TimeoutError) {
      const message = `Tool ${quoted} gave no result within ${error.timeoutMs} ms and was cancelled`;
      return new ToolError('timeout', message, { cause: error });
    }
    if (error instanceof McpError && error.code === 'ABORTED') {
      return new ToolError('cancelled', `Tool ${quoted} was cancelled by the caller`, { cause: error });
    }
    return new ToolError('execution', `Tool ${quoted} failed: ${toError(error).message}`, { cause: error });
  }
}
