import { Buffer, constants, isAscii, isUtf8 } from 'node:buffer';
import { McpError } from './error.ts';
import { preview } from './preview.ts';

/** Receives what a {@link LineDecoder} reads, in the order of the bytes. Neither method may throw. */
export interface LineSink {
  /** One line that is JSON. Whether it is a JSON-RPC message is for `classify` to say. */
  message(value: unknown): void;
  /** One line that was skipped: `LINE_TOO_LONG`, `INVALID_UTF8` or `INVALID_JSON`. Reading goes on behind it. */
  error(error: McpError): void;
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

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = 0xfeff;
const REPLACEMENT = '\ufffd';
/** A line of JSON whitespace alone; other blanks, such as U+00A0, are no JSON and make a bad line. */
const BLANK = /^[ \t\r]*$/;
/** From this length on, looking for bytes beyond ASCII costs less than it saves: without any, decoding is copying. */
const LONG_TEXT_BYTES = 2048;
const FIRST_BUFFER_BYTES = 4096;
/** A longer buffer is given back after its line: one long line must not pin its memory for the connection's life. */
const KEPT_BUFFER_BYTES = 1024 * 1024;

/**
 * Reads newline-delimited JSON from bytes. Only 0x0A ends a line; a CR before it, blank lines and one byte order
 * mark at the very start are tolerated. A bad line is reported and skipped and never costs its neighbours.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
export class LineDecoder {
  readonly #sink: LineSink;
  readonly #maxLineBytes: number;
  // The unfinished line: the first #length bytes of #partial, which doubles as it fills up.
  #partial = Buffer.allocUnsafe(0);
  #length = 0;
  #skipping = false;
  #atStart = true;

  constructor(sink: LineSink, options: LineDecoderOptions = {}) {
    const { maxLineBytes = DEFAULT_MAX_LINE_BYTES } = options;
    if (!(maxLineBytes > 0)) throw new TypeError('maxLineBytes must be a positive number of bytes');
    this.#sink = sink;
    this.#maxLineBytes = Math.min(maxLineBytes, constants.MAX_STRING_LENGTH);
  }

  /** Takes the next bytes. The chunk is not kept: its owner may reuse it when this returns. */
  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const last = bytes.lastIndexOf(NEWLINE);
    if (last === -1) {
      this.#hold(bytes);
      return;
    }
    let start = 0;
    if (this.#length > 0 || this.#skipping) {
      start = bytes.indexOf(NEWLINE) + 1;
      this.#hold(bytes.subarray(0, start - 1));
      this.#finishHeldLine();
    }
    if (start <= last) this.#readLines(bytes.subarray(start, last));
    if (last + 1 < bytes.length) this.#hold(bytes.subarray(last + 1));
  }

  /** Takes the end of input: an unterminated last line is delivered if it is JSON, else reported. */
  end(): void {
    if (this.#length > 0) this.#finishHeldLine();
    this.#skipping = false;
  }

  #hold(bytes: Buffer): void {
    if (this.#skipping || bytes.length === 0) return;
    const length = this.#length + bytes.length;
    if (length > this.#maxLineBytes) {
      // A CR before the newline is no part of the line, so exactly one byte more may still turn out to be one.
      const onlyCarriageReturn = length === this.#maxLineBytes + 1 && bytes.at(-1) === CARRIAGE_RETURN;
      if (!onlyCarriageReturn) {
        this.#skipping = true;
        this.#release();
        this.#reportTooLong();
        return;
      }
    }
    if (length > this.#partial.length) {
      const doubled = Math.min(this.#partial.length * 2, this.#maxLineBytes);
      const grown = Buffer.allocUnsafe(Math.max(length, doubled, FIRST_BUFFER_BYTES));
      this.#partial.copy(grown, 0, 0, this.#length);
      this.#partial = grown;
    }
    bytes.copy(this.#partial, this.#length);
    this.#length = length;
  }

  #finishHeldLine(): void {
    const skipped = this.#skipping;
    const line = this.#partial.subarray(0, this.#length);
    this.#skipping = false;
    this.#length = 0;
    if (skipped) this.#atStart = false;
    else this.#readLine(line);
    if (this.#partial.length > KEPT_BUFFER_BYTES) this.#release();
  }

  #release(): void {
    this.#partial = Buffer.allocUnsafe(0);
    this.#length = 0;
  }

  /** The hot path: a block of whole lines is decoded at once and cut as a string. */
  #readLines(block: Buffer): void {
    if (block.length > this.#maxLineBytes) {
      this.#readEachLine(block);
      return;
    }
    const text = decode(block, block.length);
    if (text.includes(REPLACEMENT)) {
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

  #readEachLine(block: Buffer): void {
    let start = 0;
    for (let end = block.indexOf(NEWLINE); end !== -1; end = block.indexOf(NEWLINE, start)) {
      this.#readLine(block.subarray(start, end));
      start = end + 1;
    }
    this.#readLine(block.subarray(start));
  }

  #readLine(line: Buffer): void {
    const length = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length;
    if (length > this.#maxLineBytes) {
      this.#atStart = false;
      this.#reportTooLong();
      return;
    }
    const text = decode(line, length);
    if (text.includes(REPLACEMENT) && !isUtf8(line)) {
      this.#atStart = false;
      this.#sink.error(new McpError('INVALID_UTF8', `Cannot read a line: it is not UTF-8: ${preview(text)}`));
      return;
    }
    this.#parse(text);
  }

  #parse(line: string): void {
    let text = line;
    if (this.#atStart) {
      this.#atStart = false;
      if (text.charCodeAt(0) === BYTE_ORDER_MARK) text = text.slice(1);
    }
    if (text === '') return;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      if (BLANK.test(text)) return;
      this.#sink.error(
        new McpError('INVALID_JSON', `Cannot read a line: it is not JSON: ${preview(text)}`, { cause }),
      );
      return;
    }
    this.#sink.message(value);
  }

  #reportTooLong(): void {
    this.#sink.error(
      new McpError(
        'LINE_TOO_LONG',
        `Cannot read a line: it exceeds ${this.#maxLineBytes} bytes; raise maxLineBytes to accept it`,
      ),
    );
  }
}

function decode(bytes: Buffer, length: number): string {
  const isPlain = length >= LONG_TEXT_BYTES && isAscii(bytes);
  return bytes.toString(isPlain ? 'latin1' : 'utf8', 0, length);
}

/**
 * Writes one message as one line, newline included.
 *
 * @throws TypeError when the message holds what JSON cannot: a cycle or a BigInt.
 */
export function encodeLine(message: object): string {
  return `${JSON.stringify(message)}\n`;
}
