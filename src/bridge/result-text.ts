import { Buffer } from 'node:buffer';
import { isJsonObject, type JsonObject } from '../jsonrpc/index.ts';
import type { CallToolResult } from '../protocol/index.ts';
import { describe, named, ofType, sizeOf } from './content-facts.ts';
import { shownJson } from './structured.ts';

const ERROR_PREFIX = 'tool error: ';

/**
 * A tool's result as one text for a model: its texts, one below the other, and for everything else a placeholder with
 * type and size. Structured content is shown where there is no content, and only there.
 */
export function resultText({ content, structuredContent, isError }: CallToolResult): string {
  const text = content.length > 0 ? content.map(blockText).join('\n') : jsonText(structuredContent);
  if (isError !== true) return text;
  return ERROR_PREFIX + (text === '' ? 'the tool gave no reason' : text);
}

function jsonText(structuredContent: unknown): string {
  return structuredContent === undefined ? '' : shownJson(structuredContent);
}

/** Total: what a server sends as a block may be anything. */
function blockText(block: unknown): string {
  if (!isJsonObject(block)) return '[malformed content]';
  const { type, text, data, mimeType, resource, size } = block;
  switch (type) {
    case 'text':
      return typeof text === 'string' ? text : '[malformed text]';
    case 'image':
    case 'audio':
      return placeholder(type, [mimeType, typeof data === 'string' ? sizeOf(data) : undefined]);
    case 'resource':
      return isJsonObject(resource) ? resourceText(resource) : '[malformed resource]';
    case 'resource_link':
      return placeholder('resource link', [
        ...named(block),
        mimeType,
        typeof size === 'number' ? `${size} bytes` : undefined,
      ]);
    default:
      return placeholder(ofType(type), []);
  }
}

function resourceText(resource: JsonObject): string {
  const { mimeType, text, blob } = resource;
  const bytes = typeof text === 'string' ? `${Buffer.byteLength(text)} bytes` : undefined;
  const size = typeof blob === 'string' ? sizeOf(blob) : bytes;
  return placeholder('resource', [...named(resource), mimeType, size]);
}

function placeholder(what: string, facts: readonly unknown[]): string {
  return `[${describe(what, facts)}]`;
}
