import type { Agent } from 'node:http';
import type { JsonRpcMessage } from '../jsonrpc/index.ts';
import { assertObject } from '../jsonrpc/option.ts';
import { NORMAL_CLOSURE } from './close-code.ts';
import { Dial } from './dial.ts';
import type { HeaderMap } from './http/round-trip.ts';
import type { Transport, TransportSink } from './transport.ts';
import { type ChannelLimits, readChannelLimits, WebSocketChannel } from './websocket-channel.ts';
import { openWebSocket } from './websocket-handshake.ts';

export interface WebSocketOptions {
  /** What error messages call the server. Default: its address without user, password and query. */
  name?: string;
  /** Headers of the opening handshake, such as Authorization; a function is asked for each connection. Default none. */
  headers?: HeaderMap | (() => HeaderMap | Promise<HeaderMap>);
  /** Makes the connection: an `https.Agent` with certificates of its own, say, or one that goes through a proxy. */
  agent?: Agent;
  /** How long connecting may take, headers function and handshake included, in milliseconds. Default 30000. */
  handshakeTimeoutMs?: number;
  /**
   * How often the server is pinged, in milliseconds; `Infinity` means never. A server that is silent from one ping to
   * the next, and takes nothing either, is given up. Default 30000.
   */
  keepAliveMs?: number;
  /** The largest accepted message, in bytes; a larger one ends the connection. Default 67108864 (64 MiB). */
  maxMessageBytes?: number;
  /**
   * How much may wait for a server that does not read, counted in UTF-16 units for what is not yet written. One message
   * more is refused with `TRANSPORT_FAILED`. Default 268435456 (256 MiB); `Infinity` means no bound.
   */
  maxBufferedBytes?: number;
}

/** The default of {@link WebSocketOptions.handshakeTimeoutMs}: 30 s. */
const DEFAULT_HANDSHAKE_TIMEOUT_MS = 30_000;
const DEFAULT_LIMITS: ChannelLimits = {
  maxMessageBytes: 64 * 1024 * 1024,
  maxBufferedBytes: 256 * 1024 * 1024,
  keepAliveMs: 30_000,
};

/**
 * The client's end of a WebSocket: one JSON message a text message, under the subprotocol `mcp`. It reads as fast as
 * the server writes, and connects once: for the next connection, make another.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#custom-transports
 */
export class WebSocketTransport implements Transport {
  readonly name: string;
  readonly #url: URL;
  readonly #options: WebSocketOptions;
  readonly #limits: ChannelLimits;
  readonly #dial: Dial;

  /** @throws TypeError when the address is no `ws:` or `wss:` URL, or an option makes no sense. */
  constructor(url: string | URL, options: WebSocketOptions = {}) {
    const { handshakeTimeoutMs = DEFAULT_HANDSHAKE_TIMEOUT_MS } = options;
    this.#url = readUrl(url);
    if (typeof options.headers !== 'function') assertObject('headers', options.headers);
    this.#options = options;
    this.#limits = readChannelLimits(options, DEFAULT_LIMITS);
    this.name = options.name ?? `${this.#url.protocol}//${this.#url.host}${this.#url.pathname}`;
    this.#dial = new Dial({
      name: this.name,
      timeout: { option: 'handshakeTimeoutMs', ms: handshakeTimeoutMs },
      open: (signal) => this.#open(signal),
    });
  }

  /**
   * Connects.
   *
   * @throws HttpError `UNAUTHORIZED` or `HTTP_STATUS` when the server refuses the handshake. Redirects are not followed.
   * @throws McpError `TRANSPORT_FAILED` when there is no connection, or no MCP at its other end.
   * @throws TimeoutError after `handshakeTimeoutMs`.
   */
  start(sink: TransportSink): Promise<void> {
    return this.#dial.start(sink);
  }

  send(message: JsonRpcMessage): void | Promise<void> {
    return this.#dial.send(message);
  }

  close(): Promise<void> {
    return this.#dial.close();
  }

  async #open(signal: AbortSignal): Promise<WebSocketChannel> {
    const { headers = {}, agent } = this.#options;
    const { name } = this;
    const { maxMessageBytes } = this.#limits;
    const given = typeof headers === 'function' ? await unlessAborted(headers(), signal) : headers;
    const { ws, socket } = await openWebSocket(
      this.#url,
      { name, agent, headers: given, maxMessageBytes },
      signal,
    );
    return new WebSocketChannel(ws, socket, {
      ...this.#limits,
      name,
      pauseWhenFull: false,
      closeCode: NORMAL_CLOSURE,
    });
  }
}

function readUrl(text: string | URL): URL {
  const url = URL.canParse(String(text)) ? new URL(text) : undefined;
  if (!url || !['ws:', 'wss:'].includes(url.protocol)) {
    throw new TypeError('url must be an address such as "wss://example.com/mcp"');
  }
  if (url.hash !== '') throw new TypeError('url must have no fragment: a WebSocket address has none');
  return url;
}

/** Rejects with the signal's reason as soon as it is aborted, whatever becomes of the work. */
function unlessAborted<T>(work: T | Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    Promise.resolve(work).then(resolve, reject);
  });
}
