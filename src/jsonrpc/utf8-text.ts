import { Buffer, isAscii, isUtf8, transcode } from 'node:buffer';

/** What was taken from a {@link Utf8Text}. */
export interface TakenText {
  readonly text: string;
  /** Whether the bytes were UTF-8. Where they were not, the text has U+FFFD in their place. */
  readonly isUtf8: boolean;
}

const STREAM_DECODER = new TextDecoder('utf-8', { ignoreBOM: true });
const STREAMING = { stream: true };
/** From this length on, converting to UTF-16 is quicker than the decoder. */
const LONG_TEXT_BYTES = 2048;
/** A piece of at least this length is decoded without a copy in the block. */
const LONG_PIECE_BYTES = 2048;
const FIRST_BLOCK_BYTES = 512;
const LAST_BLOCK_BYTES = 64 * 1024;
const NO_BLOCK = Buffer.alloc(0);

/**
 * Text that comes in pieces of UTF-8, cut anywhere. It is decoded as it comes: of a long text there is never a copy in
 * bytes beside the one in characters. What is pushed is not kept.
 */
export class Utf8Text {
  #text = '';
  #isUtf8 = true;
  #byteLength = 0;
  // What is yet to be decoded: the first #held bytes of a block, which doubles as it fills up and serves the next text too.
  #block = NO_BLOCK;
  #held = 0;

  /** How many bytes it has. */
  get byteLength(): number {
    return this.#byteLength;
  }

  push(bytes: Buffer): void {
    this.#byteLength += bytes.length;
    let read = this.#held === 0 && bytes.length >= LONG_PIECE_BYTES ? this.#decode(bytes) : 0;
    while (this.#held + bytes.length - read > LAST_BLOCK_BYTES) {
      read += this.#hold(bytes, read);
      const decoded = this.#decode(this.#block);
      this.#held = this.#block.copy(this.#block, 0, decoded);
    }
    if (read < bytes.length) this.#hold(bytes, read);
  }

  /** Takes one byte where there is room for it: the same as `push`, without its cost. */
  pushByte(byte: number): boolean {
    if (this.#held === this.#block.length) return false;
    this.#block[this.#held++] = byte;
    this.#byteLength++;
    return true;
  }

  /** Returns what was pushed, and begins anew. */
  take(): TakenText {
    if (this.#held > 0) this.#append(this.#block.subarray(0, this.#held));
    const taken = { text: this.#text, isUtf8: this.#isUtf8 };
    this.#text = '';
    this.#isUtf8 = true;
    this.#byteLength = 0;
    this.#held = 0;
    return taken;
  }

  /** Puts as many bytes into the block as it can have, and returns how many these are. */
  #hold(bytes: Buffer, from: number): number {
    const wanted = Math.min(this.#held + bytes.length - from, LAST_BLOCK_BYTES);
    if (wanted > this.#block.length) {
      const doubled = Math.min(this.#block.length * 2, LAST_BLOCK_BYTES);
      const grown = Buffer.allocUnsafe(Math.max(wanted, doubled, FIRST_BLOCK_BYTES));
      this.#block.copy(grown, 0, 0, this.#held);
      this.#block = grown;
    }
    const copied = bytes.copy(this.#block, this.#held, from);
    this.#held += copied;
    return copied;
  }

  /** Decodes the whole characters, and returns how many bytes they took. */
  #decode(bytes: Buffer): number {
    const end = endOfWholeCharacters(bytes);
    this.#append(end === bytes.length ? bytes : bytes.subarray(0, end));
    return end;
  }

  #append(bytes: Buffer): void {
    const text = decodeUtf8(bytes);
    if (text === undefined) this.#isUtf8 = false;
    const piece = text ?? bytes.toString('utf8');
    this.#text = this.#text === '' ? piece : this.#text + piece;
  }
}

/**
 * The text of bytes; undefined when they are not UTF-8. ASCII is copied. Other text is decoded two to five times as fast
 * as by `toString`: the decoder is quick in its stream mode, and valid text leaves no state behind in it.
 */
export function decodeUtf8(bytes: Buffer): string | undefined {
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes)) return undefined;
  if (bytes.length < LONG_TEXT_BYTES) return STREAM_DECODER.decode(bytes, STREAMING);
  return transcode(bytes, 'utf8', 'utf16le').toString('utf16le');
}

/** Where the last character begins, if more of it may come; else the end. */
function endOfWholeCharacters(bytes: Buffer): number {
  const { length } = bytes;
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back] as number; // In range, by the loop's condition.
    if (byte < 0x80) return length;
    if (byte >= 0xc0) return charBytes(byte) > back ? length - back : length;
  }
  return length;
}

/** How many bytes a character has, by its first one. */
function charBytes(first: number): number {
  if (first >= 0xf0) return 4;
  return first >= 0xe0 ? 3 : 2;
}

/** The same bytes, seen as a Buffer. */
export function viewOf(chunk: Uint8Array): Buffer {
  return chunk instanceof Buffer ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}
