import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import net from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, expect } from 'vitest';
import type { HttpExchange } from '../../src/transport/http/exchange.ts';
import { type HttpListening, listenHttp } from '../../src/transport/http/listen.ts';
import { ask, post } from '../transport/http/raw-client.ts';
import { cut, cuts } from './arbitraries.ts';
import { fuzz } from './property.ts';

const REQUESTS = [
  post('{"a":[1,{}]}'),
  post('3\r\n{ }\r\n0\r\n\r\n', { 'content-length': undefined, 'transfer-encoding': 'chunked' }),
  'GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n',
];
const PIECES = [
  '\r\n',
  '\r\n\r\n',
  'Host: x\r\n',
  'Expect: 100-continue\r\n',
  'Connection: close\r\n',
  'Connection: upgrade\r\nUpgrade: h2c\r\n',
  'Content-Length: 99999999\r\n',
  'Transfer-Encoding: chunked\r\n',
  'HTTP/1.0',
  '0\r\n\r\n',
  '\0',
  ' ',
  ':',
  ...REQUESTS,
];

const edit = fc.record({
  at: fc.nat(300),
  remove: fc.oneof(fc.constant(0), fc.nat(20)),
  insert: fc.oneof(fc.constantFrom('', ...PIECES), fc.string({ unit: 'binary', maxLength: 3 })),
});

const WAYS = ['reply', 'later', 'fail', 'stream'] as const;
type Way = (typeof WAYS)[number];

let server: HttpListening;
/** How the handler answers. */
let way: Way = 'reply';

beforeAll(async () => {
  server = await listenHttp(handle, { closeGraceMs: 50 });
});
afterAll(() => server.close());

/** Whatever bytes come in whatever pieces, and however the client leaves: the next client is answered. */
fuzz({
  name: 'http-bytes',
  inputs: fc.record({
    request: fc.constantFrom(...REQUESTS),
    edits: fc.array(edit, { maxLength: 4 }),
    cuts,
    way: fc.constantFrom(...WAYS),
    leaves: fc.constantFrom<'end' | 'destroy' | 'resetAndDestroy'>('end', 'destroy', 'resetAndDestroy'),
  }),
  async holds(input) {
    way = input.way;
    const socket = net.connect(server.port, '127.0.0.1').setNoDelay();
    const closed = new Promise((resolve) => socket.on('close', resolve));
    let said = '';
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      said += chunk.toString('latin1');
    });
    await once(socket, 'connect');
    for (const chunk of cut(Buffer.from(edited(input.request, input.edits)), input.cuts)) {
      socket.write(chunk);
      await new Promise(setImmediate);
    }
    socket[input.leaves]();
    await closed;
    expect(said).toMatch(/^(HTTP\/1\.1 \d\d\d |$)/);
    const answer = await ask(server.port, post('{}', { 'x-kind': 'good' }));
    expect(answer.body).toBe('{"good":true}');
  },
});

async function handle(exchange: HttpExchange): Promise<void> {
  if (exchange.header('x-kind') === 'good') return exchange.reply(200, { good: true });
  switch (way) {
    case 'reply':
      return exchange.reply(200, { seen: exchange.body });
    case 'later':
      await new Promise(setImmediate);
      return exchange.reply(202);
    case 'fail':
      throw new Error('a handler that fails');
    case 'stream': {
      const stream = exchange.stream();
      for (let n = 0; n < 3 && !stream.closed; n++) {
        await stream.send({ n });
        await new Promise(setImmediate);
      }
      stream.end();
    }
  }
}

function edited(request: string, edits: { at: number; remove: number; insert: string }[]): string {
  return edits.reduce(
    (text, { at, remove, insert }) => text.slice(0, at) + insert + text.slice(at + remove),
    request,
  );
}
