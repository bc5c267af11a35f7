import { StringDecoder } from 'node:string_decoder';

/** A line that grows longer than this is handed over in pieces. */
const MAX_LINE_CHARS = 64 * 1024;
/** How much of the end is kept for error messages. */
const TAIL_CHARS = 8 * 1024;

/** Takes what a server writes to its stderr: cuts it into lines and remembers the end of it. */
export class StderrReader {
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #decoder = new StringDecoder('utf8');
  #tail = '';
  #partial = '';

  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** The last 8192 UTF-16 units, from the start of a line where that is possible. */
  get tail(): string {
    if (this.#tail.length < TAIL_CHARS) return this.#tail;
    return this.#tail.slice(this.#tail.indexOf('\n') + 1);
  }

  push(chunk: Uint8Array): void {
    this.#take(this.#decoder.write(chunk));
  }

  end(): void {
    this.#take(this.#decoder.end());
    if (this.#partial !== '') this.#deliver(this.#partial);
    this.#partial = '';
  }

  #take(text: string): void {
    this.#tail = (this.#tail + text).slice(-TAIL_CHARS);
    if (!this.#onLine) return;
    const lines = (this.#partial + text).split('\n');
    this.#partial = lines.pop() ?? '';
    for (const line of lines) this.#deliver(line);
    if (this.#partial.length > MAX_LINE_CHARS) {
      this.#deliver(this.#partial);
      this.#partial = '';
    }
  }

  #deliver(line: string): void {
    this.#onLine?.(line.endsWith('\r') ? line.slice(0, -1) : line);
  }
}
