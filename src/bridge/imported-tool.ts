import { isJsonObject, McpError, TimeoutError, toError } from '../jsonrpc/index.ts';
import type {
  CallToolResult,
  JsonSchema,
  McpClient,
  RequestOptions,
  ToolAnnotations,
  ToolDefinition,
} from '../protocol/index.ts';
import { type ConvertOptions, convertContent } from './convert.ts';
import { type Tool, type ToolContext, ToolError, type ToolOutput, textOf, toolFailure } from './tool.ts';

/** How the tools of one provider are called. The provider owns it and may change it; the tools read it on each call. */
export interface CallPolicy extends ConvertOptions {
  callTimeoutMs: number;
  maxCallTimeoutMs: number;
}

/** How much of a server's own error text goes into the message of a {@link ToolError}. The content has all of it. */
const MAX_MESSAGE_CHARS = 500;

/** A tool of an MCP server. Its name in the registry may differ from the one the server knows. */
export class ImportedTool implements Tool {
  readonly name: string;
  readonly #client: McpClient;
  readonly #definition: ToolDefinition;
  readonly #policy: CallPolicy;

  constructor(name: string, definition: ToolDefinition, client: McpClient, policy: CallPolicy) {
    this.name = name;
    this.#definition = definition;
    this.#client = client;
    this.#policy = policy;
  }

  get title(): string | undefined {
    return asString(this.#definition.title) ?? asString(this.#annotations.title);
  }

  get description(): string {
    return asString(this.#definition.description) ?? '';
  }

  get inputSchema(): JsonSchema {
    return this.#definition.inputSchema;
  }

  get outputSchema(): JsonSchema | undefined {
    const { outputSchema } = this.#definition;
    return isJsonObject(outputSchema) ? outputSchema : undefined;
  }

  get isReadOnly(): boolean {
    return this.#annotations.readOnlyHint === true;
  }

  get isDestructive(): boolean {
    return this.#annotations.destructiveHint !== false;
  }

  get isIdempotent(): boolean {
    return this.#annotations.idempotentHint === true;
  }

  get isOpenWorld(): boolean {
    return this.#annotations.openWorldHint !== false;
  }

  /** Nothing in the protocol says so, so it is never assumed. */
  get isConcurrencySafe(): boolean {
    return false;
  }

  async call(args: unknown, context: ToolContext = {}): Promise<ToolOutput> {
    try {
      const result = await this.#client.callTool(
        this.#definition.name,
        isJsonObject(args) ? args : undefined,
        this.#requestOptions(context),
      );
      return this.#convert(result);
    } catch (error) {
      return toolFailure(this.#errorOf(error));
    }
  }

  get #annotations(): ToolAnnotations {
    const { annotations } = this.#definition;
    return isJsonObject(annotations) ? annotations : {};
  }

  #requestOptions({ signal, onProgress }: ToolContext): RequestOptions {
    const { callTimeoutMs, maxCallTimeoutMs } = this.#policy;
    const options: RequestOptions = {
      timeoutMs: callTimeoutMs,
      maxTimeoutMs: Math.max(callTimeoutMs, maxCallTimeoutMs),
      resetTimeoutOnProgress: true,
    };
    if (signal) options.signal = signal;
    if (onProgress) options.onProgress = onProgress;
    return options;
  }

  #convert({ content, structuredContent, isError }: CallToolResult): ToolOutput {
    const converted = convertContent(content, this.#policy);
    if (isError !== true) {
      // The specification wants the same JSON as text beside it; where a server leaves that out it must not get lost.
      if (content.length > 0 || structuredContent === undefined) return { content: converted };
      return { content: JSON.stringify(structuredContent) };
    }
    const quoted = JSON.stringify(this.name);
    if (content.length === 0) {
      return toolFailure(new ToolError('execution', `Tool ${quoted} failed and gave no reason`));
    }
    const reason = textOf({ content: converted }).slice(0, MAX_MESSAGE_CHARS);
    return toolFailure(new ToolError('execution', `Tool ${quoted} failed: ${reason}`), converted);
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

function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
