import { Buffer, constants } from 'node:buffer';
import { McpError } from './error.ts';
import { positive } from './option.ts';
import { preview } from './preview.ts';
import { decodeUtf8, Utf8Text, viewOf } from './utf8-text.ts';

/** One event that carries data. */
export interface SseEvent {
  /** The lines of the event's data, joined by newlines. Never empty. */
  readonly data: string;
  /** The type of the event; `message` where the stream names none. */
  readonly event: string;
  /** The last event id in force with this event; undefined while the stream has named none. */
  readonly id: string | undefined;
  /** Whether the stream ended before the blank line that closes the event. Its data is whole JSON all the same. */
  readonly unterminated: boolean;
}

/** Receives what an {@link SseDecoder} reads, in the order of the bytes. No method may throw. */
export interface SseSink {
  event(event: SseEvent): void;
  /** A comment: the sender shows that it is alive. */
  comment?(): void;
  /** One event that was skipped: `EVENT_TOO_LONG`, or `INVALID_JSON` for one that the end of the stream cut off. */
  error(error: McpError): void;
}

export interface SseDecoderOptions {
  /**
   * The largest accepted event, in bytes: its data, with 5 bytes more for each line of it, and the line at hand. A
   * larger one is skipped with one `EVENT_TOO_LONG` error and is not buffered. Default 67108864 (64 MiB); never above
   * the longest string this runtime can hold.
   */
  maxEventBytes?: number;
}

/** What {@link encodeEvent} writes. */
export interface SseFields {
  /** May be empty (then the event only carries its id and retry time) and may have several lines. */
  data: string;
  id?: string;
  event?: string;
  /** How long the reader should wait before it connects again, in milliseconds. */
  retry?: number;
}

/** The default of {@link SseDecoderOptions.maxEventBytes}: 64 MiB. */
export const DEFAULT_MAX_EVENT_BYTES = 64 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const SPACE = 0x20;
const COLON = 0x3a;
const DIGITS = /^[0-9]{1,15}$/;
const LINE_END = /\r\n|\r|\n/;
/** What a data line counts beside its value, so that empty lines are bounded as well. */
const LINE_COST_BYTES = 5;
/** Up to this many bytes are looked at one by one: cheaper than searching a chunk. */
const SMALL_CHUNK_BYTES = 16;

