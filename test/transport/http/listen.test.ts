import { once } from 'node:events';
import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { EventStream } from '../../../src/transport/http/event-stream.ts';
import type { HttpExchange, HttpHandler } from '../../../src/transport/http/exchange.ts';
import {
  type HttpListening,
  type HttpListenOptions,
  listenHttp,
} from '../../../src/transport/http/listen.ts';
import { ask, errorOf, post, RawClient } from './raw-client.ts';

let server: HttpListening;

afterEach(() => server?.close());

const ok: HttpHandler = (exchange) => exchange.reply(200, { ok: true });

async function start(options: HttpListenOptions = {}, handler = ok): Promise<void> {
  server = await listenHttp(handler, options);
}

describe('a listening server', () => {
  it('serves one path of this machine alone by default', async () => {
    await start();
    expect(server.url).toBe(`http://127.0.0.1:${server.port}/mcp`);
    expect((await ask(server.port, post('{}'))).status).toBe(200);
    const elsewhere = await ask(server.port, post('{}', {}, '/mcp/other'));
    expect(elsewhere.status).toBe(404);
    expect(errorOf(elsewhere)).toEqual({
      code: -32600,
      message: 'Cannot serve the request: nothing is served at "/mcp/other"',
    });
  });

  it('names an address that can be reached, whatever it listens on', async () => {
    await start({ host: '0.0.0.0', path: '/x' });
    expect(server.url).toBe(`http://127.0.0.1:${server.port}/x`);
  });

  it('guards the Host header of loopback connections, whatever it listens on', async () => {
    await start({ host: '0.0.0.0' });
    expect((await ask(server.port, post('{}', { host: 'evil.example' }))).status).toBe(403);
    expect((await ask(server.port, post('{}', { host: `localhost:${server.port}` }))).status).toBe(200);
  });

  it('says what it cannot listen on', async () => {
    await start();
    await expect(listenHttp(ok, { port: server.port })).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringContaining(`Cannot listen on 127.0.0.1 port ${server.port}: `),
    });
  });

  it.each<HttpListenOptions>([
    { port: -1 },
    { port: 1.5 },
    { headersTimeoutMs: 2000, requestTimeoutMs: 1000 },
    { idleTimeoutMs: 0 },
    { closeGraceMs: Number.POSITIVE_INFINITY },
    { maxConnections: 0 },
    { path: '' },
  ])('refuses %j', async (options) => {
    await expect(listenHttp(ok, options)).rejects.toThrow(TypeError);
  });

  it('closes connections beyond their number', async () => {
    await start({ maxConnections: 1 });
    const first = new RawClient(server.port).write(post('{}'));
    expect((await first.response()).status).toBe(200);
    const second = new RawClient(server.port);
    await second.closed;
    first.destroy();
  });
});

describe('limits on requests', () => {
  it('bound the time for the head', async () => {
    await start({ headersTimeoutMs: 20 });
    const client = new RawClient(server.port).write('POST /mcp HTTP/1.1', 'Host: localhost', '');
    const response = await client.response();
    expect(response.status).toBe(408);
    expect(errorOf(response).code).toBe(-32600);
    await client.closed;
  });

  it('bound the time of a client that says nothing at all', async () => {
    await start({ headersTimeoutMs: 20 });
    await new RawClient(server.port).closed;
  });

  it('bound the time for the body', async () => {
    await start({ requestTimeoutMs: 20 });
    const client = new RawClient(server.port).write(post('{', { 'content-length': '10' }));
    expect((await client.response()).status).toBe(408);
    await client.closed;
  });

  it('bound the bytes of the head', async () => {
    await start({ maxHeaderBytes: 1000 });
    const response = await ask(server.port, post('{}', { 'x-long': 'x'.repeat(2000) }));
    expect(response.status).toBe(431);
    expect(errorOf(response).code).toBe(-32600);
  });

  it('bound the number of headers, and none is lost in silence', async () => {
    await start({ maxHeaders: 10 });
    const extra = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, 'x'])) as Record<string, string>;
    expect((await ask(server.port, post('{}', extra(6)))).status).toBe(200);
    expect((await ask(server.port, post('{}', extra(7)))).status).toBe(431);
    expect(
      (await ask(server.port, post('{}', { ...extra(500), origin: 'http://evil.example' }))).status,
    ).toBe(431);
  });

  it('bound the time a connection lies idle', async () => {
    await start({ idleTimeoutMs: 20 });
    const client = new RawClient(server.port).write(post('{}'));
    await client.response();
    await client.closed;
  });
});

