import type { Buffer } from 'node:buffer';
import type { Writable } from 'node:stream';
import { McpError } from '../jsonrpc/index.ts';

/** A stream that may be a terminal. */
export type Terminal = Writable & { isTTY?: boolean; columns?: number };

/**
 * Writes to the standard streams of this process. What was written has left it when `write` resolves, so none of it is
 * cut by the end of the process. A reader that went away, as `head` does, is no error: the rest is dropped.
 *
 * `print` and `printJson` reject with an McpError when the output cannot be written.
 */
export class Output {
  readonly #out: Terminal;
  readonly #err: Terminal;

  constructor(out: Terminal, err: Terminal) {
    this.#out = out;
    this.#err = err;
    // Whoever writes is told; that a stream has broken is no news beside that.
    for (const stream of [out, err]) stream.on('error', () => {});
  }

  /** How many characters fit in a line; Infinity where nobody looks. */
  get columns(): number {
    // A terminal that was never told its size says 0.
    return this.#out.isTTY ? this.#out.columns || 80 : Number.POSITIVE_INFINITY;
  }

  get isTerminal(): boolean {
    return this.#out.isTTY === true;
  }

  /** Bytes as they are; a terminal gets text alone, without the control characters that could take it over. */
  printBytes(bytes: Buffer, isText: boolean): Promise<void> {
    return isText && this.isTerminal ? this.print(bytes.toString()) : write(this.#out, bytes);
  }

  /** Whether notes are shown to somebody at once. */
  get showsNotes(): boolean {
    return this.#err.isTTY === true;
  }

  /** Text for people or pipes. A terminal gets it without the control characters that could take it over. */
  print(text: string): Promise<void> {
    const shown = this.#out.isTTY ? withoutControls(text) : text;
    return write(this.#out, shown.endsWith('\n') ? shown : `${shown}\n`);
  }

  printJson(value: unknown): Promise<void> {
    return write(this.#out, `${JSON.stringify(value, null, 2)}\n`);
  }

  /** A line about what is going on, for people. */
  note(text: string): void {
    // There is nobody left to tell when that fails.
    write(this.#err, `${withoutControls(text)}\n`).catch(() => {});
  }
}

function write(stream: Writable, data: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    if (stream.destroyed || !stream.writable) {
      resolve();
      return;
    }
    stream.write(data, (error) => {
      if (!error || isClosedPipe(error)) resolve();
      else
        reject(
          new McpError('TRANSPORT_FAILED', `Cannot write the output: ${error.message}`, { cause: error }),
        );
    });
  });
}

function isClosedPipe(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED';
}

/** Replaces control characters by their pictures; newlines and tabs stay. */
function withoutControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (control) => {
    const code = control.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\u2421';
  });
}
