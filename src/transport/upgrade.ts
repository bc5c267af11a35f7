import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { INVALID_REQUEST } from '../jsonrpc/index.ts';
import type { HttpHeaders } from './http/exchange.ts';
import { checkEndpoint, checkEntry, type GuardedRequest, type GuardRules } from './http/guard.ts';
import { LINGER_MS, LOOPBACK_ADDRESS } from './http/node.ts';
import { Refusal } from './http/refusal.ts';
import { SUBPROTOCOL } from './websocket-channel.ts';

const PHRASES: { readonly [status: number]: string } = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  426: 'Upgrade Required',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** A request to upgrade, as the guards of HTTP see it. */
class UpgradeRequest implements GuardedRequest {
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  get method(): string {
    return this.#request.method ?? '';
  }

  get url(): string {
    return this.#request.url ?? '';
  }

  get path(): string {
    return pathOf(this.#request);
  }

  get headers(): HttpHeaders {
    const entries = Object.entries(this.#request.headersDistinct);
    return Object.fromEntries(entries.map(([name, values = []]) => [name, values.join(', ')]));
  }

  get headerCount(): number {
    return this.#request.rawHeaders.length / 2;
  }

  get loopback(): boolean {
    return LOOPBACK_ADDRESS.test(this.#request.socket.localAddress ?? '');
  }

  header(name: string): string | undefined {
    return this.#request.headersDistinct[name]?.join(', ');
  }
}

export function pathOf({ url = '' }: IncomingMessage): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/**
 * Says why a request to upgrade is turned away: by the guards that protect HTTP endpoints, or because it asks for
 * something else than MCP over WebSocket. Whether the handshake is well-formed is for ws to say.
 */
export function checkUpgrade(request: IncomingMessage, rules: GuardRules): Refusal | undefined {
  const head = new UpgradeRequest(request);
  return (
    checkEntry(head, rules) ?? checkProtocol(head) ?? checkEndpoint(head, rules) ?? checkSubprotocol(head)
  );
}

function checkProtocol(request: UpgradeRequest): Refusal | undefined {
  return request.header('upgrade')?.toLowerCase() === 'websocket' ? undefined : upgradeRequired();
}

function checkSubprotocol(request: UpgradeRequest): Refusal | undefined {
  const offered = request.header('sec-websocket-protocol')?.split(',') ?? [];
  if (offered.some((each) => each.trim() === SUBPROTOCOL)) return undefined;
  return refusal(400, `it does not offer the subprotocol "${SUBPROTOCOL}"`);
}

/** The answer to what is no request for a WebSocket. */
export function upgradeRequired(): Refusal {
  return refusal(426, 'only WebSockets are served here', { upgrade: 'websocket' });
}

export function refusal(status: number, why: string, headers?: Readonly<Record<string, string>>): Refusal {
  return new Refusal(status, INVALID_REQUEST, `Cannot serve the request: ${why}`, headers);
}

/** Answers a request to upgrade with a refusal and ends the connection. */
export function refuseUpgrade(socket: Duplex, { status, body, headers }: Refusal): void {
  const text = JSON.stringify(body);
  const head = {
    connection: 'close',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  };
  const fields = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${PHRASES[status] ?? ''}\r\n${fields.join('')}\r\n${text}`);
  // Closing upon bytes that nobody read would destroy the answer on its way.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
