import { Buffer } from 'node:buffer';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { tooLarge } from './body.ts';
import { ChannelExchange, type GoneWatcher, type HttpChannel } from './channel.ts';
import type { EventSink, EventSinkOwner } from './event-stream.ts';
import type { HttpHandler, HttpHeaders } from './exchange.ts';
import type { Refusal } from './refusal.ts';
import { serve } from './serve.ts';
import { type HttpServerOptions, type HttpServerSettings, readServerOptions } from './server-options.ts';
import { unwatchSocket, watchSocket } from './socket-watch.ts';

/** A request of node:http, with what frameworks put on it. */
export type NodeRequest = IncomingMessage & {
  /** The body, where a framework read it before: a parsed value, a string or bytes. */
  body?: unknown;
  /** The principal, where a framework found it before; a bearer guard of ours overrides it. */
  auth?: unknown;
  /** The whole target, where a router cut `url` short. */
  originalUrl?: string;
};

/** Answers one request of node:http. */
export type NodeListener = (request: NodeRequest, response: ServerResponse) => void;

/**
 * Makes a listener for node:http and the frameworks on it: `createServer(listener)`, `app.all('/mcp', listener)` of
 * express. Where a framework reads the body itself, it is handed over as `body` of the request: with fastify
 * `reply.hijack(); listener(Object.assign(request.raw, { body: request.body }), reply.raw)`.
 *
 * @throws TypeError when an option is out of range or cannot mean anything.
 */
export function toNodeListener(handler: HttpHandler, options: HttpServerOptions = {}): NodeListener {
  return createNodeListener(handler, readServerOptions(options));
}

/** `awaitsContinue`: the listener is for clients that send their body only when told to go on. */
export function createNodeListener(
  handler: HttpHandler,
  settings: HttpServerSettings,
  awaitsContinue = false,
): NodeListener {
  return (request, response) => {
    const channel = new NodeChannel(request, response, settings.stallMs, awaitsContinue);
    void serve(new ChannelExchange(channel, settings, request.auth), handler, settings);
  };
}

/** Behind an early answer a body up to this size is read to its end, so that the connection can be used again. */
const DRAIN_BYTES = 256 * 1024;
/** Behind an early answer to a larger body the connection stays open this long, for the client to read the answer. */
export const LINGER_MS = 1000;

