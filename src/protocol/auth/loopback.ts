import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpError, toError } from '../../jsonrpc/index.ts';

/** A receiver of redirects on this machine. */
export interface LoopbackOptions {
  /** The port to listen on. Default: the one that is registered already where it is free, else any free one. */
  port?: number;
  /** The path of the redirect address. Default `/callback`. */
  path?: string;
}

const HOST = '127.0.0.1';
const DEFAULT_PATH = '/callback';
const MAX_CONNECTIONS = 16;

/**
 * Listens on the loopback interface for the one redirect that ends an authorization. Whatever else arrives, another
 * state included, is turned away and changes nothing.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8252.html#section-7.3
 */
export class LoopbackReceiver {
  /** The redirect address. */
  readonly uri: string;
  readonly #server: Server;
  readonly #path: string;
  #expected: { state: string; take: (parameters: URLSearchParams) => void } | undefined;

  private constructor(server: Server, path: string) {
    const { port } = server.address() as AddressInfo; // Sound: it listens on a port.
    this.#server = server;
    this.#path = path;
    this.uri = `http://${HOST}:${port}${path}`;
    server.on('request', (request: IncomingMessage, response: ServerResponse) =>
      this.#answer(request, response),
    );
  }

  /**
   * @param registered Redirect addresses whose ports are tried first, where no port is asked for.
   * @throws McpError `UNAUTHORIZED` when the port that was asked for is taken.
   */
  static async open(
    { port, path = DEFAULT_PATH }: LoopbackOptions,
    registered: readonly string[],
  ): Promise<LoopbackReceiver> {
    const known = registered.map((uri) => portOf(uri, path)).filter((one) => one > 0);
    const ports = port === undefined ? [...known, 0] : [port];
    // Not imported at the top: who only imports the package shall not wait for it.
    const { createServer } = await import('node:http');
    let failure: unknown;
    for (const one of ports) {
      const server = createServer();
      server.maxConnections = MAX_CONNECTIONS;
      try {
        server.listen(one, HOST);
        await once(server, 'listening');
        return new LoopbackReceiver(server, path);
      } catch (error) {
        failure = error;
      }
    }
    const message = `Cannot listen on ${HOST} for the end of the authorization: ${toError(failure).message}`;
    throw new McpError('UNAUTHORIZED', message, { cause: failure });
  }

  /** Waits for the redirect with this state, once. @throws the signal's reason. */
  receive(state: string, signal: AbortSignal): Promise<URLSearchParams> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#expected = {
        state,
        take: (parameters) => {
          signal.removeEventListener('abort', onAbort);
          resolve(parameters);
        },
      };
    });
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const target = request.url ?? '';
    const url = URL.canParse(target, this.uri) ? new URL(target, this.uri) : undefined;
    const { host } = new URL(this.uri);
    const expected = this.#expected;
    if (!url || url.pathname !== this.#path || request.headers.host !== host) {
      respond(response, 404, 'There is nothing here.');
    } else if (request.method !== 'GET') {
      respond(response, 405, 'This is for GET only.');
    } else if (!expected || url.searchParams.get('state') !== expected.state) {
      respond(response, 400, 'This does not belong to an authorization that is going on.');
    } else {
      this.#expected = undefined;
      const isError = url.searchParams.has('error');
      // The page is to arrive before the server goes away.
      response.on('close', () => expected.take(url.searchParams));
      respond(response, 200, isError ? 'The authorization failed. ' : 'The authorization is done. ');
    }
  }
}

function portOf(uri: string, path: string): number {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  return url?.hostname === HOST && url.pathname === path ? Number(url.port) : 0;
}

function respond(response: ServerResponse, status: number, text: string): void {
  const page = `<!doctype html><meta charset="utf-8"><title>mcpwire</title><p>${text}</p>${status === 200 ? '<p>You may close this page.</p>' : ''}`;
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'",
    'referrer-policy': 'no-referrer',
    connection: 'close',
  });
  response.end(page);
}
