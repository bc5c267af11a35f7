import { constants } from 'node:buffer';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { type JsonRpcMessage, McpError } from '../jsonrpc/index.ts';
import { atLeastOne, misuse, positive, shown, timerMs } from '../jsonrpc/option.ts';
import { closeError, UNSUPPORTED_DATA } from './close-code.ts';
import type { Transport, TransportSink } from './transport.ts';
import { createDeferred, type Deferred } from './wait.ts';

/** The subprotocol that both ends must agree on. */
export const SUBPROTOCOL = 'mcp';

/** What both ends of a WebSocket let the application choose; without defaults. */
export interface ChannelLimits {
  readonly maxMessageBytes: number;
  readonly maxBufferedBytes: number;
  readonly keepAliveMs: number;
}

/**
 * Fills in the defaults.
 *
 * @throws TypeError when an option makes no sense.
 */
export function readChannelLimits(options: Partial<ChannelLimits>, defaults: ChannelLimits): ChannelLimits {
  const {
    maxMessageBytes = defaults.maxMessageBytes,
    maxBufferedBytes = defaults.maxBufferedBytes,
    keepAliveMs = defaults.keepAliveMs,
  } = options;
  // The receiver reads no bound, and none above the longest string, as the number it is.
  if (!(atLeastOne('maxMessageBytes', maxMessageBytes) <= constants.MAX_STRING_LENGTH)) {
    misuse('maxMessageBytes', `from 1 to ${constants.MAX_STRING_LENGTH} bytes`, shown(maxMessageBytes));
  }
  positive('maxBufferedBytes', maxBufferedBytes, 'bytes');
  if (keepAliveMs !== Number.POSITIVE_INFINITY) timerMs('keepAliveMs', keepAliveMs);
  return { maxMessageBytes, maxBufferedBytes, keepAliveMs };
}

export interface ChannelOptions extends ChannelLimits {
  readonly name: string;
  /** Whether reading stops while the output is full; see `StreamOptions.pauseWhenFull`. */
  readonly pauseWhenFull: boolean;
  /** What the other end is told when we close. */
  readonly closeCode: number;
}

/** How much may wait in the output before the sender is asked to wait. */
const HIGH_WATER_CHARS = 1024 * 1024;
/** Messages leave together up to this length and in frames above it, so that a draining output is seen to make progress. */
const BLOCK_CHARS = 256 * 1024;
/** How long closing may take: to write out what was sent, and for the other end to close as well. */
export const CLOSE_GRACE_MS = 3000;
const PREVIEW_CHARS = 120;

/**
 * One open WebSocket, of either side: one message of JSON a text message. It reads nothing before it is started, so a
 * message that comes early is not lost.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6455
 */
export class WebSocketChannel implements Transport {
  readonly name: string;
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #options: ChannelOptions;
  readonly #ended = createDeferred<void>();
  #sink: TransportSink | undefined;
  #state: 'new' | 'open' | 'closed' = 'new';
  #failure: McpError | undefined;
  #socketError: Error | undefined;
  #queue: string[] = [];
  #queuedChars = 0;
  #room: Deferred<void> | undefined;
  #keepAlive: NodeJS.Timeout | undefined;
  #bytesRead = -1;
  #headway = false;
  /** The code to close with once the queue is written out. */
  #closeCode: number | undefined;

