import { INTERNAL_ERROR, McpError } from '../../jsonrpc/index.ts';
import { challengeRefusal } from './bearer.ts';
import type { BearerChallenge } from './challenge.ts';
import {
  type EventSink,
  type EventSinkOwner,
  type EventStream,
  ServerEventStream,
  type StreamEvents,
} from './event-stream.ts';
import type { HttpExchange, HttpHeaders, HttpRequest } from './exchange.ts';
import type { GuardedRequest } from './guard.ts';
import type { Refusal } from './refusal.ts';
import type { HttpServerSettings } from './server-options.ts';

/** What an adapter does for an exchange: the part that differs between node:http and the web standard. */
export interface HttpChannel extends HttpRequest {
  readonly headerCount: number;
  /** Whether the request came in over the loopback interface, as far as the adapter can know. */
  readonly loopback: boolean;
  /** A body that a framework read before: a value when it parsed it, else text or bytes. */
  readonly givenBody: unknown;
  /** Reads the body: its bytes, the refusal of one that is too large, or undefined when the client went away. */
  readBody(maxBytes: number): Promise<Uint8Array | Refusal | undefined>;
  /** Sends a whole answer. `text` is JSON. */
  send(status: number, text: string | undefined, headers: HttpHeaders | undefined): void;
  /** Sends the head of a stream at once. */
  open(headers: HttpHeaders, owner: EventSinkOwner): EventSink;
  /** Whether the client has gone away. */
  readonly gone: boolean;
  /** Tells the watcher when the client goes away, at once if it has. */
  watch(watcher: GoneWatcher): void;
  /** Ends the watch; the watcher is the one that was given before. */
  unwatch(watcher: GoneWatcher): void;
}

/** Wants to hear that a client goes away. */
export interface GoneWatcher {
  leave(): void;
}

const SSE_HEADERS: HttpHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** The one implementation of {@link HttpExchange}, over any channel. */
export class ChannelExchange implements HttpExchange, GuardedRequest, StreamEvents, GoneWatcher {
  body: unknown;
  auth: unknown;
  readonly channel: HttpChannel;
  readonly #settings: HttpServerSettings;
  #state: 'open' | 'streaming' | 'done' | 'gone' = 'open';
  #stream: ServerEventStream | undefined;
  #controller: AbortController | undefined;
  #isWatching = false;

  constructor(channel: HttpChannel, settings: HttpServerSettings, auth: unknown) {
    this.channel = channel;
    this.#settings = settings;
    this.auth = auth;
  }

  get method(): string {
    return this.channel.method;
  }

  get url(): string {
    return this.channel.url;
  }

  get path(): string {
    const { url } = this.channel;
    const query = url.indexOf('?');
    return query === -1 ? url : url.slice(0, query);
  }

  get headerCount(): number {
    return this.channel.headerCount;
  }

  get loopback(): boolean {
    return this.channel.loopback;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#state === 'gone') this.#controller.abort(this.#goneError());
      else if (this.#state !== 'done') this.#watch();
    }
    return this.#controller.signal;
  }

  /** Whether nobody waits for the answer any more. */
  get gone(): boolean {
    return this.#state === 'gone' || (this.#state === 'open' && this.channel.gone);
  }

  get answered(): boolean {
    return this.#state !== 'open';
  }

  get headers(): HttpHeaders {
    return this.channel.headers;
  }

  header(name: string): string | undefined {
    return this.channel.header(name);
  }

  reply(status: number, body?: object, headers?: HttpHeaders): void {
    if (this.#state === 'gone') return;
    this.#assertOpen();
    const text = body === undefined ? undefined : JSON.stringify(body);
    this.channel.send(status, text, headers);
    this.#finish();
  }

  refuse({ status, body, headers }: Refusal): void {
    this.reply(status, body, headers);
  }

  challenge(challenge: BearerChallenge, body?: object): boolean {
    const { auth } = this.#settings;
    if (!auth || this.#state !== 'open') return false;
    const refusal = challengeRefusal(challenge, auth);
    this.reply(refusal.status, body ?? refusal.body, refusal.headers);
    return true;
  }

  stream(headers?: HttpHeaders): EventStream {
    const settings = this.#settings;
    const stream = new ServerEventStream(settings, this);
    if (this.#state === 'gone') return stream;
    this.#assertOpen();
    stream.open(this.channel.open({ ...SSE_HEADERS, ...headers }, stream));
    this.#state = 'streaming';
    this.#stream = stream;
    settings.streaming.add(this);
    this.#watch();
    return stream;
  }

  /** The stream was ended from our side. */
  streamEnded(): void {
    this.#finish();
  }

  /** The stream's reader was too slow and was cut off. */
  streamCutOff(why: string): void {
    this.leave();
    const message = `Cut off the client of ${this.method} ${this.path}: ${why}`;
    this.#settings.onError(new McpError('TRANSPORT_FAILED', message));
  }

  /** Says that the handler failed, in the way that is left. */
  fail(): void {
    if (this.#state === 'open') this.reply(500, INTERNAL_FAILURE);
    else if (this.#state === 'streaming') this.#stream?.destroy();
    this.leave();
  }

  /** Ends an open stream from our side: the handler learns it as if the client had left. */
  hangUp(): void {
    this.#state = 'gone';
    this.#stream?.end();
    this.#controller?.abort(this.#goneError());
  }

  /** Takes note that nobody waits for the answer any more. */
  leave(): undefined {
    if (this.#state === 'done' || this.#state === 'gone') return;
    this.#state = 'gone';
    this.#release();
    this.#controller?.abort(this.#goneError());
  }

  #assertOpen(): void {
    if (this.#state !== 'open') {
      throw new TypeError(`Cannot answer ${this.method} ${this.path}: it was answered before`);
    }
  }

  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.channel.watch(this);
  }

  #finish(): void {
    if (this.#state !== 'gone') this.#state = 'done';
    this.#release();
  }

  #release(): void {
    if (this.#isWatching) this.channel.unwatch(this);
    if (!this.#stream) return;
    this.#stream.leave();
    this.#settings.streaming.delete(this);
  }

  #goneError(): McpError {
    return new McpError('CLOSED', `Nobody waits for the answer to ${this.method} ${this.path} any more`);
  }
}

const INTERNAL_FAILURE = { jsonrpc: '2.0', error: { code: INTERNAL_ERROR, message: 'Internal error' } };
