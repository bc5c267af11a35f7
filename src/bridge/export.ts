import { isJsonObject, McpError } from '../jsonrpc/index.ts';
import type { CallToolResult, ContentBlock, JsonSchema, ToolDefinition } from '../protocol/index.ts';
import { ofType } from './content-facts.ts';
import { isDeeper, MAX_STRUCTURED_DEPTH } from './depth.ts';
import type { Tool, ToolOutput } from './tool.ts';

/**
 * Describes a tool to MCP clients. An empty description is left out; annotations are given only for a tool that changes
 * nothing, for what a client assumes without them is the worst. The output schema is the one given here, not the tool's.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool
 */
export function exportTool(tool: Tool, name: string, outputSchema: JsonSchema | undefined): ToolDefinition {
  const { title, description, inputSchema, isReadOnly } = tool;
  return {
    name,
    // A tool may come from code that no compiler has seen, and clients refuse a whole list for one member of a wrong type.
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && description !== '' && { description }),
    // Sound: its caller has seen that the type of the root is "object".
    inputSchema: inputSchema as ToolDefinition['inputSchema'],
    ...(outputSchema !== undefined && { outputSchema }),
    ...(isReadOnly && { annotations: { readOnlyHint: true, destructiveHint: false } }),
  };
}

/**
 * Turns a tool's output into an MCP result: the mirror of `convertContent`. Where the output is marked as JSON, what its
 * last text says travels as structured content too. Total: what is no output at all becomes a failure that says so.
 *
 * @param warn Hears of output that is not what it claims to be.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result
 */
export function exportOutput(
  name: string,
  output: ToolOutput,
  warn: (warning: McpError) => void,
): CallToolResult {
  const content = isJsonObject(output) ? exportContent(output.content) : undefined;
  if (!content) {
    const message = `Tool ${JSON.stringify(name)} gave no output that could be read`;
    warn(new McpError('HANDLER_FAILED', message));
    return { content: [{ type: 'text', text: message }], isError: true };
  }
  if (output.isError) return { content, isError: true };
  if (output.displayHint !== 'json') return { content };
  const json = parseLastText(content);
  if ('value' in json) return { content, structuredContent: json.value };
  const message = `The output of tool ${JSON.stringify(name)} is marked as JSON and sent as text alone: ${json.fault}`;
  warn(new McpError('HANDLER_FAILED', message));
  return { content };
}

/** Undefined for what no output may have as its content. */
function exportContent(content: unknown): ContentBlock[] | undefined {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.map(exportPart) : undefined;
}

/** A part may come from code that no compiler has seen: what cannot be sent is named. */
function exportPart(part: unknown): ContentBlock {
  if (!isJsonObject(part)) return note('malformed content: no object');
  const { type, text, data, mimeType } = part;
  switch (type) {
    case 'text':
      return typeof text === 'string' ? { type, text } : note('malformed text');
    case 'image':
    case 'audio':
      return typeof data === 'string' && typeof mimeType === 'string'
        ? { type, data, mimeType }
        : note(`malformed ${type}`);
    default:
      return note(ofType(type));
  }
}

function note(what: string): ContentBlock {
  return { type: 'text', text: `[${what}]` };
}

function parseLastText(content: readonly ContentBlock[]): { value: unknown } | { fault: string } {
  const last = content.findLast((block) => block.type === 'text');
  if (last?.type !== 'text') return { fault: 'it has no text' };
  let value: unknown;
  try {
    value = JSON.parse(last.text);
  } catch {
    return { fault: 'its last text is no JSON' };
  }
  if (isDeeper(value, MAX_STRUCTURED_DEPTH)) {
    return { fault: `it nests deeper than ${MAX_STRUCTURED_DEPTH} levels` };
  }
  return { value };
}
