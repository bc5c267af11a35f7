import { once } from 'node:events';
import net from 'node:net';

export interface RawResponse {
  status: number;
  /** By lower-case name; repeated ones joined. */
  headers: Record<string, string>;
  body: string;
}

/** A client that sends exactly the bytes it is given and shows exactly the bytes it gets. */
export class RawClient {
  readonly socket: net.Socket;
  /** What came and was not read yet. */
  text = '';
  readonly closed: Promise<void>;

  constructor(port: number, host = '127.0.0.1') {
    this.socket = net.connect(port, host);
    this.socket.setEncoding('latin1');
    this.socket.on('data', (chunk: string) => {
      this.text += chunk;
    });
    this.socket.on('error', () => {});
    this.closed = once(this.socket, 'close').then(() => {});
  }

  /** Sends lines of text as UTF-8. */
  write(...lines: string[]): this {
    this.socket.write(lines.join('\r\n'), 'utf8');
    return this;
  }

  /** Waits until what came contains `marker`; fails when the connection closes before. */
  async until(marker: string): Promise<string> {
    while (!this.text.includes(marker)) {
      const open = await Promise.race([
        once(this.socket, 'data').then(() => true),
        this.closed.then(() => false),
      ]);
      if (!open && !this.text.includes(marker)) {
        throw new Error(`closed before ${JSON.stringify(marker)}: ${JSON.stringify(this.text)}`);
      }
    }
    return this.text;
  }

  /** Reads one response that has a content length, or none of a body. */
  async response(): Promise<RawResponse> {
    await this.until('\r\n\r\n');
    const end = this.text.indexOf('\r\n\r\n');
    const [statusLine = '', ...lines] = this.text.slice(0, end).split('\r\n');
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
    }
    const length = Number(headers['content-length'] ?? 0);
    while (this.text.length < end + 4 + length) await once(this.socket, 'data');
    const body = this.text.slice(end + 4, end + 4 + length);
    this.text = this.text.slice(end + 4 + length);
    return { status: Number(statusLine.split(' ')[1]), headers, body };
  }

  destroy(): void {
    this.socket.destroy();
  }
}

/** The lines of a good POST, for a test to bend one of them. */
export function post(body: string, extra: Record<string, string | undefined> = {}, path = '/mcp'): string {
  const headers: Record<string, string | undefined> = {
    host: '127.0.0.1',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'content-length': String(Buffer.byteLength(body)),
    ...extra,
  };
  const lines = Object.entries(headers)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}`);
  return [`POST ${path} HTTP/1.1`, ...lines, '', body].join('\r\n');
}

/** Sends one request on a connection of its own and reads one answer. */
export async function ask(port: number, request: string): Promise<RawResponse> {
  const client = new RawClient(port);
  try {
    return await client.write(request).response();
  } finally {
    client.destroy();
  }
}

/** The JSON-RPC error of an answer. */
export function errorOf(response: RawResponse): { code: number; message: string } {
  const parsed = JSON.parse(response.body);
  if ('id' in parsed) throw new Error('an answer to what was not read must have no id');
  return parsed.error;
}