  /** Takes over a WebSocket that has just opened, and the socket below it. */
  constructor(ws: WebSocket, socket: Socket, options: ChannelOptions) {
    this.name = options.name;
    this.#ws = ws;
    this.#socket = socket;
    this.#options = options;
    ws.pause();
    ws.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary)); // Sound: its binaryType is nodebuffer.
    ws.on('error', (cause) => this.#fail(this.#readError(cause)));
    socket.on('error', (cause) => {
      this.#socketError = cause;
    });
    socket.on('drain', () => this.#onDrain());
    ws.on('close', (code, reason) => {
      this.#end(closeError(this.name, code, reason.toString('utf8'), this.#socketError));
      this.#ended.resolve();
    });
    if (options.keepAliveMs !== Number.POSITIVE_INFINITY) {
      // Not in the timer itself: after a busy turn it would run before what waits in the socket is read.
      this.#keepAlive = setInterval(() => setImmediate(() => this.#checkLife()), options.keepAliveMs);
    }
  }

  async start(sink: TransportSink): Promise<void> {
    if (this.#state !== 'new') {
      throw this.#failure ?? closed(`Cannot start "${this.name}": it was started or closed before`);
    }
    this.#state = 'open';
    this.#sink = sink;
    this.#ws.resume();
  }

  send(message: JsonRpcMessage): void | Promise<void> {
    if (this.#state !== 'open') {
      throw this.#failure ?? closed(`Cannot send to "${this.name}": it is not open`);
    }
    if (this.#ws.readyState !== this.#ws.OPEN) return this.#refuse();
    const buffered = this.#queuedChars + this.#ws.bufferedAmount;
    if (buffered >= this.#options.maxBufferedBytes) {
      throw new McpError(
        'TRANSPORT_FAILED',
        `Cannot send to "${this.name}": it has not read the last ${buffered} bytes; raise maxBufferedBytes to queue more`,
      );
    }
    const text = JSON.stringify(message);
    if (this.#queue.length === 0) queueMicrotask(this.#pumpAfterMicrotasks);
    this.#queue.push(text);
    this.#queuedChars += text.length;
    if (this.#room) return this.#room.promise;
    if (buffered + text.length >= HIGH_WATER_CHARS) return this.#waitForRoom();
  }

  /** @param code What the other end is told; the channel's own code where it is not given. */
  async close(code: number = this.#options.closeCode): Promise<void> {
    this.#end();
    if (this.#closeCode === undefined) this.#hangUp(code);
    await this.#ended.promise;
  }

  // A tick runs once every microtask is done: all that this turn of the event loop sends leaves in one write.
  readonly #pumpAfterMicrotasks = (): void => process.nextTick(this.#pump);

  readonly #pump = (): void => {
    const ws = this.#ws;
    while (this.#queue.length > 0 && ws.readyState === ws.OPEN && !this.#socket.writableNeedDrain) {
      const [first = ''] = this.#queue;
      if (first.length > BLOCK_CHARS) this.#sendPiece(first);
      else this.#sendBlock();
    }
    if (this.#queue.length > 0) return;
    if (!this.#socket.writableNeedDrain) this.#releaseRoom();
    if (this.#closeCode !== undefined) ws.close(this.#closeCode);
  };

  #sendBlock(): void {
    let count = 0;
    let chars = 0;
    this.#socket.cork();
    for (const text of this.#queue) {
      if (count > 0 && chars + text.length > BLOCK_CHARS) break;
      this.#ws.send(text);
      chars += text.length;
      count += 1;
    }
    this.#socket.uncork();
    this.#queue.splice(0, count);
    this.#queuedChars -= chars;
  }

  /** Sends the beginning of a long message as a frame of its own; what is left of it stays first in the queue. */
  #sendPiece(text: string): void {
    const cut = isHighSurrogate(text.charCodeAt(BLOCK_CHARS - 1)) ? BLOCK_CHARS - 1 : BLOCK_CHARS;
    this.#ws.send(text.slice(0, cut), { fin: false });
    this.#queue[0] = text.slice(cut);
    this.#queuedChars -= cut;
  }

  #onDrain(): void {
    this.#headway = true;
    this.#pump();
  }

  #waitForRoom(): Promise<void> {
    this.#room = createDeferred();
    if (this.#options.pauseWhenFull) this.#ws.pause();
    return this.#room.promise;
  }

  #releaseRoom(): void {
    const room = this.#room;
    if (!room) return;
    this.#room = undefined;
    if (this.#options.pauseWhenFull) this.#ws.resume();
    room.resolve();
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#state !== 'open') return;
    if (isBinary) {
      const message = `"${this.name}" sent a binary message: MCP messages are text`;
      this.#fail(new McpError('TRANSPORT_FAILED', message), UNSUPPORTED_DATA);
      return;
    }
    const text = data.toString('utf8');
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      const message = `Cannot read a message of "${this.name}": it is not JSON: ${preview(text)}`;
      this.#sink?.error(new McpError('INVALID_JSON', message, { cause }));
      return;
    }
    this.#sink?.message(value);
  }

  /**
   * The other end is alive when bytes came from it, or went out to it, since the last ping. A pong is what comes from
   * one that has nothing else to say.
   */
  #checkLife(): void {
    if (this.#state === 'closed') return;
    const { bytesRead } = this.#socket;
    const alive = this.#headway || bytesRead !== this.#bytesRead;
    this.#headway = false;
    this.#bytesRead = bytesRead;
    if (alive) {
      this.#ws.ping();
      return;
    }
    const { keepAliveMs } = this.#options;
    const message = `"${this.name}" did not answer a ping within ${keepAliveMs} ms: taken for lost; raise keepAliveMs for a slower one`;
    this.#end(new McpError('TRANSPORT_FAILED', message));
    this.#ws.terminate();
  }

  /** Closes at once, with the reason; what is still to be sent is dropped. */
  #fail(reason: McpError, code: number = this.#options.closeCode): void {
    this.#queue = [];
    this.#queuedChars = 0;
    this.#end(reason);
    if (this.#closeCode === undefined) this.#hangUp(code);
  }

  #readError(cause: Error & { code?: string }): McpError {
    const what = `Cannot read from "${this.name}"`;
    const why =
      cause.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'
        ? `a message exceeds ${this.#options.maxMessageBytes} bytes; raise maxMessageBytes to accept it`
        : cause.message;
    return new McpError('TRANSPORT_FAILED', `${what}: ${why}`, { cause });
  }

  #end(reason?: McpError): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#failure = reason;
    clearInterval(this.#keepAlive);
    this.#releaseRoom();
    this.#sink?.close(reason);
  }

  /** What still arrives is thrown away, so that the other end's close frame is seen behind it. */
  #hangUp(code: number): void {
    const ws = this.#ws;
    this.#closeCode = code;
    ws.resume();
    const timer = setTimeout(() => ws.terminate(), CLOSE_GRACE_MS);
    void this.#ended.promise.then(() => clearTimeout(timer));
    this.#pump();
  }

  /** Rejects with the reason for which the other end closes, as soon as that is known. */
  async #refuse(): Promise<void> {
    await this.#ended.promise;
    throw this.#failure ?? closed(`Cannot send to "${this.name}": the connection is closed`);
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function preview(text: string): string {
  return JSON.stringify(text.length > PREVIEW_CHARS ? `${text.slice(0, PREVIEW_CHARS)}…` : text);
}

function closed(message: string): McpError {
  return new McpError('CLOSED', message);
}
