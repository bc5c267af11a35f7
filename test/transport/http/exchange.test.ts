import { afterEach, describe, expect, it } from 'vitest';
import type { McpError } from '../../../src/jsonrpc/index.ts';
import type { EventStream } from '../../../src/transport/http/event-stream.ts';
import type { HttpExchange, HttpHandler } from '../../../src/transport/http/exchange.ts';
import {
  type HttpListening,
  type HttpListenOptions,
  listenHttp,
} from '../../../src/transport/http/listen.ts';
import { ask, post, RawClient } from './raw-client.ts';

let server: HttpListening;
let errors: McpError[];

afterEach(() => server.close());

async function start(handler: HttpHandler, options: HttpListenOptions = {}): Promise<void> {
  errors = [];
  server = await listenHttp(handler, { onError: (error) => errors.push(error), ...options });
}

const GET = 'GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n';
const DELETE = 'DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n';

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}

describe('an exchange', () => {
  it('shows what was asked', async () => {
    await start((exchange) => {
      const { method, url, path, body, auth } = exchange;
      exchange.reply(200, {
        seen: { method, url, path, body, auth: auth ?? null },
        header: exchange.header('x-mine'),
        missing: exchange.header('x-none') ?? null,
        inherited: exchange.header('constructor') ?? null,
      });
    });
    const response = await ask(server.port, post('{"a":"世"}', { 'X-Mine': '  some value ' }, '/mcp?q=1'));
    expect(JSON.parse(Buffer.from(response.body, 'latin1').toString())).toEqual({
      seen: { method: 'POST', url: '/mcp?q=1', path: '/mcp', body: { a: '世' }, auth: null },
      header: 'some value',
      missing: null,
      inherited: null,
    });
  });

  it('is answered in one piece, with its length and the headers of the handler', async () => {
    await start((exchange) => exchange.reply(200, { text: 'é' }, { 'mcp-session-id': 'abc' }));
    const response = await ask(server.port, post('{}'));
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': '13',
      'mcp-session-id': 'abc',
    });
    expect(response.body).toBe(Buffer.from('{"text":"é"}').toString('latin1'));
  });

  it('may be answered without a body', async () => {
    await start((exchange) => exchange.reply(202));
    const response = await ask(server.port, post('{}'));
    expect(response.status).toBe(202);
    expect(response.headers['content-length']).toBe('0');
    expect(response.headers).not.toHaveProperty('content-type');
  });

  it('may be answered later', async () => {
    const waiting: HttpExchange[] = [];
    await start((exchange) => {
      waiting.push(exchange);
      if (waiting.length === 2) for (const one of waiting) one.reply(200, { body: one.body });
    });
    const answers = await Promise.all([ask(server.port, post('{"n":1}')), ask(server.port, post('{"n":2}'))]);
    expect(answers.map((answer) => answer.body)).toEqual(['{"body":{"n":1}}', '{"body":{"n":2}}']);
  });

  it.each<[string, string]>([
    ['GET', GET],
    ['DELETE', DELETE],
  ])('of method %s has no body', async (_method, request) => {
    await start((exchange) => exchange.reply(200, { body: typeof exchange.body }));
    expect((await ask(server.port, request)).body).toBe('{"body":"undefined"}');
  });

  it('is answered only once', async () => {
    const failures: unknown[] = [];
    await start((exchange) => {
      exchange.reply(200, { first: true });
      for (const again of [() => exchange.reply(200, {}), () => exchange.stream()]) {
        try {
          again();
        } catch (error) {
          failures.push(error);
        }
      }
    });
    expect((await ask(server.port, post('{}'))).body).toBe('{"first":true}');
    expect(failures).toEqual([expect.any(TypeError), expect.any(TypeError)]);
  });

  it.each<[string, HttpHandler]>([
    [
      'throws',
      () => {
        throw new Error('secret');
      },
    ],
    ['rejects', async () => Promise.reject(new Error('secret'))],
    ['answers with what is no JSON', (exchange) => exchange.reply(200, { n: 1n, text: 'secret' })],
    ['answers with an impossible header', (exchange) => exchange.reply(200, {}, { 'x-a': 'secret\r\nx: y' })],
    ['streams with an impossible header', (exchange) => void exchange.stream({ 'x-a': 'secret\r\nx: y' })],
  ])('is answered with a bare 500 when its handler %s', async (_how, handler) => {
    await start(handler);
    const response = await ask(server.port, post('{}'));
    expect(response.status).toBe(500);
    expect(response.body).toBe('{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"}}');
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ code: 'HANDLER_FAILED', cause: expect.any(Error) });
  });

  it('keeps its answer when its handler fails behind it', async () => {
    await start(async (exchange) => {
      exchange.reply(200, { ok: true });
      throw new Error('late');
    });
    expect((await ask(server.port, post('{}'))).body).toBe('{"ok":true}');
    expect(errors.map((error) => error.code)).toEqual(['HANDLER_FAILED']);
  });
});

