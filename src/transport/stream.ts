import type { Readable, Writable } from 'node:stream';
import {
  encodeLine,
  type JsonRpcMessage,
  LineDecoder,
  type LineDecoderOptions,
  McpError,
} from '../jsonrpc/index.ts';
import type { Transport, TransportSink } from './transport.ts';

/** How many bytes may wait in the output before the sender is asked to wait. */
const HIGH_WATER_BYTES = 1024 * 1024;
/** A line longer than this is written by itself rather than joined with others. */
const JOIN_LIMIT_CHARS = 64 * 1024;
/** How long closing waits for the output to drain before it is cut. */
const CLOSE_GRACE_MS = 3000;

export interface StreamOptions extends LineDecoderOptions {
  /** What is at the other end, for error messages. Default "stream". */
  name?: string;
  /**
   * Whether reading stops while the output is full. Right for a server: a client that does not read its answers
   * cannot make them pile up. Wrong for a client: two ends that both stop would wait for each other. Default false.
   */
  pauseWhenFull?: boolean;
}

/**
 * Newline-delimited JSON over any pair of streams: a process's standard streams, a socket (given twice), a pipe.
 * Messages of one tick leave in one write. Closing ends the output and stops reading; it destroys the input only.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
export class StreamTransport implements Transport {
  readonly name: string;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #options: StreamOptions;
  #sink: TransportSink | undefined;
  #state: 'new' | 'open' | 'closed' = 'new';
  #batch: string[] = [];
  #batchChars = 0;
  #room: { promise: Promise<void>; resolve: () => void } | undefined;

  constructor(input: Readable, output: Writable, options: StreamOptions = {}) {
    this.#input = input;
    this.#output = output;
    this.#options = options;
    this.name = options.name ?? 'stream';
  }

  async start(sink: TransportSink): Promise<void> {
    if (this.#state !== 'new')
      throw new McpError('CLOSED', `Cannot start "${this.name}": it was started before`);
    this.#state = 'open';
    this.#sink = sink;
    const decoder = new LineDecoder(sink, this.#options);
    this.#input.on('data', (chunk: Buffer | string) => {
      if (this.#state === 'open') decoder.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    });
    this.#input.on('end', () => {
      if (this.#state === 'open') decoder.end();
      this.#end(new McpError('CLOSED', `"${this.name}" closed its output`));
    });
    this.#input.on('close', () => this.#end(new McpError('CLOSED', `"${this.name}" closed the connection`)));
    this.#input.on('error', (cause) => this.#end(failure(`Cannot read from "${this.name}"`, cause)));
    this.#output.on('error', (cause) => this.#end(failure(`Cannot write to "${this.name}"`, cause)));
    this.#output.on('close', () => this.#releaseRoom());
  }

  send(message: JsonRpcMessage): void | Promise<void> {
    if (this.#state !== 'open') throw new McpError('CLOSED', `Cannot send to "${this.name}": it is closed`);
    const line = encodeLine(message);
    // After the microtasks of this turn: all that they send leaves in one write.
    if (this.#batch.length === 0) process.nextTick(() => this.#flush());
    this.#batch.push(line);
    this.#batchChars += line.length;
    if (this.#room) return this.#room.promise;
    if (this.#batchChars + this.#output.writableLength >= HIGH_WATER_BYTES) return this.#waitForRoom();
  }

  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    this.#flush();
    this.#end();
    this.#input.destroy();
    if (this.#output.destroyed || this.#output.writableFinished) return;
    await new Promise<void>((resolve) => {
      // An end that nobody reads must not hold the caller for ever.
      const timer = setTimeout(() => this.#output.destroy(), CLOSE_GRACE_MS);
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#output.once('close', done);
      this.#output.end(done);
    });
  }

  #flush(): void {
    const lines = this.#batch;
    if (lines.length === 0 || this.#output.destroyed || this.#output.writableEnded) return;
    this.#batch = [];
    if (this.#batchChars <= JOIN_LIMIT_CHARS || lines.length === 1) {
      this.#output.write(lines.length === 1 ? lines[0] : lines.join(''));
    } else {
      this.#output.cork();
      for (const line of lines) this.#output.write(line);
      this.#output.uncork();
    }
    this.#batchChars = 0;
  }

  #waitForRoom(): Promise<void> {
    let resolve = () => {};
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    this.#room = { promise, resolve };
    if (this.#options.pauseWhenFull) this.#input.pause();
    process.nextTick(() => {
      if (!this.#output.writableNeedDrain) this.#releaseRoom();
      else this.#output.once('drain', () => this.#releaseRoom());
    });
    return promise;
  }

  #releaseRoom(): void {
    const room = this.#room;
    if (!room) return;
    this.#room = undefined;
    if (this.#options.pauseWhenFull) this.#input.resume();
    room.resolve();
  }

  #end(reason?: McpError): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#releaseRoom();
    this.#sink?.close(reason);
  }
}

function failure(what: string, cause: Error): McpError {
  return new McpError('TRANSPORT_FAILED', `${what}: ${cause.message}`, { cause });
}
