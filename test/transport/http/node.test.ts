import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import type { HttpHandler } from '../../../src/transport/http/exchange.ts';
import { type NodeRequest, toNodeListener } from '../../../src/transport/http/node.ts';
import { ask, errorOf, post, RawClient } from './raw-client.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

const show: HttpHandler = (exchange) => {
  const { body, url, auth } = exchange;
  exchange.reply(200, { body, url, auth: auth ?? null });
};

describe('a listener for node:http', () => {
  it('serves any path, since a router may have chosen it', async () => {
    const port = await serve(toNodeListener(show));
    const answer = await ask(port, post('{"n":1}', {}, '/any?x=1'));
    expect(JSON.parse(answer.body)).toEqual({ body: { n: 1 }, url: '/any?x=1', auth: null });
  });

  it('guards the Host header of loopback connections by itself', async () => {
    const port = await serve(toNodeListener(show));
    expect((await ask(port, post('{}', { host: 'evil.example' }))).status).toBe(403);
    const open = await serve(toNodeListener(show, { allowedHosts: ['mcp.example.com'] }));
    expect((await ask(open, post('{}', { host: 'mcp.example.com' }))).status).toBe(200);
  });

  it('refuses options that cannot be meant when it is made', () => {
    expect(() => toNodeListener(show, { maxBodyBytes: -1 })).toThrow(TypeError);
  });

  it('serves clients that ask whether to go on', async () => {
    const port = await serve(toNodeListener(show));
    const client = new RawClient(port).write(post('', { 'content-length': '2', expect: '100-continue' }));
    await client.until('HTTP/1.1 100 Continue\r\n\r\n');
    client.text = '';
    client.write('{}');
    expect((await client.response()).status).toBe(200);
    client.destroy();
  });

  it('refuses more than the allowed number of headers on any server', async () => {
    const port = await serve(toNodeListener(show, { maxHeaders: 10 }));
    const extra = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`x-${n}`, 'x']));
    expect((await ask(port, post('{}', extra))).status).toBe(431);
  });
});

describe('the time for an answer', () => {
  const large = { text: 'x'.repeat(20_000_000) };

  it.each<[string, HttpHandler]>([
    ['one answer', (exchange) => exchange.reply(200, large)],
    ['an open stream', (exchange) => void exchange.stream().send(large)],
    [
      'a stream that was ended',
      (exchange) => {
        const stream = exchange.stream();
        void stream.send(large);
        stream.end();
      },
    ],
  ])('ends when the client takes nothing of %s for four keep-alive periods', async (_what, handler) => {
    const listener = toNodeListener(handler, { keepAliveMs: 20 });
    let cutOff: () => void = () => {};
    const closed = new Promise<void>((resolve) => {
      cutOff = resolve;
    });
    const port = await serve((request, response) => {
      response.on('close', cutOff);
      listener(request, response);
    });
    const client = new RawClient(port).write(post('{}'));
    client.socket.pause();
    await closed;
    client.socket.resume();
    await client.closed;
    expect(client.text.length).toBeLessThan(20_000_000);
  });

  it('starts anew with the next request on the connection', async () => {
    const listener = toNodeListener(
      (exchange) => {
        if (exchange.url === '/stream') exchange.stream().end();
        else setTimeout(() => exchange.reply(200, { late: true }), 100);
      },
      { keepAliveMs: 5 },
    );
    const port = await serve(listener);
    const client = new RawClient(port).write(post('{}', {}, '/stream') + post('{}', {}, '/slow'));
    await client.until('{"late":true}');
    client.destroy();
  });
});