describe('a streamed answer', () => {
  it('starts at once and is not to be buffered on its way', async () => {
    let stream: EventStream | undefined;
    await start((exchange) => {
      stream = exchange.stream({ 'mcp-session-id': 'abc' });
    });
    const client = new RawClient(server.port).write(post('{}'));
    const head = (await client.until('\r\n\r\n')).toLowerCase();
    expect(head).toContain('content-type: text/event-stream\r\n');
    expect(head).toContain('cache-control: no-cache, no-transform\r\n');
    expect(head).toContain('x-accel-buffering: no\r\n');
    expect(head).toContain('mcp-session-id: abc\r\n');
    stream?.send({ n: 1 });
    await client.until('data: {"n":1}\n\n');
    stream?.send({ n: 2 }, { id: 's-2' });
    await client.until('id: s-2\ndata: {"n":2}\n\n');
    stream?.end();
    await client.until('0\r\n\r\n');
    client.destroy();
  });

  it('leaves its connection fit for the next request', async () => {
    await start((exchange) => {
      const stream = exchange.stream();
      stream.send({ body: exchange.body });
      stream.end();
    });
    const client = new RawClient(server.port).write(post('{"n":1}'));
    await client.until('0\r\n\r\n');
    client.text = '';
    client.write(post('{"n":2}'));
    expect(await client.until('0\r\n\r\n')).toContain('data: {"body":{"n":2}}');
    client.destroy();
  });

  it('shows that it lives while it is quiet', async () => {
    await start((exchange) => void exchange.stream(), { keepAliveMs: 5 });
    const client = new RawClient(server.port).write(GET);
    await client.until(':\n\n\r\n3\r\n:\n\n');
    client.destroy();
  });

  it('breaks off when its handler fails, so that nobody takes it for complete', async () => {
    await start(async (exchange) => {
      exchange.stream().send({ n: 1 });
      throw new Error('secret');
    });
    const client = new RawClient(server.port).write(post('{}'));
    await client.closed;
    expect(client.text).not.toContain('0\r\n\r\n');
    expect(client.text).not.toContain('secret');
    expect(errors.map((error) => error.code)).toEqual(['HANDLER_FAILED']);
  });

  it('outlives the time a client has to send its request', async () => {
    let stream: EventStream | undefined;
    await start(
      (exchange) => {
        stream = exchange.stream();
      },
      { requestTimeoutMs: 20, headersTimeoutMs: 20, idleTimeoutMs: 20, keepAliveMs: 30 },
    );
    const client = new RawClient(server.port).write(GET);
    // Comments are later than every one of those times.
    await client.until(':\n\n\r\n3\r\n:\n\n\r\n3\r\n:\n\n');
    stream?.send({ n: 1 });
    await client.until('{"n":1}');
    client.destroy();
  });
});

describe('the signal of an exchange', () => {
  it('is aborted when the client leaves before the answer', async () => {
    let reason: Promise<unknown> | undefined;
    const seen = new Promise<void>((resolve) => {
      void start((exchange) => {
        reason = aborted(exchange.signal);
        resolve();
      }).then(() => {
        client = new RawClient(server.port).write(post('{}'));
      });
    });
    let client: RawClient | undefined;
    await seen;
    client?.destroy();
    expect(await reason).toMatchObject({ code: 'CLOSED' });
  });

  it('is aborted when the client leaves a stream, which is closed then', async () => {
    let opened: (exchange: HttpExchange, stream: EventStream) => void = () => {};
    const open = new Promise<[HttpExchange, EventStream]>((resolve) => {
      opened = (...both) => resolve(both);
    });
    await start((exchange) => opened(exchange, exchange.stream()));
    const client = new RawClient(server.port).write(GET);
    const [exchange, stream] = await open;
    await client.until('\r\n\r\n');
    client.destroy();
    await aborted(exchange.signal);
    expect(stream.closed).toBe(true);
    expect(() => stream.send({})).toThrow(expect.objectContaining({ code: 'CLOSED' }));
    expect(exchange.reply(200, {})).toBeUndefined();
  });

  it('is aborted from the start when it is asked for too late', async () => {
    let late: Promise<HttpExchange> | undefined;
    await start((exchange) => {
      late = new Promise((resolve) => {
        client.socket.once('close', () => setImmediate(resolve, exchange));
        client.destroy();
      });
    });
    const client = new RawClient(server.port).write(post('{}'));
    await client.closed;
    // The server's end of the connection closes on its own time.
    const exchange = await late;
    await aborted(exchange?.signal as AbortSignal);
    expect(exchange?.stream().closed).toBe(true);
  });

  it('stays as it is when the client leaves behind the answer', async () => {
    let signal: AbortSignal | undefined;
    await start((exchange) => {
      signal = exchange.signal;
      exchange.reply(200, {});
    });
    await ask(server.port, post('{}'));
    await server.close();
    expect(signal?.aborted).toBe(false);
  });

  it('is aborted for each of several requests on one connection', async () => {
    const reasons: Promise<unknown>[] = [];
    let all: () => void = () => {};
    const arrived = new Promise<void>((resolve) => {
      all = resolve;
    });
    await start((exchange) => {
      reasons.push(aborted(exchange.signal));
      if (reasons.length === 12) all();
    });
    const client = new RawClient(server.port).write(post('{}').repeat(12));
    await arrived;
    client.destroy();
    await Promise.all(reasons);
  });
});
