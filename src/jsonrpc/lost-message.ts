import { Buffer } from 'node:buffer';
import { isRequestId, type RequestId } from './message.ts';

/** What can still be told of a message that was too long to be read. */
export interface LostMessage {
  readonly id: RequestId;
  /** Whether it answered the request with this id; else it is that request. */
  readonly isResponse: boolean;
}

/** This much of the beginning of a long line is looked at. */
export const HEAD_CHARS = 1024;
const TAIL_BYTES = 1024;

/** The members of a message that stand before a long value, as far as they tell what it is. */
interface Head {
  isResponse: boolean;
  isCall: boolean;
  hasVersion: boolean;
  id: unknown;
}

/**
 * A line that is too long to be kept. Which message it is stands before its long value or behind: of our own and many
 * others at the beginning, of the official SDKs at the very end. What is in between is not kept.
 */
export class LongLine {
  readonly #head: Head;
  readonly #tail: Buffer | undefined;
  #tailBytes = 0;

  constructor(head: string) {
    this.#head = readHead(head);
    if (this.isUndecided) this.#tail = Buffer.alloc(TAIL_BYTES);
  }

  /** Whether the end of the line may tell what its beginning does not. */
  get isUndecided(): boolean {
    const { isResponse, isCall, id } = this.#head;
    return isResponse !== isCall && id === undefined;
  }

  push(bytes: Buffer): void {
    const tail = this.#tail;
    if (!tail) return;
    const kept = bytes.length > TAIL_BYTES ? bytes.subarray(-TAIL_BYTES) : bytes;
    tail.copyWithin(0, kept.length);
    kept.copy(tail, TAIL_BYTES - kept.length);
    this.#tailBytes = Math.min(this.#tailBytes + kept.length, TAIL_BYTES);
  }

  /** The message, told by the beginning of its line; undefined when that is not certain. */
  get lostByHead(): LostMessage | undefined {
    return this.#lost(this.#head.id);
  }

  /** The message, told by the end of its line, once that is there; undefined when that is not certain. */
  get lostByTail(): LostMessage | undefined {
    const text = this.#tail?.toString('utf8', TAIL_BYTES - this.#tailBytes) ?? '';
    const { version, id } = LAST_MEMBERS.exec(text)?.groups ?? {};
    if (id === undefined || (version === undefined && !this.#head.hasVersion)) return undefined;
    return this.#lost(parse(id));
  }

  #lost(id: unknown): LostMessage | undefined {
    const { isResponse, isCall } = this.#head;
    return isResponse !== isCall && isRequestId(id) ? { id, isResponse } : undefined;
  }
}

/**
 * The id as the last member, or the last but one before the version. Only the outermost object can end like this: what
 * is within another, or in a string, has one more character behind it.
 */
const LAST_MEMBERS =
  /,\s*(?<version>"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(?<id>-?\d+|"(?:[^"\\]|\\.)*")\s*\}\s*$/;
const STRING = '"(?:[^"\\\\]|\\\\.)*"';
const KEY = new RegExp(`\\s*(${STRING})\\s*:`, 'y');
const TOKEN = new RegExp(`${STRING}|[{}[\\],]|[^"{}[\\],]+`, 'y');

/** Reads the outermost members, up to the one that is not there in full. */
function readHead(text: string): Head {
  const head: Head = { isResponse: false, isCall: false, hasVersion: false, id: undefined };
  let at = text.indexOf('{') + 1;
  if (at === 0 || text.slice(0, at - 1).trim() !== '') return head;
  for (;;) {
    const key = match(KEY, text, at);
    if (!key?.[1]) return head;
    const name = parse(key[1]);
    if (name === 'result' || name === 'error') head.isResponse = true;
    if (name === 'method' || name === 'params') head.isCall = true;
    const start = at + key[0].length;
    const end = endOfValue(text, start);
    if (end === undefined) return head;
    const value = text.slice(start, end);
    if (name === 'id') head.id = parse(value) ?? null;
    if (name === 'jsonrpc') head.hasVersion = parse(value) === '2.0';
    if (text[end] !== ',') return head;
    at = end + 1;
  }
}

/** Where the value that begins here ends; undefined when its end is not there. */
function endOfValue(text: string, start: number): number | undefined {
  let depth = 0;
  let at = start;
  for (;;) {
    const token = match(TOKEN, text, at)?.[0];
    if (token === undefined) return undefined;
    if (depth === 0 && (token === ',' || token === '}' || token === ']')) return at;
    if (token === '{' || token === '[') depth++;
    if (token === '}' || token === ']') depth--;
    at += token.length;
  }
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Undefined when it is not JSON. */
function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined; // What is no JSON tells nothing.
  }
}
