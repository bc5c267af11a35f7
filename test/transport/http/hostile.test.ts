import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { McpError } from '../../../src/jsonrpc/index.ts';
import type { EventStream } from '../../../src/transport/http/event-stream.ts';
import type { HttpExchange } from '../../../src/transport/http/exchange.ts';
import { type HttpListening, listenHttp } from '../../../src/transport/http/listen.ts';
import { ask, errorOf, post, RawClient } from './raw-client.ts';

const MAX_BODY_BYTES = 100_000;

let server: HttpListening;
let errors: McpError[];
/** Every exchange that reached the handler, besides those of good requests. */
let reached: HttpExchange[];
let handle: (exchange: HttpExchange) => void | Promise<void>;

beforeEach(async () => {
  errors = [];
  reached = [];
  handle = (exchange) => exchange.reply(200, { handled: true });
  server = await listenHttp(
    (exchange) => {
      if (exchange.header('x-good')) return exchange.reply(200, { good: true });
      reached.push(exchange);
      return handle(exchange);
    },
    {
      maxBodyBytes: MAX_BODY_BYTES,
      maxBufferedBytes: 200_000,
      keepAliveMs: 20,
      closeGraceMs: 50,
      onError: (error) => errors.push(error),
    },
  );
});

afterEach(async () => {
  const answer = await ask(server.port, post('{}', { 'x-good': 'yes' }));
  expect(answer.body).toBe('{"good":true}');
  await server.close();
});

const CHUNKED = { 'content-length': undefined, 'transfer-encoding': 'chunked' };

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return signal.aborted ? Promise.resolve() : once(signal, 'abort');
}

describe('a client that leaves', () => {
  it('in the middle of its head costs nothing', async () => {
    const client = new RawClient(server.port).write('POST /mcp HTTP/1.1', 'Host: local');
    await once(client.socket, 'connect');
    client.destroy();
    await client.closed;
    expect(reached).toEqual([]);
  });

  it.each([
    ['with a length', post('{"a":', { 'content-length': '5000' })],
    ['in chunks', post(chunk('{"a":'), CHUNKED)],
  ])('in the middle of a body %s never reaches the handler', async (_how, request) => {
    const client = new RawClient(server.port).write(request);
    await once(client.socket, 'connect');
    client.socket.end();
    await client.closed;
    expect(reached).toEqual([]);
    expect(errors).toEqual([]);
  });

  it('with a reset in the middle of its body never reaches the handler', async () => {
    const client = new RawClient(server.port).write(post('{"a":', { 'content-length': '5000' }));
    await once(client.socket, 'connect');
    client.socket.resetAndDestroy();
    await client.closed;
    expect(reached).toEqual([]);
  });

  it.each(['end', 'destroy', 'resetAndDestroy'] as const)(
    'in the middle of a stream by %s fires the signal',
    async (how) => {
      let stream: EventStream | undefined;
      handle = (exchange) => {
        stream = exchange.stream();
        stream.send({ n: 1 });
      };
      const client = new RawClient(server.port).write(post('{}'));
      await client.until('{"n":1}');
      const gone = aborted(reached[0]?.signal as AbortSignal);
      client.socket[how]();
      await gone;
      expect(stream?.closed).toBe(true);
      expect(errors).toEqual([]);
    },
  );

  it('before an answer that then comes all the same harms nobody', async () => {
    let answer: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      handle = (exchange) => {
        answer = () => exchange.reply(200, { text: 'x'.repeat(100_000) });
        resolve();
      };
    });
    const client = new RawClient(server.port).write(post('{}'));
    await asked;
    client.destroy();
    await client.closed;
    answer();
    expect(errors).toEqual([]);
  });

  it('behind the first of several requests takes the streams of the others along', async () => {
    const gone: Promise<unknown>[] = [];
    const all = new Promise<void>((resolve) => {
      handle = (exchange) => {
        exchange.stream().send({ n: reached.length });
        gone.push(aborted(exchange.signal));
        if (reached.length === 3) resolve();
      };
    });
    const client = new RawClient(server.port).write(post('{}').repeat(3));
    await all;
    await client.until('{"n":1}');
    client.destroy();
    await Promise.all(gone);
  });
});