describe('bytes that are no HTTP', () => {
  it.each([
    ['garbage', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['an unknown version', 'POST /mcp HTTP/7.1\r\nHost: localhost\r\n\r\n'],
    ['a header without a colon', 'POST /mcp HTTP/1.1\r\nHost localhost\r\n\r\n'],
    ['a space before the colon', 'POST /mcp HTTP/1.1\r\nHost : localhost\r\n\r\n'],
    ['two lengths', post('{}', { 'content-length': '2', 'Content-Length': '3' })],
    ['a length and chunks', post('{}', { 'transfer-encoding': 'chunked' })],
    [
      'a broken chunk',
      post('zz\r\n{}\r\n0\r\n\r\n', { 'content-length': undefined, 'transfer-encoding': 'chunked' }),
    ],
    ['a negative length', post('{}', { 'content-length': '-2' })],
  ])('are answered with a JSON-RPC error: %s', async (_name, bytes) => {
    await start();
    const client = new RawClient(server.port).write(bytes);
    const response = await client.response();
    expect(response.status).toBe(400);
    expect(response.headers['content-type']).toBe('application/json');
    expect(errorOf(response).code).toBe(-32600);
    await client.closed;
    expect((await ask(server.port, post('{}'))).status).toBe(200);
  });

  it('are not answered in the middle of a stream', async () => {
    let stream: EventStream | undefined;
    await start({}, (exchange) => {
      stream = exchange.stream();
      stream.send({ n: 1 });
    });
    const client = new RawClient(server.port).write(post('{}'));
    await client.until('{"n":1}');
    client.write('garbage\r\n\r\n');
    await client.closed;
    expect(client.text).not.toContain('400');
    expect(stream?.closed).toBe(true);
  });
});

describe('closing', () => {
  it('refuses new connections and closes idle ones', async () => {
    await start();
    const idle = new RawClient(server.port).write(post('{}'));
    await idle.response();
    await server.close();
    await idle.closed;
    const refused = net.connect(server.port, '127.0.0.1');
    const [error] = await once(refused, 'error');
    expect(error.code).toBe('ECONNREFUSED');
  });

  it('ends open streams whole, and tells their handlers', async () => {
    let exchange: HttpExchange | undefined;
    let signal: AbortSignal | undefined;
    await start({}, (it) => {
      exchange = it;
      signal = it.signal;
      it.stream().send({ n: 1 });
    });
    const client = new RawClient(server.port).write(post('{}'));
    await client.until('{"n":1}');
    await server.close();
    await client.closed;
    expect(client.text).toMatch(/0\r\n\r\n$/);
    expect(signal?.aborted).toBe(true);
    expect(exchange?.reply(200, {})).toBeUndefined();
  });

  it('waits for answers under way', async () => {
    let answer: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      void start({}, (exchange) => {
        answer = () => exchange.reply(200, { late: true });
        resolve();
      }).then(() => {
        client = new RawClient(server.port).write(post('{}'));
      });
    });
    let client: RawClient | undefined;
    await asked;
    const closed = server.close();
    answer();
    expect((await client?.response())?.body).toBe('{"late":true}');
    await closed;
    await client?.closed;
  });

  it('breaks off what is left after the grace', async () => {
    let ask: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    await start({ closeGraceMs: 20 }, () => ask());
    const client = new RawClient(server.port).write(post('{}'));
    await asked;
    await Promise.all([server.close(), server.close()]);
    await client.closed;
    expect(client.text).toBe('');
  });
});