describe('under express', () => {
  async function mount(...handlers: express.RequestHandler[]): Promise<number> {
    const app = express();
    for (const handler of handlers) app.use(handler);
    app.use('/api/mcp', toNodeListener(show));
    return serve(app);
  }

  it('reads the body itself where nobody did, and knows its whole path', async () => {
    const port = await mount();
    const answer = await ask(port, post('{"n":1}', {}, '/api/mcp'));
    expect(JSON.parse(answer.body)).toEqual({ body: { n: 1 }, url: '/api/mcp', auth: null });
  });

  it('takes the body that express.json() parsed, and bounds its depth', async () => {
    const port = await mount(express.json());
    expect(JSON.parse((await ask(port, post('{"n":1}', {}, '/api/mcp'))).body).body).toEqual({ n: 1 });
    const deep = await ask(port, post('['.repeat(500) + ']'.repeat(500), {}, '/api/mcp'));
    expect(deep.status).toBe(400);
    expect(errorOf(deep).code).toBe(-32700);
  });

  it.each([
    ['text', express.text({ type: '*/*' })],
    ['bytes', express.raw({ type: '*/*' })],
  ])('parses a body that was read as %s', async (_kind, reader) => {
    const port = await mount(reader);
    expect(JSON.parse((await ask(port, post('{"n":1}', {}, '/api/mcp'))).body).body).toEqual({ n: 1 });
    expect(errorOf(await ask(port, post('{"n":', {}, '/api/mcp'))).code).toBe(-32700);
  });

  it('fails where somebody took the body away: that is not the fault of the client', async () => {
    const port = await mount((request, _response, next) => {
      request.resume().on('end', next);
    });
    expect(errorOf(await ask(port, post('{"n":1}', {}, '/api/mcp'))).code).toBe(-32603);
  });

  it('hands on the principal that a middleware found', async () => {
    const port = await mount((request, _response, next) => {
      (request as NodeRequest).auth = { subject: 'ann' };
      next();
    });
    expect(JSON.parse((await ask(port, post('{}', {}, '/api/mcp'))).body).auth).toEqual({ subject: 'ann' });
  });

  it('keeps the headers that a middleware set', async () => {
    const port = await mount((_request, response, next) => {
      response.setHeader('x-frame', 'yes');
      next();
    });
    expect((await ask(port, post('{}', {}, '/api/mcp'))).headers).toMatchObject({
      'x-frame': 'yes',
      'content-type': 'application/json',
    });
  });

  it('harms nobody when somebody else answered in its place', async () => {
    const errors: unknown[] = [];
    let answerFirst: () => void = () => {};
    const listener = toNodeListener(
      (exchange) => {
        answerFirst();
        exchange.reply(200, {});
      },
      { onError: (error) => errors.push(error) },
    );
    const port = await serve((request, response) => {
      answerFirst = () => response.writeHead(503, { 'content-length': 0 }).end();
      listener(request, response);
    });
    expect((await ask(port, post('{}'))).status).toBe(503);
    expect(errors).toEqual([expect.objectContaining({ code: 'HANDLER_FAILED' })]);
  });

  it('lets middlewares add headers to the request', async () => {
    const listener = toNodeListener((exchange) => exchange.reply(200, { added: exchange.header('x-added') }));
    const port = await serve((request, response) => {
      request.headers['x-added'] = 'here';
      listener(request, response);
    });
    expect((await ask(port, post('{}'))).body).toBe('{"added":"here"}');
  });
});

describe('under fastify', () => {
  it('says so when the body was read before and not handed over', async () => {
    const app = fastify();
    const errors: string[] = [];
    const listener = toNodeListener(show, { onError: (error) => errors.push(error.message) });
    app.all('/mcp', (request, reply) => {
      reply.hijack();
      listener(request.raw, reply.raw);
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    closers.push(() => app.close());
    const { port } = app.server.address() as AddressInfo;
    expect((await ask(port, post('{"n":1}'))).status).toBe(500);
    expect(errors).toEqual([
      'Cannot answer POST /mcp: the body was read before; hand it over as `body` of the request',
    ]);
  });

  it('works on the raw request and answer, with the body that fastify parsed', async () => {
    const app = fastify();
    const listener = toNodeListener((exchange) => {
      const stream = exchange.stream();
      stream.send({ body: exchange.body });
      stream.end();
    });
    app.all('/mcp', (request, reply) => {
      reply.hijack();
      listener(Object.assign(request.raw, { body: request.body }), reply.raw);
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    closers.push(() => app.close());
    const { port } = app.server.address() as AddressInfo;
    const client = new RawClient(port).write(post('{"n":1}', { connection: 'close' }));
    await client.closed;
    expect(client.text).toContain('data: {"body":{"n":1}}\n\n');
  });
});