export const LOOPBACK_ADDRESS = /^(?:::ffff:)?127\.|^::1$/;
const NO_BYTES = new Uint8Array();
/** Statuses of answers that have no body and no length. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);
const EMPTY = { 'content-length': 0 };

class NodeChannel implements HttpChannel {
  readonly #request: NodeRequest;
  readonly #response: ServerResponse;
  readonly #stallMs: number;
  #awaitsContinue: boolean;
  #hasRepeats: boolean | undefined;

  constructor(request: NodeRequest, response: ServerResponse, stallMs: number, awaitsContinue: boolean) {
    this.#request = request;
    this.#response = response;
    this.#stallMs = stallMs;
    this.#awaitsContinue = awaitsContinue;
  }

  get method(): string {
    return this.#request.method ?? '';
  }

  get url(): string {
    return this.#request.originalUrl ?? this.#request.url ?? '';
  }

  get headerCount(): number {
    return this.#request.rawHeaders.length / 2;
  }

  get loopback(): boolean {
    return LOOPBACK_ADDRESS.test(this.#request.socket.localAddress ?? '');
  }

  get givenBody(): unknown {
    return this.#request.body;
  }

  get headers(): HttpHeaders {
    const names = Object.keys(this.#request.headers);
    return Object.fromEntries(names.map((name) => [name, this.header(name) ?? '']));
  }

  header(name: string): string | undefined {
    const { headers, rawHeaders } = this.#request;
    const value = headers[name];
    if (typeof value !== 'string') return undefined;
    // Node drops the repeats of some headers: a guard would see another value than a proxy in front of us.
    this.#hasRepeats ??= rawHeaders.length !== 2 * Object.keys(headers).length;
    return this.#hasRepeats ? (joinedValues(rawHeaders, name) ?? value) : value;
  }

  readBody(maxBytes: number): Promise<Uint8Array | Refusal | undefined> {
    const request = this.#request;
    return new Promise((resolve, reject) => {
      if (request.readableEnded) return hasBody(request) ? reject(READ_BEFORE) : resolve(NO_BYTES);
      if (request.destroyed) return resolve(undefined);
      this.#sendContinue();
      let first: Buffer | undefined;
      let all: Buffer[] | undefined;
      let length = 0;
      const settle = (body: Uint8Array | Refusal | undefined) => {
        // An answer may take for ever: its request must not hold the bytes that were read.
        request.off('data', take);
        request.off('end', end);
        request.off('close', leave);
        resolve(body);
      };
      const take = (chunk: Buffer) => {
        length += chunk.length;
        if (length > maxBytes) {
          settle(tooLarge(maxBytes));
        } else if (!first) {
          first = chunk;
        } else {
          all ??= [first];
          all.push(chunk);
        }
      };
      const end = () => settle(all ? Buffer.concat(all, length) : (first ?? NO_BYTES));
      const leave = () => settle(undefined);
      request.on('data', take);
      request.on('end', end);
      request.on('close', leave);
    });
  }

  send(status: number, text: string | undefined, headers: HttpHeaders | undefined): void {
    const response = this.#response;
    if (response.destroyed) return;
    const head: OutgoingHttpHeaders =
      text === undefined
        ? { ...(BODILESS.has(status) ? {} : EMPTY), ...headers }
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers };
    if (!this.#request.complete && this.#leavesBody()) {
      this.#sendAndLinger(status, text ?? '', head);
      return;
    }
    response.writeHead(status, head);
    response.end(text);
    if (response.writableLength > 0) watchStall(response, this.#stallMs, () => response.destroy());
  }

  open(headers: HttpHeaders, owner: EventSinkOwner): EventSink {
    const response = this.#response;
    joinWrites(response.socket);
    response.writeHead(200, headers);
    response.flushHeaders();
    // A body that nobody reads would keep the end of the connection from being seen.
    if (!this.#request.complete) this.#request.resume();
    return new NodeSink(response, owner, this.#stallMs);
  }

  get gone(): boolean {
    return this.#request.socket.destroyed || this.#response.destroyed;
  }

  watch(watcher: GoneWatcher): void {
    if (this.gone) watcher.leave();
    else watchSocket(this.#request.socket, watcher);
  }

  unwatch(watcher: GoneWatcher): void {
    unwatchSocket(this.#request.socket, watcher);
  }

  #sendContinue(): void {
    if (!this.#awaitsContinue) return;
    this.#awaitsContinue = false;
    this.#response.writeContinue();
  }

  #leavesBody(): boolean {
    const { headers } = this.#request;
    if (this.#awaitsContinue || headers['transfer-encoding'] !== undefined) return true;
    return Number(headers['content-length'] ?? 0) > DRAIN_BYTES;
  }

  /**
   * Sends the whole answer and closes the connection only when the client stops sending, or after a while: closing it
   * upon bytes that nobody read would destroy the answer on its way.
   */
  #sendAndLinger(status: number, text: string, head: OutgoingHttpHeaders): void {
    const request = this.#request;
    const response = this.#response;
    response.writeHead(status, { ...head, connection: 'close' });
    response.write(text);
    const end = () => {
      clearTimeout(timer);
      if (!response.destroyed) response.end();
    };
    const timer = setTimeout(end, LINGER_MS);
    request.once('end', end);
    request.once('close', end);
    request.resume();
  }
}

/** Lets what is written in this turn leave in one system call: the head of a stream and its first events. */
function joinWrites(socket: Socket | null): void {
  if (!socket || socket.writableCorked > 0) return;
  socket.cork();
  process.nextTick(() => socket.uncork());
}

/** The socket tells a slow reader, whose bytes make headway, from one that takes nothing. */
function watchStall(response: ServerResponse, stallMs: number, onStall: () => void): void {
  if (stallMs === Number.POSITIVE_INFINITY) return;
  response.setTimeout(stallMs, onStall);
  // Before Node sets the time for the idle connection: the next answer on it has all the time it wants.
  response.prependOnceListener('finish', () => response.setTimeout(0));
}

/** Most readers are never behind: only for one that is does a stream hold a timer and listeners. */
class NodeSink implements EventSink {
  readonly #response: ServerResponse;
  readonly #owner: EventSinkOwner;
  readonly #stallMs: number;
  #isWatched = false;

  constructor(response: ServerResponse, owner: EventSinkOwner, stallMs: number) {
    this.#response = response;
    this.#owner = owner;
    this.#stallMs = stallMs;
  }

  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  write(text: string): boolean {
    const hasRoom = this.#response.write(text);
    if (!hasRoom) this.#watch();
    return hasRoom;
  }

  end(): void {
    this.#response.end();
    if (this.#response.writableLength > 0) this.#watch();
  }

  destroy(): void {
    this.#response.destroy();
  }

  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    this.#response.on('drain', () => this.#owner.drained());
    watchStall(this.#response, this.#stallMs, () => {
      this.#owner.stalled();
      // An owner that has ended the stream does nothing more.
      this.#response.destroy();
    });
  }
}

const READ_BEFORE = new TypeError('the body was read before; hand it over as `body` of the request');

function hasBody({ headers }: NodeRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function joinedValues(rawHeaders: readonly string[], name: string): string | undefined {
  const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
  return values.length > 0 ? values.join(', ') : undefined;
}