/**
 * Reads server-sent events from bytes, in time linear in their number however they are cut. Lines end with LF, CR or
 * CRLF, mixed at will; one byte order mark at the very start is dropped; bytes that are no UTF-8 become U+FFFD, as the
 * standard wants it. An event with empty data is not delivered, but its id and retry time count.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export class SseDecoder {
  readonly #sink: SseSink;
  readonly #maxEventBytes: number;
  /** The unfinished line. */
  readonly #line = new Utf8Text();
  // Whether the unfinished line has anything, be it skipped.
  #isBlank = true;
  // How many bytes of the byte order mark were seen; -1 behind the start of the stream.
  #markSeen = 0;
  // A CR ended the last line: a LF that follows at once belongs to it.
  #afterCr = false;
  // The event at hand is too long: nothing of it is kept up to its blank line.
  #skipping = false;
  #data: string | undefined;
  #dataBytes = 0;
  #event = '';
  #id: string | undefined;
  #lastEventId: string | undefined;
  #retryMs: number | undefined;

  constructor(sink: SseSink, options: SseDecoderOptions = {}) {
    const { maxEventBytes = DEFAULT_MAX_EVENT_BYTES } = options;
    positive('maxEventBytes', maxEventBytes, 'bytes');
    this.#sink = sink;
    this.#maxEventBytes = Math.min(maxEventBytes, constants.MAX_STRING_LENGTH);
  }

  /** The id of the last complete event that named one, with or without data: where a reader resumes. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** The last retry time that the stream named, in milliseconds. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** Takes the next bytes. The chunk is not kept: its owner may reuse it when this returns. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    const start = this.#markSeen >= 0 ? this.#skipMark(chunk) : 0;
    if (chunk.length - start <= SMALL_CHUNK_BYTES) this.#pushSmall(chunk, start);
    else this.#pushLarge(viewOf(chunk), start);
  }

  /**
   * Takes the end of input. An event that lacks only its closing blank line is delivered if its data is a whole JSON
   * object or array; any other unfinished event with data is reported.
   */
  end(): void {
    if (this.#markSeen > 0) this.#hold(BYTE_ORDER_MARK, 0, this.#markSeen);
    if (!this.#isBlank) this.#finishHeldLine();
    const data = this.#data;
    if (data !== undefined && data !== '') {
      if (isWholeJson(data)) {
        this.#dispatch(data, true);
      } else {
        const message = `Cannot read the last event: the stream ended inside it: ${preview(data)}`;
        this.#sink.error(new McpError('INVALID_JSON', message));
      }
    }
    this.#reset();
    this.#skipping = false;
  }

  /** Drops a byte order mark at the start, which may come in pieces. Returns where the text begins in the chunk. */
  #skipMark(chunk: Uint8Array): number {
    let at = 0;
    while (at < chunk.length && this.#markSeen < BYTE_ORDER_MARK.length) {
      if (chunk[at] !== BYTE_ORDER_MARK[this.#markSeen]) {
        // No mark after all: what looked like its beginning is text, and may have come with earlier chunks.
        this.#hold(BYTE_ORDER_MARK, 0, this.#markSeen);
        break;
      }
      this.#markSeen++;
      at++;
      if (at === chunk.length && this.#markSeen < BYTE_ORDER_MARK.length) return at;
    }
    this.#markSeen = -1;
    return at;
  }

  #pushSmall(chunk: Uint8Array, start: number): void {
    for (let at = start; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte === LF && this.#afterCr) {
        this.#afterCr = false;
      } else if (byte === LF || byte === CR) {
        this.#finishHeldLine();
        this.#afterCr = byte === CR;
      } else {
        this.#afterCr = false;
        this.#holdByte(chunk, at);
      }
    }
  }

  #pushLarge(bytes: Buffer, from: number): void {
    let start = from;
    if (this.#afterCr && bytes[start] === LF) start++;
    const last = lastLineEnd(bytes);
    this.#afterCr = last === bytes.length - 1 && bytes[last] === CR;
    if (last < start) {
      this.#hold(bytes, start, bytes.length);
      return;
    }
    if (!this.#isBlank) {
      const end = firstLineEnd(bytes, start);
      this.#hold(bytes, start, end);
      this.#finishHeldLine();
      start = end + (bytes[end] === CR && bytes[end + 1] === LF ? 2 : 1);
    }
    if (start <= last) this.#readLines(slice(bytes, start, last + 1));
    if (last + 1 < bytes.length) this.#hold(bytes, last + 1, bytes.length);
  }

  /** The same as `#hold`, without its cost where the line has room and the limit is far. */
  #holdByte(chunk: Uint8Array, at: number): void {
    const isFree = !this.#skipping && this.#line.byteLength + this.#dataBytes < this.#maxEventBytes;
    // In range: the caller's loop ends there.
    if (isFree && this.#line.pushByte(chunk[at] as number)) this.#isBlank = false;
    else this.#hold(viewOf(chunk), at, at + 1);
  }

  #hold(bytes: Buffer, start: number, end: number): void {
    if (start === end) return;
    this.#isBlank = false;
    if (this.#skipping) return;
    if (this.#line.byteLength + end - start + this.#dataBytes > this.#maxEventBytes) this.#skipEvent();
    else this.#line.push(slice(bytes, start, end));
  }

  #finishHeldLine(): void {
    const length = this.#line.byteLength;
    if (this.#isBlank) {
      this.#finishEvent();
    } else if (!this.#skipping) {
      const { text } = this.#line.take();
      this.#readLine(text, 0, text.length, text.length === length);
    }
    this.#isBlank = true;
  }

  /** The hot path: a block of whole lines is decoded at once and cut as a string. */
  #readLines(block: Buffer): void {
    const isNearLimit = block.length + this.#dataBytes > this.#maxEventBytes;
    const text = isNearLimit ? undefined : decodeUtf8(block);
    if (text === undefined) {
      this.#readEachLine(block);
      return;
    }
    const ascii = text.length === block.length;
    let start = 0;
    let lf = nextIndex(text, '\n', 0);
    let cr = nextIndex(text, '\r', 0);
    while (start < text.length) {
      const end = Math.min(lf, cr);
      const next = cr + 1 === lf ? lf + 1 : end + 1;
      if (lf < next) lf = nextIndex(text, '\n', next);
      if (cr < next) cr = nextIndex(text, '\r', next);
      if (end === start) this.#finishEvent();
      // A line that a blank one follows need not be measured: nothing is added to its event.
      else if (!this.#skipping) this.#readLine(text, start, end, ascii || lf === next || cr === next);
      start = next;
    }
  }

  /** The same with every line measured in bytes, for what comes near the limit or is not UTF-8. */
  #readEachLine(block: Buffer): void {
    let start = 0;
    for (let at = 0; at < block.length; at++) {
      const byte = block[at];
      if (byte !== LF && byte !== CR) continue;
      if (at > start) this.#hold(block, start, at);
      this.#finishHeldLine();
      if (byte === CR && block[at + 1] === LF) at++;
      start = at + 1;
    }
  }

  /** Reads the line in `text` from `start` to `end`. `plain` says that a character may be counted as one byte. */
  #readLine(text: string, start: number, end: number, plain: boolean): void {
    // The three common fields without cutting out their names.
    if (text.startsWith('data:', start)) this.#addData(fieldValue(text, start + 5, end), plain);
    else if (text.startsWith('event:', start)) this.#event = fieldValue(text, start + 6, end);
    else if (text.startsWith('id:', start)) this.#setId(fieldValue(text, start + 3, end));
    else if (text.charCodeAt(start) === COLON) this.#sink.comment?.();
    else this.#readRareField(text.slice(start, end), plain);
  }

  #readRareField(line: string, plain: boolean): void {
    if (line === 'data') this.#addData('', plain);
    else if (line === 'event') this.#event = '';
    else if (line === 'id') this.#setId('');
    else if (line.startsWith('retry:')) {
      const value = fieldValue(line, 6, line.length);
      if (DIGITS.test(value)) this.#retryMs = Number(value);
    }
  }

  #setId(value: string): void {
    if (!value.includes('\0')) this.#id = value;
  }

  #addData(value: string, plain: boolean): void {
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    this.#dataBytes += (plain ? value.length : Buffer.byteLength(value)) + LINE_COST_BYTES;
  }

  #finishEvent(): void {
    const data = this.#data;
    this.#skipping = false;
    if (this.#id !== undefined) this.#lastEventId = this.#id;
    if (data !== undefined && data !== '') this.#dispatch(data, false);
    this.#reset();
  }

  #dispatch(data: string, unterminated: boolean): void {
    this.#lastEventId = this.#id;
    this.#sink.event({ data, event: this.#event || 'message', id: this.#id, unterminated });
  }

  #reset(): void {
    this.#data = undefined;
    this.#dataBytes = 0;
    this.#event = '';
  }

  #skipEvent(): void {
    this.#reset();
    this.#line.take();
    this.#skipping = true;
    const message = `Cannot read an event: it exceeds ${this.#maxEventBytes} bytes; raise maxEventBytes to accept it`;
    this.#sink.error(new McpError('EVENT_TOO_LONG', message));
  }
}

