import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach } from 'vitest';

/** A request as it arrived. */
export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** The body as the message that it is; empty for requests without one, and for forms. */
  message: { jsonrpc?: '2.0'; id?: string | number; method?: string; params?: object };
}

export type Answer = (request: Received, response: ServerResponse) => void;

const cleanups: (() => Promise<void>)[] = [];

/** Everything that these servers and their clients opened is closed behind each test. */
export function closeBehindTest(close: () => Promise<void>): void {
  cleanups.push(close);
}

afterEach(async () => {
  // The last opened goes first: clients before their servers.
  for (const close of cleanups.splice(0).reverse()) await close();
});

/** A node:http server on a free port that answers as the test says and keeps what it received. */
export class ScriptedServer {
  readonly received: Received[] = [];
  readonly origin: string;
  /** How many connections were opened so far. */
  connections = 0;
  readonly #waiting = new Set<() => void>();

  private constructor(port: number) {
    this.origin = `http://127.0.0.1:${port}`;
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  static async start(answer: Answer): Promise<ScriptedServer> {
    const server = createHttpServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString('utf8');
        const { method = '', url: path = '', headers } = request;
        const isMessage = body !== '' && !headers['content-type']?.includes('form');
        const received = { method, path, headers, body, message: isMessage ? JSON.parse(body) : {} };
        scripted.received.push(received);
        scripted.#wake();
        answer(received, response);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const scripted = new ScriptedServer((server.address() as AddressInfo).port);
    server.on('connection', () => scripted.connections++);
    closeBehindTest(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    return scripted;
  }

  /** Resolves with the request number `count`, counted from one. */
  async requestNumber(count: number): Promise<Received> {
    await new Promise<void>((resolve) => {
      const wake = () => {
        if (this.received.length < count) return;
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
      wake();
    });
    // Sound: the line above waited until there are so many.
    return this.received[count - 1] as Received;
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}

/** A bare socket server on a free port: `answer` gets each whole request as text, and the socket to write any bytes to. */
export async function startRawServer(answer: (request: string, socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      for (let length = requestLength(text); length > 0; length = requestLength(text)) {
        const request = text.slice(0, length);
        text = text.slice(length);
        answer(request, socket);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeBehindTest(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** How long the first request in `text` is; 0 while it is not whole. */
function requestLength(text: string): number {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return 0;
  const length = end + 4 + Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
  return text.length >= length ? length : 0;
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

export function startEvents(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  return response;
}

/** One message as an event. */
export function event(message: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`;
}

/** The result that answers a request. */
export function resultFor({ message }: Received, result: object = {}): object {
  return { jsonrpc: '2.0', id: message.id, result };
}
