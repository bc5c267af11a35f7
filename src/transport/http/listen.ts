import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { INVALID_REQUEST, McpError } from '../../jsonrpc/index.ts';
import { atLeastOne, misuse, shown, timerMs } from '../../jsonrpc/option.ts';
import type { HttpHandler } from './exchange.ts';
import { createNodeListener, LINGER_MS } from './node.ts';
import { Refusal } from './refusal.ts';
import { type HttpServerOptions, type HttpServerSettings, readServerOptions } from './server-options.ts';

export interface HttpListenOptions extends HttpServerOptions {
  /** The address to listen on. Default `127.0.0.1`: this machine alone. */
  host?: string;
  /** The port to listen on; 0 takes a free one. Default 0. */
  port?: number;
  /** The only path that is served; elsewhere the answer is a 404. Default `/mcp`. */
  path?: string;
  /** How long a client may take to send the head of a request, in milliseconds. Default 20000. */
  headersTimeoutMs?: number;
  /** How long a client may take to send a whole request, in milliseconds; answers have no limit. Default 60000. */
  requestTimeoutMs?: number;
  /** How long a connection may lie idle between requests, in milliseconds. Default 60000. */
  idleTimeoutMs?: number;
  /** The largest head of a request, in bytes; a larger one gets a 431. Default 16384. */
  maxHeaderBytes?: number;
  /** How many connections may be open; further ones are closed at once. Default 10000. */
  maxConnections?: number;
  /** How long closing waits for answers that are under way, in milliseconds. Default 3000. */
  closeGraceMs?: number;
}

/** A server that listens. */
export interface HttpListening {
  /** The address of the endpoint, path included. */
  readonly url: string;
  readonly port: number;
  /**
   * Takes no new connections, ends open streams, waits for answers under way and breaks off what is left after
   * `closeGraceMs`. Idempotent, never rejects.
   */
  close(): Promise<void>;
}

/**
 * Serves exchanges on a node:http server of its own, with limits on all that a client can make long or large.
 *
 * @throws McpError `TRANSPORT_FAILED` when the address cannot be listened on.
 * @throws TypeError when an option is out of range or cannot mean anything.
 */
export async function listenHttp(
  handler: HttpHandler,
  options: HttpListenOptions = {},
): Promise<HttpListening> {
  const { host = '127.0.0.1', port = 0, path = '/mcp' } = options;
  const settings = readServerOptions({ ...options, path });
  const limits = readLimits(options);
  const server = await createServer(limits, settings);
  const listener = createNodeListener(handler, settings);
  server.on('request', listener);
  // An expectation that nobody knows is none.
  server.on('checkExpectation', listener);
  server.on('checkContinue', createNodeListener(handler, settings, true));
  server.on('clientError', refuseBytes);
  await started(server, host, port);
  server.on('error', (cause) => settings.onError(failure(`The server at ${host} failed`, cause)));
  // A server on a host and port has an address with a port.
  const address = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  return {
    url: `http://${reachableHost(host, address)}:${address.port}${path}`,
    port: address.port,
    close: () => {
      closing ??= close(server, settings, limits.closeGraceMs);
      return closing;
    },
  };
}

interface Limits {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxHeaderBytes: number;
  readonly maxConnections: number;
  readonly closeGraceMs: number;
}

function readLimits(options: HttpListenOptions): Limits {
  const { port = 0, requestTimeoutMs = 60_000 } = options;
  const { headersTimeoutMs = Math.min(20_000, requestTimeoutMs) } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) misuse('port', 'from 0 to 65535', shown(port));
  if (headersTimeoutMs > requestTimeoutMs) {
    throw new TypeError('headersTimeoutMs must not exceed requestTimeoutMs: the head is part of the request');
  }
  return {
    headersTimeoutMs: timerMs('headersTimeoutMs', headersTimeoutMs),
    requestTimeoutMs: timerMs('requestTimeoutMs', requestTimeoutMs),
    idleTimeoutMs: timerMs('idleTimeoutMs', options.idleTimeoutMs ?? 60_000),
    maxHeaderBytes: atLeastOne('maxHeaderBytes', options.maxHeaderBytes ?? 16 * 1024),
    maxConnections: atLeastOne('maxConnections', options.maxConnections ?? 10_000),
    closeGraceMs: timerMs('closeGraceMs', options.closeGraceMs ?? 3000),
  };
}

/** Loads node:http only here, where a server is asked for. */
async function createServer(limits: Limits, settings: HttpServerSettings): Promise<Server> {
  const http = await import('node:http');
  const { headersTimeoutMs, requestTimeoutMs } = limits;
  const server = http.createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, headersTimeoutMs),
    keepAliveTimeout: limits.idleTimeoutMs,
    maxHeaderSize: limits.maxHeaderBytes,
    noDelay: true,
  });
  // Node drops surplus headers in silence; with one more than is allowed the guard sees that there were some.
  server.maxHeadersCount = settings.maxHeaders + 1;
  server.maxConnections = limits.maxConnections;
  return server;
}

function started(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error) => reject(failure(`Cannot listen on ${host} port ${port}`, cause));
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      resolve();
    });
  });
}

async function close(server: Server, settings: HttpServerSettings, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // Connections whose answer is under way follow as soon as it is out.
  server.keepAliveTimeout = 1;
  for (const exchange of settings.streaming) exchange.hangUp();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}

/** How often connections are looked at that are late with their requests. */
const TIMEOUT_CHECK_MS = 5000;

const STATUS_OF: { readonly [code: string]: string } = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Content Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Answers bytes that are no HTTP request, where no other answer has begun on the connection. */
function refuseBytes(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (socket.writableEnded) return;
  // Node keeps the response that owns a connection here, and looks at it for the same purpose when nobody listens.
  const { _httpMessage: answer } = socket as Duplex & { _httpMessage?: ServerResponse | null };
  if (!socket.writable || answer?.headersSent) {
    socket.destroy();
    return;
  }
  const status = STATUS_OF[error.code ?? ''] ?? '400 Bad Request';
  const { body } = new Refusal(400, INVALID_REQUEST, `Cannot read the request: ${status.slice(4)}`);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** The host to put into an address, given what was listened on. */
export function reachableHost(host: string, { family, address }: AddressInfo): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  if (address === '::') return '[::1]';
  return family === 'IPv6' && host.includes(':') ? `[${host}]` : host;
}

function failure(what: string, cause: Error): McpError {
  return new McpError('TRANSPORT_FAILED', `${what}: ${cause.message}`, { cause });
}