/**
 * Writes one event.
 *
 * @throws TypeError when a field holds what the format cannot carry: a line end in `id` or `event`, NUL in `id`, a
 * `retry` that is no non-negative integer.
 */
export function encodeEvent(fields: SseFields): string {
  const { data, id, event, retry } = fields;
  let text = '';
  if (event !== undefined) text += `event: ${oneLine('event', event)}\n`;
  if (id !== undefined) {
    if (id.includes('\0')) throw new TypeError('id of an event must not contain NUL');
    text += `id: ${oneLine('id', id)}\n`;
  }
  if (retry !== undefined) {
    if (!Number.isSafeInteger(retry) || retry < 0) {
      throw new TypeError('retry of an event must be a non-negative integer of milliseconds');
    }
    text += `retry: ${retry}\n`;
  }
  if (!LINE_END.test(data)) return `${text}data: ${data}\n\n`;
  for (const line of data.split(LINE_END)) text += `data: ${line}\n`;
  return `${text}\n`;
}

function oneLine(name: string, value: string): string {
  if (LINE_END.test(value)) throw new TypeError(`${name} of an event must be one line`);
  return value;
}

/** The value behind a colon, without the one space that may follow it. */
function fieldValue(text: string, start: number, end: number): string {
  return text.slice(text.charCodeAt(start) === SPACE ? start + 1 : start, end);
}

function slice(bytes: Buffer, start: number, end: number): Buffer {
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
}

/** The last byte is nearly always the one: looking there first saves two searches. */
function lastLineEnd(bytes: Buffer): number {
  const last = bytes.length - 1;
  if (bytes[last] === LF || bytes[last] === CR) return last;
  return Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR));
}

/** Where the line that begins at `start` ends. */
function firstLineEnd(bytes: Buffer, start: number): number {
  const lf = bytes.indexOf(LF, start);
  const end = lf === -1 ? bytes.length : lf;
  const cr = bytes.subarray(start, end).indexOf(CR);
  return cr === -1 ? end : start + cr;
}

function nextIndex(text: string, what: string, from: number): number {
  const index = text.indexOf(what, from);
  return index === -1 ? Number.POSITIVE_INFINITY : index;
}

/** Only an object or an array: a prefix of one is never whole, while 12 may be what is left of 123. */
function isWholeJson(data: string): boolean {
  if (!/^\s*[[{]/.test(data)) return false;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}
