import { type Buffer, constants } from 'node:buffer';
import { McpError } from './error.ts';
import { FaultRun } from './fault-run.ts';
import { HEAD_CHARS, LongLine, type LostMessage } from './lost-message.ts';
import { positive } from './option.ts';
import { preview } from './preview.ts';
import { decodeUtf8, Utf8Text, viewOf } from './utf8-text.ts';

/** Receives what a {@link LineDecoder} reads, in the order of the bytes. No method may throw. */
export interface LineSink {
  /** One line that is JSON. Whether it is a JSON-RPC message is for `classify` to say. */
  message(value: unknown): void;
  /**
   * One line that was skipped: `LINE_TOO_LONG`, `INVALID_UTF8` or `INVALID_JSON`. Reading goes on behind it. Of bad lines
   * in a row the first 32 are told one by one, and of the others how many there were.
   *
   * @param lost Which message it was, where a line that was too long still tells so.
   */
  error(error: McpError, lost?: LostMessage): void;
  /**
   * Called once, when the last `bytes` held no message: 256 MiB, or four times the longest accepted line where that is
   * more. Nothing worth reading is to be expected.
   */
  flood?(bytes: number): void;
}

export interface LineDecoderOptions {
  /**
   * The longest accepted line, in bytes without its newline. A longer one is skipped with one `LINE_TOO_LONG`
   * error and is not buffered. Default 67108864 (64 MiB); never above the longest string this runtime can hold.
   */
  maxLineBytes?: number;
}

/** The default of {@link LineDecoderOptions.maxLineBytes}: 64 MiB. */
export const DEFAULT_MAX_LINE_BYTES = 64 * 1024 * 1024;