describe('a slow reader', () => {
  const TEXT = 'x'.repeat(64 * 1024);

  it('makes the sender wait, and loses nothing once it reads', async () => {
    const EVENTS = 400;
    let sent = 0;
    let blocked: () => void = () => {};
    const waiting = new Promise<void>((resolve) => {
      blocked = resolve;
    });
    handle = async (exchange) => {
      const stream = exchange.stream();
      while (sent < EVENTS) {
        const room = stream.send({ n: sent++, text: TEXT });
        // Sockets take much before the first wait; that there is one is the point.
        if (room) blocked();
        await room;
      }
      stream.end();
    };
    const client = new RawClient(server.port).write(post('{}', { connection: 'close' }));
    client.socket.pause();
    await waiting;
    expect(sent).toBeLessThan(EVENTS);
    client.socket.resume();
    await client.closed;
    expect(client.text).toMatch(/0\r\n\r\n$/);
    expect(client.text.match(/"n":\d+/g)).toEqual(Array.from({ length: EVENTS }, (_, n) => `"n":${n}`));
    expect(errors).toEqual([]);
  });

  it('is cut off when the sender does not wait for it', async () => {
    const cut = new Promise<unknown>((resolve) => {
      handle = async (exchange) => {
        const stream = exchange.stream();
        try {
          for (;;) {
            stream.send({ text: TEXT });
            await new Promise(setImmediate);
          }
        } catch (error) {
          resolve(error);
        }
      };
    });
    const client = new RawClient(server.port).write(post('{}'));
    client.socket.pause();
    expect(await cut).toMatchObject({ code: 'CLOSED' });
    expect(reached[0]?.signal.aborted).toBe(true);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringContaining('bytes unread'),
    });
    client.destroy();
  });

  it('is cut off when it takes nothing for four keep-alive periods', async () => {
    let gone: Promise<unknown> | undefined;
    const streaming = new Promise<void>((resolve) => {
      handle = (exchange) => {
        exchange.stream().send({ text: 'x'.repeat(20_000_000) });
        gone = aborted(exchange.signal);
        resolve();
      };
    });
    const client = new RawClient(server.port).write(post('{}'));
    client.socket.pause();
    await streaming;
    await gone;
    expect(errors.map((error) => error.message)).toEqual([
      'Cut off the client of POST /mcp: its reader took nothing for 80 ms',
    ]);
    client.destroy();
  });
});

describe('a body that is too large', () => {
  const tooLarge = { code: -32600, message: `Cannot read the body: it exceeds ${MAX_BODY_BYTES} bytes` };

  it('is refused by its announced length, before any of it came', async () => {
    const client = new RawClient(server.port).write(
      post('', { 'content-length': String(MAX_BODY_BYTES + 1) }),
    );
    const response = await client.response();
    expect(response.status).toBe(413);
    expect(errorOf(response)).toEqual(tooLarge);
    client.destroy();
  });

  it.each([
    ['with a length', { 'content-length': '50000000' }],
    ['in chunks', CHUNKED],
  ])('%s is refused in a way that a client in the middle of sending can read', async (_how, headers) => {
    const client = new RawClient(server.port).write(post('', headers));
    const piece = chunk('x'.repeat(MAX_BODY_BYTES));
    const sending = setInterval(() => client.write(piece), 1);
    const response = await client.response();
    expect(response.status).toBe(413);
    expect(response.headers.connection).toBe('close');
    expect(errorOf(response)).toEqual(tooLarge);
    await client.closed;
    clearInterval(sending);
    expect(reached).toEqual([]);
  });

  it('is let in at exactly the limit', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(MAX_BODY_BYTES - 11) });
    expect(body.length).toBe(MAX_BODY_BYTES);
    expect((await ask(server.port, post(body))).status).toBe(200);
    expect((await ask(server.port, post(chunk(body) + chunk(''), CHUNKED))).status).toBe(200);
    expect((await ask(server.port, post(chunk(`${body} `) + chunk(''), CHUNKED))).status).toBe(413);
  });
});

