import { finished, type Readable, type Writable } from 'node:stream';
import {
  DEFAULT_MAX_LINE_BYTES,
  encodeLine,
  type JsonRpcMessage,
  LineDecoder,
  type LineDecoderOptions,
  McpError,
} from '../jsonrpc/index.ts';
import { positive } from '../jsonrpc/option.ts';
import type { Transport, TransportSink } from './transport.ts';
import { createDeferred, type Deferred, resolvesWithin } from './wait.ts';

/** The default of {@link StreamOptions.maxBufferedBytes}: 256 MiB. */
export const DEFAULT_MAX_BUFFERED_BYTES = 256 * 1024 * 1024;

/** How much may wait in the output before the sender is asked to wait. */
const HIGH_WATER_CHARS = 1024 * 1024;
/** Lines are joined up to this length and cut above it, so that a draining output is seen to make progress. */
const BLOCK_CHARS = 256 * 1024;
/** How long closing waits for an output that makes no progress before it is cut. */
const STALLED_MS = 3000;
/** How long what the other end sent before it stopped reading is still read. */
const DRAIN_MS = 250;
/** How long a closed socket waits for the other end to close it too: unread data would reset it and cost our last lines. */
const LINGER_MS = 500;
/** After this much work on what was read, in milliseconds, everything else gets its turn. */
const MAX_BURST_MS = 5;
/** Shorter chunks are not worth looking at the clock: who sends them is not ahead of us. */
const LARGE_CHUNK_BYTES = 4096;

export interface StreamOptions extends LineDecoderOptions {
  /** What is at the other end, for error messages. Default "stream". */
  name?: string;
  /**
   * Whether reading stops while the output is full. Right for a server: a client that does not read its answers
   * cannot make them pile up. Wrong for a client: two ends that both stop would wait for each other. Default false.
   */
  pauseWhenFull?: boolean;
  /**
   * How much may wait for an end that does not read, counted in UTF-16 units for what is not yet written. One message
   * more is refused with `TRANSPORT_FAILED`. Default 268435456 (256 MiB); `Infinity` means no bound.
   */
  maxBufferedBytes?: number;
}

/**
 * Fills in the defaults.
 *
 * @throws TypeError when an option makes no sense.
 */
export function withDefaults(options: StreamOptions): Required<StreamOptions> {
  const {
    name = 'stream',
    pauseWhenFull = false,
    maxBufferedBytes = DEFAULT_MAX_BUFFERED_BYTES,
    maxLineBytes = DEFAULT_MAX_LINE_BYTES,
  } = options;
  positive('maxBufferedBytes', maxBufferedBytes, 'bytes');
  positive('maxLineBytes', maxLineBytes, 'bytes');
  return { name, pauseWhenFull, maxBufferedBytes, maxLineBytes };
}

