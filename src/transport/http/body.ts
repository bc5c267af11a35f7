import { INVALID_REQUEST, PARSE_ERROR } from '../../jsonrpc/index.ts';
import { Refusal } from './refusal.ts';

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** The text of a body, without a byte order mark; a refusal when it is not UTF-8. */
export function decodeBody(bytes: Uint8Array): string | Refusal {
  try {
    return UTF8.decode(bytes);
  } catch {
    return parseRefusal('it is not UTF-8');
  }
}

/** The value of a body's JSON. A {@link Refusal} stands for a body that is no JSON or is nested too deep. */
export function parseBody(text: string, maxDepth: number): unknown {
  if (isNestedDeeper(text, maxDepth)) return tooDeep(maxDepth);
  try {
    return JSON.parse(text);
  } catch {
    // What V8 says of the fault quotes the body, which may be secret or long.
    return parseRefusal(text === '' ? 'it is empty' : 'it is not JSON');
  }
}

/** The same bound for a body that a framework parsed. */
export function checkParsedBody(value: unknown, maxDepth: number): Refusal | undefined {
  return isValueDeeper(value, maxDepth) ? tooDeep(maxDepth) : undefined;
}

/** The refusal of a body that is too large, however that shows. */
export function tooLarge(maxBytes: number): Refusal {
  return new Refusal(413, INVALID_REQUEST, `Cannot read the body: it exceeds ${maxBytes} bytes`);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Looks at the text before it is parsed: a body of brackets alone takes many times its size as a value. */
function isNestedDeeper(text: string, maxDepth: number): boolean {
  // Each level takes two brackets.
  if (text.length <= 2 * maxDepth) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        if (++depth > maxDepth) return true;
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth--;
        break;
    }
  }
  return false;
}

/** Where the string that starts at `start` has its closing quote; the text's end if it has none. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}

function isValueDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const member of Object.values(value)) if (isValueDeeper(member, levels - 1)) return true;
  return false;
}

function tooDeep(maxDepth: number): Refusal {
  return parseRefusal(`it is nested deeper than ${maxDepth} levels`);
}

function parseRefusal(why: string): Refusal {
  return new Refusal(400, PARSE_ERROR, `Cannot parse the body: ${why}`);
}