describe('odd ways of sending a body', () => {
  it('in many chunks, cut anywhere, is read whole', async () => {
    handle = (exchange) => exchange.reply(200, { body: exchange.body });
    const text = JSON.stringify({ text: '世界 🌍' });
    const bytes = Buffer.from(text);
    const client = new RawClient(server.port).write(post('', CHUNKED));
    for (const byte of bytes) {
      client.socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]));
    }
    client.write('0\r\n\r\n');
    const { body } = await client.response();
    expect(Buffer.from(body, 'latin1').toString()).toBe(`{"body":${text}}`);
    client.destroy();
  });

  it('after asking whether to go on works', async () => {
    const client = new RawClient(server.port);
    client.write(post('', { 'content-length': '2', expect: '100-continue' }));
    await client.until('HTTP/1.1 100 Continue\r\n\r\n');
    client.text = '';
    client.write('{}');
    expect((await client.response()).body).toBe('{"handled":true}');
    client.destroy();
  });

  it('with an expectation that nobody knows is read', async () => {
    expect((await ask(server.port, post('{}', { expect: 'miracles' }))).body).toBe('{"handled":true}');
  });

  it.each([
    ['too large', { 'content-length': '200000' }, 413],
    ['for a foreign host', { host: 'evil.example' }, 403],
    ['of another type', { 'content-type': 'text/plain' }, 415],
  ])('after asking whether to go on gets a plain no when it is %s', async (_what, headers, status) => {
    const client = new RawClient(server.port);
    client.write(post('', { 'content-length': '2', ...headers, expect: '100-continue' }));
    const response = await client.response();
    expect(response.status).toBe(status);
    // What follows may be the body or the next request: nobody can tell, so the connection ends.
    expect(response.headers.connection).toBe('close');
    client.destroy();
  });

  it('and then bytes that are no request ends the connection', async () => {
    const client = new RawClient(server.port).write(post('{}'));
    expect((await client.response()).body).toBe('{"handled":true}');
    client.write('garbage\r\n\r\n');
    expect((await client.response()).status).toBe(400);
    await client.closed;
  });

  it.each([
    ['no length at all', post('', { 'content-length': undefined })],
    ['a length of zero', post('')],
    ['one empty chunk', post(chunk(''), CHUNKED)],
  ])('that is empty, by %s, is refused', async (_how, request) => {
    const response = await ask(server.port, request);
    expect(response.status).toBe(400);
    expect(errorOf(response)).toEqual({ code: -32700, message: 'Cannot parse the body: it is empty' });
  });
});

describe('a body that is no message', () => {
  it('because it nests too deep is refused without a stack overflow', async () => {
    const depth = MAX_BODY_BYTES / 2;
    const response = await ask(server.port, post('['.repeat(depth) + ']'.repeat(depth)));
    expect(response.status).toBe(400);
    expect(errorOf(response).code).toBe(-32700);
  });

  it('because it is not UTF-8 is refused', async () => {
    const client = new RawClient(server.port).write(post('', { 'content-length': '3' }));
    client.socket.write(Buffer.from([0x22, 0xff, 0x22]));
    const response = await client.response();
    expect(response.status).toBe(400);
    expect(errorOf(response)).toEqual({ code: -32700, message: 'Cannot parse the body: it is not UTF-8' });
    client.destroy();
  });

  it('because it is broken is refused, and the connection serves the next', async () => {
    const client = new RawClient(server.port).write(post('{"a":'));
    expect(errorOf(await client.response()).code).toBe(-32700);
    client.write(post('{}'));
    expect((await client.response()).status).toBe(200);
    client.destroy();
  });
});