/** See {@link LineSink.flood}. */
const MAX_IDLE_BYTES = 256 * 1024 * 1024;
const MAX_IDLE_LINES = 4;

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = 0xfeff;
/** A line of JSON whitespace alone; other blanks, such as U+00A0, are no JSON and make a bad line. */
const BLANK = /^[ \t\r]*$/;
/** Whatever is JSON begins like this: what does not is told from it without the cost of an exception. */
const MAY_BE_JSON =
  /^[ \t\r]*(?:\{[ \t\r]*["}]|\[[ \t\r]*[\]{["\-\dtfn]|"|-?\d[\d.eE+-]*[ \t\r]*$|(?:true|false|null)[ \t\r]*$)/;
/** Up to this many bytes are looked at one by one: cheaper than searching a chunk. */
const SMALL_CHUNK_BYTES = 16;

/**
 * Reads newline-delimited JSON from bytes. Only 0x0A ends a line; a CR before it, blank lines and one byte order
 * mark at the very start are tolerated. A bad line is reported and skipped and never costs its neighbours.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
export class LineDecoder {
  readonly #sink: LineSink;
  readonly #maxLineBytes: number;
  readonly #maxIdleBytes: number;
  /** The unfinished line. */
  readonly #line = new Utf8Text();
  /** The line that is skipped. */
  #long: LongLine | undefined;
  /** Bad lines since the last message. */
  readonly #faults = new FaultRun((lines) => this.#reportMore(lines));
  /** What came since the last message, in chunks that are not small: those are no flood. */
  #idleBytes = 0;
  #atStart = true;

  constructor(sink: LineSink, options: LineDecoderOptions = {}) {
    const { maxLineBytes = DEFAULT_MAX_LINE_BYTES } = options;
    positive('maxLineBytes', maxLineBytes, 'bytes');
    this.#sink = sink;
    this.#maxLineBytes = Math.min(maxLineBytes, constants.MAX_STRING_LENGTH);
    this.#maxIdleBytes = Math.max(MAX_IDLE_BYTES, MAX_IDLE_LINES * this.#maxLineBytes);
  }

  /** Takes the next bytes. The chunk is not kept: its owner may reuse it when this returns. */
  push(chunk: Uint8Array): void {
    if (chunk.length <= SMALL_CHUNK_BYTES) {
      this.#pushSmall(chunk);
      return;
    }
    this.#idleBytes += chunk.length;
    this.#pushLarge(viewOf(chunk));
    if (this.#idleBytes > this.#maxIdleBytes) this.#giveUp();
  }

  /** Takes the end of input: an unterminated last line is delivered if it is JSON, else reported. */
  end(): void {
    if (this.#line.byteLength > 0) this.#finishLine();
    if (this.#long?.isUndecided) this.#reportTooLong(undefined);
    this.#long = undefined;
    this.#faults.end();
  }

  #pushSmall(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number; // In range, by the loop's condition.
      if (byte === NEWLINE) this.#finishLine();
      else if (!this.#holdByte(byte)) this.#hold(viewOf(chunk).subarray(at, at + 1));
    }
  }

  /** The same as `#hold`, without its cost. False where the line has no room, or may get too long. */
  #holdByte(byte: number): boolean {
    return !this.#long && this.#line.byteLength < this.#maxLineBytes && this.#line.pushByte(byte);
  }

  #pushLarge(bytes: Buffer): void {
    const last = bytes.lastIndexOf(NEWLINE);
    if (last === -1) {
      this.#hold(bytes);
      return;
    }
    let start = 0;
    if (this.#line.byteLength > 0 || this.#long) {
      start = bytes.indexOf(NEWLINE) + 1;
      this.#hold(bytes.subarray(0, start - 1));
      this.#finishLine();
    }
    if (start <= last) this.#readLines(bytes.subarray(start, last));
    if (last + 1 < bytes.length) this.#hold(bytes.subarray(last + 1));
  }

  #hold(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#long) {
      this.#long.push(bytes);
      return;
    }
    const length = this.#line.byteLength + bytes.length;
    // A CR before the newline is no part of the line, so exactly one byte more may still turn out to be one.
    const excess = length - this.#maxLineBytes - (bytes.at(-1) === CARRIAGE_RETURN ? 1 : 0);
    if (excess > 0) this.#skip(bytes);
    else this.#line.push(bytes);
  }

  #skip(bytes: Buffer): void {
    const { text } = this.#line.take();
    const head = text.slice(0, HEAD_CHARS) + bytes.toString('utf8', 0, HEAD_CHARS - text.length);
    const long = new LongLine(head);
    long.push(bytes);
    this.#long = long;
    if (!long.isUndecided) this.#reportTooLong(long.lostByHead);
  }

  #finishLine(): void {
    const long = this.#long;
    if (long) {
      this.#long = undefined;
      this.#atStart = false;
      if (long.isUndecided) this.#reportTooLong(long.lostByTail);
      return;
    }
    const { text, isUtf8 } = this.#line.take();
    if (isUtf8) this.#parse(text);
    else this.#reportNotUtf8(text);
  }

  /** The hot path: a block of whole lines is decoded at once and cut as a string. */
  #readLines(block: Buffer): void {
    const text = block.length > this.#maxLineBytes ? undefined : decodeUtf8(block);
    if (text === undefined) {
      this.#readEachLine(block);
      return;
    }
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.#parse(text.slice(start, end));
      start = end + 1;
    }
    this.#parse(start === 0 ? text : text.slice(start));
  }

  /** The same with every line by itself, for what comes near the limit or is not UTF-8. */
  #readEachLine(block: Buffer): void {
    let start = 0;
    for (let end = block.indexOf(NEWLINE); end !== -1; end = block.indexOf(NEWLINE, start)) {
      this.#hold(block.subarray(start, end));
      this.#finishLine();
      start = end + 1;
    }
    this.#hold(block.subarray(start));
    this.#finishLine();
  }

  #parse(line: string): void {
    let text = line;
    if (this.#atStart) {
      this.#atStart = false;
      if (text.charCodeAt(0) === BYTE_ORDER_MARK) text = text.slice(1);
    }
    if (text === '') return;
    if (!this.#faults.tellsNext && !MAY_BE_JSON.test(text)) {
      this.#reportNotJson(text, undefined);
      return;
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      this.#reportNotJson(text, cause);
      return;
    }
    this.#faults.end();
    this.#idleBytes = 0;
    this.#sink.message(value);
  }

  #reportNotJson(text: string, cause: unknown): void {
    if (BLANK.test(text)) return;
    if (this.#faults.count()) return;
    const message = `Cannot read a line: it is not JSON: ${preview(text)}`;
    this.#sink.error(new McpError('INVALID_JSON', message, { cause }));
  }

  #reportNotUtf8(text: string): void {
    this.#atStart = false;
    if (this.#faults.count()) return;
    this.#sink.error(new McpError('INVALID_UTF8', `Cannot read a line: it is not UTF-8: ${preview(text)}`));
  }

  #reportTooLong(lost: LostMessage | undefined): void {
    const message = `Cannot read a line: it exceeds ${this.#maxLineBytes} bytes; raise maxLineBytes to accept it`;
    this.#sink.error(new McpError('LINE_TOO_LONG', message), lost);
  }

  #reportMore(lines: number): void {
    this.#sink.error(
      new McpError('INVALID_JSON', `Cannot read ${lines} more lines in a row: they are not JSON`),
    );
  }

  #giveUp(): void {
    const bytes = this.#idleBytes;
    this.#idleBytes = Number.NEGATIVE_INFINITY;
    this.#sink.flood?.(bytes);
  }
}

/**
 * Writes one message as one line, newline included.
 *
 * @throws TypeError when the message holds what JSON cannot: a cycle or a BigInt.
 */
export function encodeLine(message: object): string {
  return `${JSON.stringify(message)}\n`;
}
