import { Buffer } from 'node:buffer';
import { isJsonObject, McpError } from '../../jsonrpc/index.ts';
import type { ContentBlock, ResourceContents } from '../types/content.ts';
import type {
  CallToolResult,
  GetPromptResult,
  PromptMessage,
  ReadResourceResult,
} from '../types/features.ts';

/**
 * What a tool may return: a string is one text block, an array the content blocks, an object a result, whose missing
 * `content` is the JSON text of its `structuredContent`. Nothing at all is a result without content.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement has this type.
export type ToolReturn = string | ContentBlock[] | Partial<CallToolResult> | void;

/** What a prompt may return: a string is one message of the user, an array the messages, an object a result. */
export type PromptReturn = string | PromptMessage[] | GetPromptResult;

/**
 * What a resource may return: a string is its text, bytes are its blob, an array its contents, an object with `contents` a
 * result. Nothing at all means that there is no such resource.
 */
export type ResourceReturn =
  | string
  | Uint8Array
  | ResourceContents[]
  | ReadResourceResult
  // biome-ignore lint/suspicious/noConfusingVoidType: as above.
  | void;

/** @throws McpError `HANDLER_FAILED` when it is none of {@link ToolReturn}. */
export function readToolReturn(name: string, returned: unknown): Partial<CallToolResult> {
  if (typeof returned === 'string') return { content: [{ type: 'text', text: returned }] };
  if (returned === undefined) return { content: [] };
  if (Array.isArray(returned)) return { content: checkBlocks(name, returned) };
  if (typeof returned !== 'object' || returned === null) throw unreadable('tool', name, returned);
  // Sound where types hold; what a client relies on is checked.
  const result = returned as Partial<CallToolResult>;
  const { content, isError } = result;
  if (isError !== undefined && typeof isError !== 'boolean') throw unreadable('tool', name, returned);
  if (content !== undefined) {
    if (!Array.isArray(content)) throw unreadable('tool', name, returned);
    checkBlocks(name, content);
  } else if (isError === undefined && !('structuredContent' in result) && !('_meta' in result)) {
    throw new McpError(
      'HANDLER_FAILED',
      `Cannot read what tool "${name}" returned: an object without content; put data under structuredContent`,
    );
  }
  return result;
}

/** What a client would choke on is our own handler's fault, and said here. */
function checkBlocks(name: string, blocks: readonly unknown[]): ContentBlock[] {
  for (const [index, block] of blocks.entries()) {
    const fault = findBlockFault(block);
    if (fault !== undefined) {
      throw new McpError(
        'HANDLER_FAILED',
        `Cannot read what tool "${name}" returned: content ${index} ${fault}`,
      );
    }
  }
  // Sound: each is an object of its type, with the members that the type requires.
  return blocks as ContentBlock[];
}

/** The string members that a block of each type must have. */
const REQUIRED_MEMBERS: { readonly [type in ContentBlock['type']]: readonly string[] } = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri', 'name'],
  resource: [],
};

function findBlockFault(block: unknown): string | undefined {
  if (!isJsonObject(block)) return 'is no object';
  const { type } = block;
  if (typeof type !== 'string' || !Object.hasOwn(REQUIRED_MEMBERS, type)) {
    return `has no type that is known: ${JSON.stringify(type)}`;
  }
  // Sound: it is a key of the table.
  for (const member of REQUIRED_MEMBERS[type as ContentBlock['type']]) {
    if (typeof block[member] !== 'string') return `of type "${type}" lacks "${member}", a string`;
  }
  return type === 'resource' && !isJsonObject(block.resource)
    ? 'of type "resource" lacks "resource"'
    : undefined;
}

/** Gives a result that has only structured content the text that says the same. */
export function withContent(result: Partial<CallToolResult>): CallToolResult {
  const { content, structuredContent } = result;
  // Sound: the one required member is there.
  if (content) return result as CallToolResult;
  const text = structuredContent === undefined ? undefined : JSON.stringify(structuredContent);
  const blocks: ContentBlock[] = text === undefined ? [] : [{ type: 'text', text }];
  // In front: an object that is spread first and then added to is slow to make.
  const completed: CallToolResult = { content: blocks, ...result };
  completed.content = blocks;
  return completed;
}

/** @throws McpError `HANDLER_FAILED` when it is none of {@link PromptReturn}. */
export function readPromptReturn(name: string, returned: unknown): GetPromptResult {
  if (typeof returned === 'string') {
    return { messages: [{ role: 'user', content: { type: 'text', text: returned } }] };
  }
  // Sound where types hold, as above.
  if (Array.isArray(returned)) return { messages: returned as PromptMessage[] };
  const result = returned as GetPromptResult | null | undefined;
  if (Array.isArray(result?.messages)) return result;
  throw unreadable('prompt', name, returned);
}

/**
 * Undefined when there is no such resource.
 *
 * @throws McpError `HANDLER_FAILED` when it is none of {@link ResourceReturn}.
 */
export function readResourceReturn(
  uri: string,
  mimeType: string | undefined,
  returned: unknown,
): ReadResourceResult | undefined {
  if (returned === undefined) return undefined;
  const head = mimeType === undefined ? { uri } : { uri, mimeType };
  if (typeof returned === 'string') return { contents: [{ ...head, text: returned }] };
  if (returned instanceof Uint8Array) {
    const { buffer, byteOffset, byteLength } = returned;
    return { contents: [{ ...head, blob: Buffer.from(buffer, byteOffset, byteLength).toString('base64') }] };
  }
  // Sound where types hold, as above.
  if (Array.isArray(returned)) return { contents: returned as ResourceContents[] };
  const result = returned as ReadResourceResult | null;
  if (Array.isArray(result?.contents)) return result;
  throw unreadable('resource', uri, returned);
}

function unreadable(what: string, name: string, returned: unknown): McpError {
  const found = returned === null ? 'null' : typeof returned;
  return new McpError(
    'HANDLER_FAILED',
    `Cannot read what ${what} "${name}" returned: it is no result (${found})`,
  );
}
