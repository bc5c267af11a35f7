import type { Server as HttpServer, IncomingMessage } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { McpError } from '../jsonrpc/index.ts';
import { loadPackage } from '../jsonrpc/load-package.ts';
import { assertFunction, atLeastOne, timerMs } from '../jsonrpc/option.ts';
import { bind } from './bind.ts';
import type { OnClient } from './clients.ts';
import { reachableHost } from './http/listen.ts';
import { type HttpServerOptions, readServerOptions } from './http/server-options.ts';
import { DEFAULT_HOST, readTarget } from './socket.ts';
import { upgradeRequired } from './upgrade.ts';
import { Acceptor, type AcceptSettings } from './websocket-acceptor.ts';
import { type ChannelLimits, CLOSE_GRACE_MS, readChannelLimits, SUBPROTOCOL } from './websocket-channel.ts';
import type { WebSocketClientInfo, WebSocketListener } from './websocket-listener.ts';

export interface WebSocketListenOptions extends Pick<HttpServerOptions, 'allowedHosts' | 'allowedOrigins'> {
  /**
   * A server to attach to, one with TLS for `wss:`. What it serves otherwise is left alone: requests to upgrade to other
   * paths too, as long as somebody else listens for them. Closing it is not up to us. Default: a server of our own.
   */
  server?: HttpServer | HttpsServer;
  /** The address to listen on without a `server`. Default `127.0.0.1`: this machine alone. */
  host?: string;
  /** The port to listen on without a `server`; 0 takes a free one. Default 0. */
  port?: number;
  /** The only path that is served. Default `/mcp`. */
  path?: string;
  /**
   * Says who sends a request to upgrade: what it returns is handed on with the client, and given to handlers as
   * `context.auth`. A falsy value means nobody, and gets a 401. Default: everybody is let in.
   */
  authorize?: (request: IncomingMessage) => unknown;
  /** How many clients may be connected at once, handshakes included; one more gets a 503. Default 256. */
  maxConnections?: number;
  /** How long `authorize`, and without a `server` the head of a request, may take, in milliseconds. Default 10000. */
  handshakeTimeoutMs?: number;
  /**
   * How often a client is pinged, in milliseconds; `Infinity` means never. A client that is silent from one ping to the
   * next, and takes nothing either, is given up. Default 30000.
   */
  keepAliveMs?: number;
  /** The largest accepted message, in bytes; a larger one ends the connection. Default 4194304 (4 MiB). */
  maxMessageBytes?: number;
  /**
   * How much may wait for a client that does not read, counted in UTF-16 units for what is not yet written. One message
   * more is refused with `TRANSPORT_FAILED`. Default 16777216 (16 MiB); `Infinity` means no bound.
   */
  maxBufferedBytes?: number;
  /** Hears of what failed where no client could be told. Never throws. Default: nobody does. */
  onError?: (error: McpError) => void;
}

const DEFAULT_MAX_CONNECTIONS = 256;
const DEFAULT_HANDSHAKE_TIMEOUT_MS = 10_000;
const DEFAULT_LIMITS: ChannelLimits = {
  maxMessageBytes: 4 * 1024 * 1024,
  maxBufferedBytes: 16 * 1024 * 1024,
  keepAliveMs: 30_000,
};
/** How many connections a server of our own may have beside those that count: they are about to say what they want. */
const SPARE_CONNECTIONS = 64;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Accepts WebSockets of the subprotocol `mcp`, on a server that is given or on one of its own. Each client is handed over
 * as a transport that was not started yet. The Host and Origin headers are held to the same rules as those of an HTTP
 * endpoint: a browser lets every page open a WebSocket to anywhere.
 *
 * @throws McpError `TRANSPORT_FAILED` when the address cannot be listened on.
 * @throws TypeError when an option makes no sense.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#custom-transports
 */
export async function acceptWebSockets(
  options: WebSocketListenOptions,
  onClient: OnClient<[WebSocketClientInfo]>,
): Promise<WebSocketListener> {
  const settings = readOptions(options);
  const { WebSocketServer } = await loadPackage('ws', () => import('ws'));
  const wsOptions = {
    noServer: true,
    clientTracking: false,
    maxPayload: settings.limits.maxMessageBytes,
    perMessageDeflate: false,
    handleProtocols: () => SUBPROTOCOL,
    closeTimeout: CLOSE_GRACE_MS,
  };
  const parts = { handshaker: new WebSocketServer(wsOptions), settings, onClient };
  const { server } = options;
  if (server) return new Acceptor(server, undefined, parts);
  const own = await createServer(settings);
  const { host = DEFAULT_HOST, port = 0 } = options;
  await bind(own, readTarget({ host, port }));
  own.on('error', (cause) => {
    const message = `Cannot accept clients at ${host}: ${cause.message}`;
    settings.onError(new McpError('TRANSPORT_FAILED', message, { cause }));
  });
  // A server on a host and port has an address with a port.
  const address = own.address() as AddressInfo;
  const url = `ws://${reachableHost(host, address)}:${address.port}${settings.path}`;
  return new Acceptor(own, url, parts);
}

function readOptions(options: WebSocketListenOptions): AcceptSettings {
  const { server, host, port, path = '/mcp', authorize, onError = () => {} } = options;
  assertFunction('authorize', authorize);
  assertFunction('onError', onError);
  if (server && (host !== undefined || port !== undefined)) {
    throw new TypeError('server excludes host and port: it listens where its owner wants it to');
  }
  const { allowedHosts, allowedOrigins } = options;
  const rules = readServerOptions({
    path,
    methods: ['GET'],
    ...(allowedHosts !== undefined && { allowedHosts }),
    ...(allowedOrigins !== undefined && { allowedOrigins }),
  });
  return {
    path,
    rules,
    limits: readChannelLimits(options, DEFAULT_LIMITS),
    authorize,
    maxConnections: atLeastOne('maxConnections', options.maxConnections ?? DEFAULT_MAX_CONNECTIONS),
    handshakeTimeoutMs: timerMs(
      'handshakeTimeoutMs',
      options.handshakeTimeoutMs ?? DEFAULT_HANDSHAKE_TIMEOUT_MS,
    ),
    onError,
  };
}

/** Loads node:http only here, where a server is asked for. */
async function createServer({
  rules,
  maxConnections,
  handshakeTimeoutMs,
}: AcceptSettings): Promise<HttpServer> {
  const http = await import('node:http');
  const server = http.createServer({
    headersTimeout: handshakeTimeoutMs,
    requestTimeout: handshakeTimeoutMs,
    connectionsCheckingInterval: handshakeTimeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  // Node drops surplus headers in silence; with one more than is allowed the guard sees that there were some.
  server.maxHeadersCount = rules.maxHeaders + 1;
  server.maxConnections = maxConnections + SPARE_CONNECTIONS;
  server.on('request', (_request, response) => {
    const { status, body, headers } = upgradeRequired();
    response.writeHead(status, { ...headers, connection: 'close', 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  return server;
}
