import { isJsonObject, type JsonObject } from '../jsonrpc/index.ts';
import { describe, named, ofType, sizeOf } from './content-facts.ts';
import type { TextPart, ToolOutput, ToolPart } from './tool.ts';

export interface ConvertOptions {
  /** What becomes of audio: a part of its own, or a note that names it. Default `note`. */
  audio?: 'note' | 'part';
}

/**
 * Turns the content of an MCP result into that of a tool's output. One text block is plain text; anything else is a list of parts in
 * the same order. Text and images are kept as they are; every other block becomes a note in square brackets that says
 * what it is, so that nothing is lost in silence. Total: a malformed block is a note as well.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result
 */
export function convertContent(
  blocks: readonly unknown[],
  options: ConvertOptions = {},
): ToolOutput['content'] {
  const parts: ToolPart[] = [];
  for (const block of blocks) parts.push(...convertBlock(block, options));
  const [only] = parts;
  return blocks.length === 1 && isTextBlock(blocks[0]) && only?.type === 'text' ? only.text : parts;
}

function convertBlock(block: unknown, options: ConvertOptions): ToolPart[] {
  if (!isJsonObject(block)) return [note('malformed content: no object')];
  if (isTextBlock(block)) return [{ type: 'text', text: block.text }];
  switch (block.type) {
    case 'image':
      return isMedia(block) ? [{ type: 'image', ...media(block) }] : [note('malformed image')];
    case 'audio':
      if (!isMedia(block)) return [note('malformed audio')];
      return [
        options.audio === 'part'
          ? { type: 'audio', ...media(block) }
          : note(describe('audio', [block.mimeType, sizeOf(block.data)])),
      ];
    case 'resource':
      return isJsonObject(block.resource) ? convertResource(block.resource) : [note('malformed resource')];
    case 'resource_link':
      return [noteOfLink(block)];
    default:
      return [note(describe(ofType(block.type), named(block)))];
  }
}

/** Text is shown, an image becomes a part, and both follow a note with the address they came from. */
function convertResource(resource: JsonObject): ToolPart[] {
  const { text, blob, mimeType } = resource;
  const facts = named(resource);
  if (typeof text === 'string') return [note(describe('resource', [...facts, mimeType]), text)];
  if (typeof blob !== 'string') return [note(describe('resource', [...facts, mimeType, 'no contents']))];
  if (typeof mimeType === 'string' && mimeType.startsWith('image/')) {
    return [note(describe('resource', [...facts, mimeType])), { type: 'image', data: blob, mimeType }];
  }
  return [note(describe('resource', [...facts, mimeType, sizeOf(blob), 'binary']))];
}

function noteOfLink(link: JsonObject): TextPart {
  const bytes = typeof link.size === 'number' ? `${link.size} bytes` : undefined;
  const { description } = link;
  return note(
    describe('resource link', [...named(link), link.mimeType, bytes]),
    typeof description === 'string' ? description : undefined,
  );
}

function note(what: string, text?: string): TextPart {
  return { type: 'text', text: text === undefined ? `[${what}]` : `[${what}]\n${text}` };
}

function isTextBlock(block: unknown): block is { type: 'text'; text: string } {
  return isJsonObject(block) && block.type === 'text' && typeof block.text === 'string';
}

function isMedia(block: JsonObject): block is JsonObject & { data: string; mimeType: string } {
  return typeof block.data === 'string' && typeof block.mimeType === 'string';
}

function media({ data, mimeType }: { data: string; mimeType: string }): { data: string; mimeType: string } {
  return { data, mimeType };
}
