import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { WebSocketOptions } from '../../src/transport/index.ts';
import { WebSocketTransport } from '../../src/transport/index.ts';
import { RecordingSink } from './recording-sink.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Frame types, by their first byte with FIN set. */
export const TEXT = 0x81;
export const BINARY = 0x82;
export const CLOSE = 0x88;
export const PING = 0x89;
export const PONG = 0x8a;

/** One frame as a server writes it: not masked. */
export function frame(type: number, payload: string | Buffer = ''): Buffer {
  const bytes = Buffer.from(payload);
  const long = bytes.length > 125;
  const head = Buffer.from(long ? [type, 126, bytes.length >> 8, bytes.length & 0xff] : [type, bytes.length]);
  return Buffer.concat([head, bytes]);
}

/** One frame as a client writes it: masked, with a mask that changes nothing. */
export function maskedFrame(type: number, payload: string | Buffer = ''): Buffer {
  const plain = frame(type, payload);
  const headBytes = (plain[1] as number) === 126 ? 4 : 2;
  plain[1] = (plain[1] as number) | 0x80;
  return Buffer.concat([plain.subarray(0, headBytes), Buffer.alloc(4), plain.subarray(headBytes)]);
}

export function closeFrame(code: number, reason = ''): Buffer {
  return frame(CLOSE, Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]));
}

/** A server made of bytes: it answers the handshake as it is told, and then does what `serve` does with the socket. */
export async function rawServer(
  serve: (socket: Socket, request: string) => void,
  answer: (accept: string) => string = accepting,
) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}); // The other end may break off: that is what is tested.
    socket.once('data', (head) => {
      const request = head.toString('latin1');
      const key = /^sec-websocket-key: (.*)\r$/im.exec(request)?.[1] ?? '';
      socket.write(
        answer(
          createHash('sha1')
            .update(key + GUID)
            .digest('base64'),
        ),
        'latin1',
      );
      serve(socket, request);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number }; // Sound: it listens on a port.
  return {
    url: `ws://127.0.0.1:${port}/mcp`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function accepting(accept: string, protocol = 'sec-websocket-protocol: mcp\r\n'): string {
  return `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n${protocol}\r\n`;
}

export async function dialWebSocket(url: string, options: WebSocketOptions = {}) {
  const transport = new WebSocketTransport(url, options);
  const sink = new RecordingSink();
  await transport.start(sink);
  return { transport, sink };
}

/** What {@link rawClient} sends, line by line; undefined leaves a header out. */
export interface RawHandshake {
  method?: string;
  headers?: { [name: string]: string | undefined };
  /** Bytes that are sent in one piece with the handshake. */
  behind?: Buffer;
}

/** A client made of bytes: it sends a handshake, and gives the answer's head and the socket behind it. */
export async function rawClient(url: string, handshake: RawHandshake = {}) {
  const { hostname, port, host, pathname } = new URL(url);
  const headers = {
    host,
    connection: 'upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-protocol': 'mcp',
    ...handshake.headers,
  };
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const lines = Object.entries(headers).filter(([, value]) => value !== undefined);
  const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const head = Buffer.from(`${handshake.method ?? 'GET'} ${pathname} HTTP/1.1\r\n${text}\r\n`);
  socket.write(handshake.behind ? Buffer.concat([head, handshake.behind]) : head);
  const answer = await new Promise<Buffer>((resolve, reject) => {
    socket.once('data', resolve);
    socket.once('close', () => reject(new Error('The server hung up')));
  });
  const end = answer.indexOf('\r\n\r\n') + 4;
  if (answer.length > end) socket.unshift(answer.subarray(end));
  return {
    socket,
    status: Number(answer.toString('latin1', 9, 12)),
    head: answer.toString('latin1', 0, end),
  };
}

/** The whole frames that bytes begin with, of up to 125 bytes each. */
export function framesIn(bytes: Buffer): { type: number; payload: Buffer }[] {
  const frames = [];
  for (let at = 0; at + 2 <= bytes.length; ) {
    const second = bytes[at + 1] as number; // In range, by the loop's condition.
    const start = at + (second > 0x7f ? 6 : 2);
    const end = start + (second & 0x7f);
    if (end > bytes.length) break;
    const payload = Buffer.from(bytes.subarray(start, end));
    const mask = second > 0x7f ? bytes.subarray(at + 2, start) : Buffer.alloc(4);
    for (let index = 0; index < payload.length; index++) {
      payload[index] = (payload[index] as number) ^ (mask[index % 4] as number);
    }
    frames.push({ type: bytes[at] as number, payload });
    at = end;
  }
  return frames;
}

/** Reads the code of the close frame that one of our ends sends, whatever short frames come before it. */
export async function closeCodeOf(socket: Socket): Promise<number> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    bytes = Buffer.concat([bytes, chunk]);
    const close = framesIn(bytes).find(({ type }) => type === CLOSE);
    if (close) return close.payload.readUInt16BE(0);
  }
  throw new Error('The connection ended without a close frame');
}
