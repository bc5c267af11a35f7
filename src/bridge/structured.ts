import type { Violation } from '../protocol/index.ts';
import { isDeeper, MAX_STRUCTURED_DEPTH } from './depth.ts';
import type { TextPart, ToolOutput, ToolPart, ToolSuccess } from './tool.ts';

/** How much of structured content that does not fit its schema is kept in the failure: 2 KiB. */
export const MAX_RAW_BYTES = 2048;

const MAX_PATH_CHARS = 200;
const TOO_DEEP = `[structured content: nested deeper than ${MAX_STRUCTURED_DEPTH} levels]`;

type Content = ToolOutput['content'];

/** Structured content that its schema vouches for stands behind the rest, written for people, and marks the output. */
export function withCheckedJson(content: Content, value: unknown): ToolSuccess {
  const json = textOfJson(value, 2);
  if (json === undefined) return { content: append(content, TOO_DEEP) };
  return { content: append(content, json), displayHint: 'json' };
}

/** Structured content of no known shape stands behind the rest as it is, unless one of the texts says the same. */
export function withPlainJson(content: Content, value: unknown): Content {
  const json = textOfJson(value);
  if (json === undefined) return append(content, TOO_DEEP);
  const isSaid = partsOf(content).some((part) => part.type === 'text' && saysTheSame(part.text, json));
  return isSaid ? content : append(content, json);
}

/** Says which rule structured content breaks, and where. */
export function describeMisfit(name: string, { path, keyword, message }: Violation): string {
  const place = path === '' ? 'at its root' : `at ${JSON.stringify(path.slice(0, MAX_PATH_CHARS))}`;
  return `Tool ${JSON.stringify(name)} gave structured content that breaks "${keyword}" of its output schema ${place}: ${message}`;
}

/** The beginning of what a server sent, for who has to find out what is wrong with it. */
export function rawJson(value: unknown): string {
  const json = shownJson(value);
  const bytes = new TextEncoder().encode(json.slice(0, MAX_RAW_BYTES + 1));
  if (bytes.length <= MAX_RAW_BYTES) return json;
  // As a stream: a character that is cut in two is left out.
  const kept = new TextDecoder().decode(bytes.subarray(0, MAX_RAW_BYTES), { stream: true });
  return `${kept}\n[cut to ${MAX_RAW_BYTES} bytes]`;
}

/** Structured content as text, in a word where it nests too deeply to be written. */
export function shownJson(value: unknown): string {
  return textOfJson(value) ?? TOO_DEEP;
}

function textOfJson(value: unknown, indent?: number): string | undefined {
  return isDeeper(value, MAX_STRUCTURED_DEPTH) ? undefined : JSON.stringify(value, undefined, indent);
}

/** Servers are asked to repeat structured content as text, and write it each in their own way. */
function saysTheSame(text: string, json: string): boolean {
  if (text === json) return true;
  try {
    return textOfJson(JSON.parse(text)) === json;
  } catch {
    return false; // It is no JSON.
  }
}

function append(content: Content, text: string): Content {
  const parts = partsOf(content);
  return parts.length === 0 ? text : [...parts, { type: 'text', text } satisfies TextPart];
}

function partsOf(content: Content): readonly ToolPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}
