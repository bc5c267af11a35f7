import { tooLarge } from './body.ts';
import { ChannelExchange, type GoneWatcher, type HttpChannel } from './channel.ts';
import type { EventSink, EventSinkOwner } from './event-stream.ts';
import type { HttpHandler, HttpHeaders } from './exchange.ts';
import type { Refusal } from './refusal.ts';
import { serve } from './serve.ts';
import { type HttpServerOptions, readServerOptions } from './server-options.ts';

/** What the caller of a {@link FetchListener} found out before. */
export interface FetchContext {
  /** The principal; a bearer guard of ours overrides it. */
  auth?: unknown;
  /** The body, where it was read before: a parsed value, a string or bytes. */
  body?: unknown;
}

/** Answers one web-standard request. */
export type FetchListener = (request: Request, context?: FetchContext) => Promise<Response>;

/**
 * Makes a listener for the web standard: `Deno.serve(listener)`, `Bun.serve({ fetch: listener })`, a worker's `fetch`,
 * `app.all('/mcp', (c) => listener(c.req.raw))` of hono. The promise never rejects; it stays pending until the handler
 * answers.
 *
 * @throws TypeError when an option is out of range or cannot mean anything.
 */
export function toFetchListener(handler: HttpHandler, options: HttpServerOptions = {}): FetchListener {
  const settings = readServerOptions(options);
  return (request, context = {}) =>
    new Promise((resolve) => {
      const channel = new FetchChannel(request, context.body, resolve);
      void serve(new ChannelExchange(channel, settings, context.auth), handler, settings);
    });
}

/** How much a stream holds before its writer is asked to wait. */
const HIGH_WATER_BYTES = 64 * 1024;
/** What a client that has gone away is answered; nobody reads it. */
const CLIENT_CLOSED = 499;

const ENCODER = new TextEncoder();

class FetchChannel implements HttpChannel {
  readonly method: string;
  readonly url: string;
  readonly givenBody: unknown;
  readonly loopback = false;
  readonly #request: Request;
  readonly #host: string;
  readonly #respond: (response: Response) => void;
  #watcher: GoneWatcher | undefined;
  #sink: FetchSink | undefined;

  constructor(request: Request, givenBody: unknown, respond: (response: Response) => void) {
    const { host, pathname, search } = new URL(request.url);
    this.method = request.method;
    this.url = pathname + search;
    this.givenBody = givenBody;
    this.#host = host;
    this.#request = request;
    this.#respond = respond;
  }

  get headerCount(): number {
    return [...this.#request.headers.keys()].length;
  }

  get headers(): HttpHeaders {
    return Object.fromEntries(this.#request.headers);
  }

  header(name: string): string | undefined {
    const value = this.#request.headers.get(name) ?? undefined;
    // Runtimes that put the host into the address alone.
    return value === undefined && name === 'host' ? this.#host : value;
  }

  async readBody(maxBytes: number): Promise<Uint8Array | Refusal | undefined> {
    const { body, bodyUsed } = this.#request;
    if (bodyUsed) throw new TypeError('the body was read before; hand it over as `body` beside the request');
    const chunks: Uint8Array[] = [];
    let length = 0;
    const reader = body?.getReader();
    try {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true };
        if (done) return joined(chunks, length);
        length += value.byteLength;
        if (length > maxBytes) {
          reader?.cancel().catch(() => {
            // What becomes of the rest of the body is no longer ours.
          });
          return tooLarge(maxBytes);
        }
        chunks.push(value);
      }
    } catch {
      // Reading fails only when the client breaks off.
      this.#leave();
      return undefined;
    }
  }

  send(status: number, text: string | undefined, headers: HttpHeaders | undefined): void {
    const head = text === undefined ? { ...headers } : { 'content-type': 'application/json', ...headers };
    this.#respond(new Response(text ?? null, { status, headers: head }));
  }

  open(headers: HttpHeaders, owner: EventSinkOwner): EventSink {
    this.#sink = new FetchSink(owner, this.#leave);
    this.#respond(new Response(this.#sink.body, { status: 200, headers }));
    return this.#sink;
  }

  get gone(): boolean {
    return this.#request.signal.aborted;
  }

  watch(watcher: GoneWatcher): void {
    const { signal } = this.#request;
    this.#watcher = watcher;
    if (signal.aborted) this.#leave();
    else signal.addEventListener('abort', this.#leave, { once: true });
  }

  unwatch(): void {
    this.#request.signal.removeEventListener('abort', this.#leave);
  }

  readonly #leave = (): void => {
    this.#watcher?.leave();
    // Who reads on all the same must not wait for an end that nobody will write.
    this.#sink?.abandon(this.#request.signal.reason);
    this.#respond(new Response(null, { status: CLIENT_CLOSED }));
  };
}

class FetchSink implements EventSink {
  readonly body: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(owner: EventSinkOwner, onCancel: () => void) {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => owner.drained(),
        cancel: onCancel,
      },
      new ByteLengthQueuingStrategy({ highWaterMark: HIGH_WATER_BYTES }),
    );
  }

  get bufferedBytes(): number {
    return HIGH_WATER_BYTES - this.#desiredBytes();
  }

  write(text: string): boolean {
    this.#controller?.enqueue(ENCODER.encode(text));
    return this.#desiredBytes() > 0;
  }

  end(): void {
    this.#controller?.close();
  }

  destroy(): void {
    this.#controller?.error(new Error('The stream was broken off by the server'));
  }

  /** The request was aborted: so is what there is of its answer. Does nothing when the reader has cancelled it. */
  abandon(reason: unknown): void {
    this.#controller?.error(reason);
  }

  #desiredBytes(): number {
    return this.#controller?.desiredSize ?? 0;
  }
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  if (chunks.length === 1 && chunks[0]) return chunks[0];
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