/**
 * Newline-delimited JSON over any pair of streams: a process's standard streams, a socket (given twice), a pipe.
 * Messages of one tick leave in one write. The streams belong to the transport from here on: whoever ends the
 * channel, the output is flushed and ended and the input destroyed.
 *
 * When the output breaks first, what the other end had sent by then is still delivered before the channel closes. An end
 * that sends 256 MiB without a message among them, or four times `maxLineBytes` where that is more, is given up with
 * `TRANSPORT_FAILED`.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
export class StreamTransport implements Transport {
  readonly name: string;
  readonly joinsMessages = true;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #decoder: LineDecoder;
  readonly #pauseWhenFull: boolean;
  readonly #maxBuffered: number;
  #sink: TransportSink | undefined;
  /** `broken`: nothing can be written any more, but reading goes on for {@link DRAIN_MS}. */
  #state: 'new' | 'open' | 'broken' | 'closed' = 'new';
  /** The input has ended, and the sink still sends. */
  #isHalfOpen = false;
  #failure: McpError | undefined;
  #isFlooded = false;
  /** Work on large chunks since the last rest. */
  #burstMs = 0;
  #isResting = false;
  #drainTimer: NodeJS.Timeout | undefined;
  #queue: string[] = [];
  #queuedChars = 0;
  #room: Deferred<void> | undefined;
  #refusal: Deferred<McpError> | undefined;
  #closing: Promise<void> | undefined;

  /** @throws TypeError when an option makes no sense. */
  constructor(input: Readable, output: Writable, options: StreamOptions = {}) {
    const { name, pauseWhenFull, maxBufferedBytes, maxLineBytes } = withDefaults(options);
    this.name = name;
    this.#input = input;
    this.#output = output;
    this.#pauseWhenFull = pauseWhenFull;
    this.#maxBuffered = maxBufferedBytes;
    this.#decoder = new LineDecoder(
      {
        message: (value) => {
          if (this.#state !== 'closed') this.#sink?.message(value);
        },
        error: (error, lost) => {
          if (this.#state !== 'closed') this.#sink?.error(error, lost);
        },
        flood: (bytes) => this.#onFlood(bytes),
      },
      { maxLineBytes },
    );
    // From here on and for good: an 'error' event that nobody hears would end the process.
    input.on('error', (cause) => this.#end(failed(`Cannot read from "${name}"`, cause)));
    output.on('error', (cause) => this.#break(failed(`Cannot write to "${name}"`, cause)));
    input.on('close', () => {
      if (!this.#isHalfOpen) this.#end(closed(`"${name}" closed the connection`));
    });
    output.on('close', () => this.#break(closed(`"${name}" stopped reading`)));
    output.on('drain', () => this.#pump());
  }

  async start(sink: TransportSink): Promise<void> {
    if (this.#state !== 'new') {
      throw this.#failure ?? closed(`Cannot start "${this.name}": it was started or closed before`);
    }
    if (this.#input.readableEnded || this.#input.destroyed || !this.#output.writable) {
      throw closed(`Cannot start "${this.name}": a stream has ended before`);
    }
    this.#state = 'open';
    this.#sink = sink;
    this.#input.on('end', () => this.#onInputEnd(sink));
    this.#input.on('data', (chunk: Buffer | string) => {
      if (this.#state !== 'closed') this.#read(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    });
  }

  /** Whether it ended because of all that was sent nothing was a message. */
  get isFlooded(): boolean {
    return this.#isFlooded;
  }

  send(message: JsonRpcMessage): void | Promise<void> {
    if (this.#state === 'broken') return this.#refuse();
    if (this.#state !== 'open') throw closed(`Cannot send to "${this.name}": it is not open`);
    const buffered = this.#queuedChars + this.#output.writableLength;
    if (buffered >= this.#maxBuffered) {
      throw new McpError(
        'TRANSPORT_FAILED',
        `Cannot send to "${this.name}": it has not read the last ${buffered} bytes; raise maxBufferedBytes to queue more`,
      );
    }
    const line = encodeLine(message);
    if (this.#queue.length === 0) queueMicrotask(this.#flushAfterMicrotasks);
    this.#queue.push(line);
    this.#queuedChars += line.length;
    if (this.#room) return this.#room.promise;
    if (buffered + line.length >= HIGH_WATER_CHARS) return this.#waitForRoom();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #read(chunk: Buffer): void {
    if (chunk.length < LARGE_CHUNK_BYTES) {
      this.#decoder.push(chunk);
      return;
    }
    const begun = performance.now();
    this.#decoder.push(chunk);
    this.#burstMs += performance.now() - begun;
    if (this.#burstMs >= MAX_BURST_MS) this.#rest();
  }

  /** Many chunks may be read in one turn of the event loop: timers and other connections are not to wait for all. */
  #rest(): void {
    this.#burstMs = 0;
    this.#isResting = true;
    this.#input.pause();
    setImmediate(() => {
      this.#isResting = false;
      this.#resume();
    });
  }

  /** Reads on, unless there is a reason not to. */
  #resume(): void {
    if (!this.#isResting && !(this.#room && this.#pauseWhenFull)) this.#input.resume();
  }

  #onFlood(bytes: number): void {
    this.#isFlooded = true;
    const message = `Gave up "${this.name}": among the last ${bytes} bytes it sent there was no message`;
    this.#end(new McpError('TRANSPORT_FAILED', message));
  }

  // A tick runs once every microtask is done: all that this turn of the event loop sends leaves in one write.
  readonly #flushAfterMicrotasks = (): void => process.nextTick(this.#flush);
  readonly #flush = (): void => this.#pump();

  #pump(): void {
    const output = this.#output;
    while (this.#queue.length > 0 && output.writable && !output.writableNeedDrain) {
      output.write(this.#nextBlock());
    }
    if (this.#queue.length === 0 && !output.writableNeedDrain) this.#releaseRoom();
  }

  /** Takes from the queue what goes out in one write: whole lines, or a piece of one that is very long. */
  #nextBlock(): string {
    const queue = this.#queue;
    let count = 0;
    let chars = 0;
    for (const line of queue) {
      if (count > 0 && chars + line.length > BLOCK_CHARS) break;
      chars += line.length;
      count += 1;
    }
    const [first = ''] = queue;
    if (chars > BLOCK_CHARS) {
      const cut = isHighSurrogate(first.charCodeAt(BLOCK_CHARS - 1)) ? BLOCK_CHARS - 1 : BLOCK_CHARS;
      queue[0] = first.slice(cut);
      this.#queuedChars -= cut;
      return first.slice(0, cut);
    }
    this.#queuedChars -= chars;
    const lines = queue.splice(0, count);
    return count === 1 ? first : lines.join('');
  }

  #waitForRoom(): Promise<void> {
    this.#room = createDeferred();
    if (this.#pauseWhenFull) this.#input.pause();
    return this.#room.promise;
  }

  #releaseRoom(): void {
    const room = this.#room;
    if (!room) return;
    this.#room = undefined;
    if (this.#pauseWhenFull) this.#resume();
    room.resolve();
  }

  #onInputEnd(sink: TransportSink): void {
    if (this.#state !== 'closed') this.#decoder.end();
    if (this.#state === 'open' && sink.end) {
      this.#isHalfOpen = true;
      sink.end();
    } else {
      const event = Object.is(this.#input, this.#output) ? 'ended the connection' : 'closed its output';
      this.#end(closed(`"${this.name}" ${event}`));
    }
  }

  /** Rejects with the reason for which the channel closes, as soon as that is known. */
  async #refuse(): Promise<void> {
    this.#refusal ??= createDeferred();
    throw await this.#refusal.promise;
  }

  /** The output is lost. The other end may have answered before it went: the input is read a little longer. */
  #break(failure: McpError): void {
    this.#dropQueue();
    this.#failure ??= failure;
    if (this.#state === 'new') this.#end(failure);
    if (this.#state !== 'open') return;
    this.#state = 'broken';
    // Not in the timer itself: after a busy turn it would run before what waits in the input is read.
    this.#drainTimer = setTimeout(() => setImmediate(() => this.#end(failure)), DRAIN_MS);
  }

  #end(reason?: McpError): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    clearTimeout(this.#drainTimer);
    this.#failure ??= reason;
    this.#releaseRoom();
    this.#refusal?.resolve(this.#failure ?? closed(`The connection to "${this.name}" is closed`));
    this.#sink?.close(reason && this.#failure);
    if (reason) void this.close();
  }

  async #close(): Promise<void> {
    this.#end();
    this.#pump();
    // What still arrives is thrown away, so that the other end is not blocked in a write and can read the end.
    this.#input.resume();
    await this.#finishOutput();
    // One stream both ways: its other half is given the time to end as well.
    if (Object.is(this.#input, this.#output)) await endsWithin(this.#input, LINGER_MS);
    this.#input.destroy();
  }

  #finishOutput(): Promise<void> {
    const output = this.#output;
    return new Promise((resolve) => {
      const cut = () => {
        this.#dropQueue();
        output.destroy();
      };
      const timer = setTimeout(cut, STALLED_MS);
      const endWhenWritten = () => {
        timer.refresh();
        if (this.#queue.length === 0) output.end();
      };
      finished(output, { readable: false }, () => {
        clearTimeout(timer);
        output.off('drain', endWhenWritten);
        resolve();
      });
      output.on('drain', endWhenWritten);
      endWhenWritten();
    });
  }

  #dropQueue(): void {
    this.#queue = [];
    this.#queuedChars = 0;
  }
}

/** Resolves when both halves of the socket have ended, or the time is up. */
function endsWithin(socket: Readable, ms: number): Promise<boolean> {
  const ended = createDeferred<void>();
  finished(socket, () => ended.resolve());
  return resolvesWithin(ended.promise, ms);
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function closed(message: string): McpError {
  return new McpError('CLOSED', message);
}

function failed(what: string, cause: Error): McpError {
  return new McpError('TRANSPORT_FAILED', `${what}: ${cause.message}`, { cause });
}