describe('tricks with headers', () => {
  it.each<[string, Record<string, string>, number]>([
    ['a second host', { Host: 'evil.example' }, 403],
    ['a second host that would do', { host: 'evil.example', Host: 'localhost' }, 403],
    ['a second content type', { 'Content-Type': 'text/plain' }, 415],
    ['a second origin', { origin: 'http://localhost', Origin: 'http://evil.example' }, 403],
    ['the origin null', { origin: 'null' }, 403],
    ['an empty origin', { origin: '' }, 403],
    ['an empty host', { host: '' }, 403],
    ['a host with a user', { host: 'localhost@evil.example' }, 403],
    ['an encoding', { 'content-encoding': 'gzip' }, 415],
    ['a type in the parameters alone', { 'content-type': 'text/plain; application/json' }, 415],
    ['a form of a web page', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['an Accept for JSON alone', { accept: 'application/json' }, 406],
  ])('such as %s are refused', async (_name, headers, status) => {
    const response = await ask(server.port, post('{}', headers));
    expect(response.status).toBe(status);
    expect(response.headers['content-type']).toBe('application/json');
    expect(errorOf(response).code).toBe(-32600);
    expect(reached).toEqual([]);
  });

  it.each<[string, Record<string, string | undefined>]>([
    [
      'any case',
      { 'content-type': undefined, 'CoNtEnT-tYpE': 'APPLICATION/JSON', accept: undefined, ACCEPT: '*/*' },
    ],
    ['a charset', { 'content-type': 'application/json;charset=utf-8' }],
    ['an odd charset, which JSON does not have', { 'content-type': 'application/json; charset=latin1' }],
    ['two Accept lines', { accept: 'application/json', Accept: 'text/event-stream' }],
    ['much space', { 'content-type': '   application/json   ' }],
    ['a member of every object', { constructor: 'x', tostring: 'y', __proto__: 'z', hasownproperty: 'w' }],
  ])('such as %s are let in', async (_name, headers) => {
    expect((await ask(server.port, post('{}', headers))).status).toBe(200);
  });

  it('such as a repeated header show all its values', async () => {
    handle = (exchange) => exchange.reply(200, { value: exchange.header('mcp-name') });
    const response = await ask(server.port, post('{}', { 'mcp-name': 'a', 'Mcp-Name': 'b', 'x-proto': 'c' }));
    expect(response.body).toBe('{"value":"a, b"}');
  });

  it('such as an absolute address are refused', async () => {
    const response = await ask(server.port, post('{}', {}, 'http://evil.example/mcp'));
    expect(response.status).toBe(400);
    expect(errorOf(response).code).toBe(-32600);
  });

  it('such as a missing host are refused', async () => {
    const old =
      'POST /mcp HTTP/1.0\r\nContent-Type: application/json\r\nAccept: */*\r\nContent-Length: 2\r\n\r\n{}';
    expect((await ask(server.port, old)).status).toBe(403);
  });
});

describe('methods', () => {
  it.each(['OPTIONS', 'PUT', 'PATCH', 'TRACE', 'PROPFIND'])(
    'such as %s are refused by name',
    async (method) => {
      const response = await ask(server.port, `${method} /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      expect(response.status).toBe(405);
      expect(response.headers.allow).toBe('GET, POST, DELETE');
      expect(errorOf(response).code).toBe(-32600);
    },
  );

  it('such as HEAD are refused without a body', async () => {
    const client = new RawClient(server.port).write(
      'HEAD /mcp HTTP/1.1',
      'Host: localhost',
      'Connection: close',
      '',
      '',
    );
    await client.closed;
    expect(client.text).toMatch(/^HTTP\/1\.1 405 /);
    expect(client.text).toMatch(/\r\n\r\n$/);
  });

  it('such as CONNECT close the connection', async () => {
    const client = new RawClient(server.port).write('CONNECT /mcp HTTP/1.1', 'Host: localhost', '', '');
    await client.closed;
    expect(reached).toEqual([]);
  });

  it('such as GET with a body are served, and the body is not', async () => {
    handle = (exchange) => void exchange.stream().send({ n: 1 });
    const client = new RawClient(server.port);
    client.write('GET /mcp HTTP/1.1', 'Host: localhost', 'Accept: */*', 'Content-Length: 1000000', '', '');
    client.write('x'.repeat(1_000_000));
    await client.until('{"n":1}');
    const gone = aborted(reached[0]?.signal as AbortSignal);
    client.socket.end();
    await gone;
  });

  it('such as upgrades are served as what they are besides', async () => {
    const response = await ask(server.port, post('{}', { connection: 'upgrade', upgrade: 'websocket' }));
    expect(response.status).toBe(200);
  });
});

describe('requests in a row on one connection', () => {
  it('are answered in their order, whatever the order of the answers', async () => {
    handle = () => {
      if (reached.length === 3) for (const one of reached.toReversed()) one.reply(200, { body: one.body });
    };
    const client = new RawClient(server.port).write(post('{"n":1}') + post('{"n":2}') + post('{"n":3}'));
    for (const n of [1, 2, 3]) expect((await client.response()).body).toBe(`{"body":{"n":${n}}}`);
    client.destroy();
  });

  it('each have their own fate', async () => {
    const client = new RawClient(server.port).write(
      post('{}') +
        post('{') +
        post('{}', { accept: 'text/html' }) +
        post('{}', { host: 'evil.example' }) +
        post('{}'),
    );
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) statuses.push((await client.response()).status);
    expect(statuses).toEqual([200, 400, 406, 403, 200]);
    client.destroy();
  });

  it('wait behind a stream until it ends', async () => {
    const streams: EventStream[] = [];
    const both = new Promise<void>((resolve) => {
      handle = (exchange) => {
        const stream = exchange.stream();
        streams.push(stream);
        stream.send({ n: streams.length });
        if (streams.length === 2) resolve();
      };
    });
    const client = new RawClient(server.port).write(post('{}') + post('{}'));
    await both;
    await client.until('{"n":1}');
    streams[1]?.end();
    streams[0]?.send({ last: true });
    streams[0]?.end();
    const text = await client.until('{"n":2}');
    expect(text.indexOf('{"last":true}')).toBeLessThan(text.indexOf('{"n":2}'));
    client.destroy();
  });
});
