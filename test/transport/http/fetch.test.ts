import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import type { McpError } from '../../../src/jsonrpc/index.ts';
import type { EventStream } from '../../../src/transport/http/event-stream.ts';
import type { HttpExchange, HttpHandler } from '../../../src/transport/http/exchange.ts';
import { toFetchListener } from '../../../src/transport/http/fetch.ts';

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

function post(
  body: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = {},
  init: RequestInit = {},
): Request {
  return new Request('http://mcp.example.com/mcp?x=1', {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body,
    duplex: 'half',
    ...init,
  });
}

/** A body that comes in pieces, the last of which never does unless `end` is asked for. */
function pieces(texts: string[], end: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull: (controller) => {
      const text = texts.shift();
      if (text === undefined) controller.close();
      else controller.enqueue(encoder.encode(text));
    },
    cancel: end,
  });
}

const show: HttpHandler = (exchange) => {
  const { method, url, path, body, auth } = exchange;
  exchange.reply(200, { method, url, path, body, auth });
};

async function errorOf(response: Response): Promise<{ code: number; message: string }> {
  const { error } = (await response.json()) as { error: { code: number; message: string } };
  return error;
}

describe('a listener for web-standard requests', () => {
  it('shows what was asked and answers in one piece', async () => {
    const response = await toFetchListener(show)(post('{"n":1}'), { auth: 'ann' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({
      method: 'POST',
      url: '/mcp?x=1',
      path: '/mcp',
      body: { n: 1 },
      auth: 'ann',
    });
  });

  it('answers without a body, and with the headers of the handler', async () => {
    const response = await toFetchListener((exchange) => exchange.reply(202, undefined, { 'x-a': 'b' }))(
      post('{}'),
    );
    expect(response.status).toBe(202);
    expect(response.body).toBeNull();
    expect(response.headers.get('x-a')).toBe('b');
  });

  it('reads a body in pieces and takes one that was read before', async () => {
    const listener = toFetchListener(show);
    const inPieces = await listener(post(pieces(['{"n"', ':', '1}'], () => {})));
    expect(await inPieces.json()).toMatchObject({ body: { n: 1 } });
    const request = post('{}');
    const body = await request.json();
    expect(await (await listener(request, { body })).json()).toMatchObject({ body: {} });
  });

  it('says so when the body was read before and is not handed over', async () => {
    const errors: McpError[] = [];
    const request = post('{}');
    await request.text();
    const response = await toFetchListener(show, { onError: (error) => errors.push(error) })(request);
    expect(response.status).toBe(500);
    expect(errors[0]?.message).toContain('hand it over');
  });

  it.each<[string, Request, number, number]>([
    ['another method', new Request('http://localhost/mcp', { method: 'PUT', body: '{}' }), 405, -32600],
    ['a foreign origin', post('{}', { origin: 'http://evil.example' }), 403, -32600],
    ['a foreign content type', post('{}', { 'content-type': 'text/plain' }), 415, -32600],
    ['too narrow an Accept', post('{}', { accept: 'application/json' }), 406, -32600],
    ['broken JSON', post('{'), 400, -32700],
    ['a body that is not UTF-8', post(Uint8Array.from([0x22, 0xff, 0x22])), 400, -32700],
    ['no body', post(''), 400, -32700],
    ['a deep body', post('['.repeat(100_000) + ']'.repeat(100_000)), 400, -32700],
  ])('refuses %s with a JSON-RPC error', async (_what, request, status, code) => {
    const response = await toFetchListener(show)(request);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect((await errorOf(response)).code).toBe(code);
  });

  it('refuses a body that is too large, and reads no more of it', async () => {
    const listener = toFetchListener(show, { maxBodyBytes: 10 });
    expect((await listener(post('x'.repeat(11), { 'content-length': '11' }))).status).toBe(413);
    let cancelled = false;
    const endless = pieces(
      Array.from({ length: 100 }, () => 'xxxx'),
      () => {
        cancelled = true;
      },
    );
    expect((await listener(post(endless))).status).toBe(413);
    expect(cancelled).toBe(true);
  });

  it('holds the host of the address against a list, where no header names one', async () => {
    expect((await toFetchListener(show)(post('{}'))).status).toBe(200);
    expect((await toFetchListener(show, { allowedHosts: ['localhost'] })(post('{}'))).status).toBe(403);
    expect((await toFetchListener(show, { allowedHosts: ['mcp.example.com'] })(post('{}'))).status).toBe(200);
  });

  it('lets in only good tokens where it is guarded', async () => {
    const listener = toFetchListener(show, {
      auth: {
        verify: (token) => (token === 'good' ? 'ann' : undefined),
        resourceMetadata: {
          resource: 'https://mcp.example.com/mcp',
          authorization_servers: ['https://auth.example'],
        },
      },
    });
    expect((await listener(post('{}'), { auth: 'forged' })).status).toBe(401);
    const response = await listener(post('{}', { authorization: 'bearer good' }), { auth: 'other' });
    expect(await response.json()).toMatchObject({ auth: 'ann' });
    const metadata = await listener(new Request('http://x/.well-known/oauth-protected-resource/mcp'));
    expect(await metadata.json()).toMatchObject({ resource: 'https://mcp.example.com/mcp' });
  });

  it('answers a bare 500 when the handler fails', async () => {
    const response = await toFetchListener(() => {
      throw new Error('secret');
    })(post('{}'));
    expect(response.status).toBe(500);
    expect(await errorOf(response)).toEqual({ code: -32603, message: 'Internal error' });
  });
});

describe('a streamed answer to a web-standard request', () => {
  async function open(options = {}, init: RequestInit = {}) {
    let exchange: HttpExchange | undefined;
    let stream: EventStream | undefined;
    const response = await toFetchListener((it) => {
      exchange = it;
      stream = it.stream({ 'mcp-session-id': 'abc' });
    }, options)(post('{}', {}, init));
    if (!exchange || !stream) throw new Error('the handler was not called');
    return { response, exchange, stream };
  }

  it('is there before its first event', async () => {
    const { response, stream } = await open();
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('mcp-session-id')).toBe('abc');
    expect(stream.send({ n: 1 })).toBeUndefined();
    stream.end();
    expect(await response.text()).toBe('data: {"n":1}\n\n');
  });

  it('makes the sender wait for the reader, and loses nothing', async () => {
    const { response, stream } = await open();
    let sent = 0;
    const sending = (async () => {
      while (sent < 100) await stream.send({ n: sent++, text: 'x'.repeat(20_000) });
      stream.end();
    })();
    await new Promise(setImmediate);
    expect(sent).toBeLessThan(10);
    const text = await response.text();
    await sending;
    expect(text.match(/"n":\d+/g)).toEqual(Array.from({ length: 100 }, (_, n) => `"n":${n}`));
  });

  it('is cut off when its reader falls too far behind', async () => {
    const errors: McpError[] = [];
    const { response, exchange, stream } = await open({
      maxBufferedBytes: 100_000,
      onError: (error: McpError) => errors.push(error),
    });
    stream.send({ text: 'x'.repeat(100_000) });
    expect(() => stream.send({})).toThrow(expect.objectContaining({ code: 'CLOSED' }));
    expect(exchange.signal.aborted).toBe(true);
    expect(errors.map((error) => error.code)).toEqual(['TRANSPORT_FAILED']);
    await expect(response.text()).rejects.toThrow('broken off');
  });

  it('fires the signal when its reader cancels', async () => {
    const { response, exchange, stream } = await open();
    const { signal } = exchange;
    await response.body?.cancel();
    expect(signal.aborted).toBe(true);
    expect(stream.closed).toBe(true);
  });

  it('lets a waiting sender go when its reader cancels', async () => {
    const { response, stream } = await open();
    const room = stream.send({ text: 'x'.repeat(100_000) });
    expect(room).toBeInstanceOf(Promise);
    await response.body?.cancel();
    await room;
  });

  it('fires the signal when the request is aborted', async () => {
    const client = new AbortController();
    const { exchange, stream } = await open({}, { signal: client.signal });
    client.abort();
    expect(exchange.signal.aborted).toBe(true);
    expect(stream.closed).toBe(true);
  });

  it('ends for who reads on when the request is aborted', async () => {
    const client = new AbortController();
    const { response, stream } = await open({}, { signal: client.signal });
    stream.send({});
    const reading = response.text();
    client.abort(new Error('left'));
    await expect(reading).rejects.toThrow('left');
  });

  it('is broken off when its handler fails', async () => {
    const response = await toFetchListener((exchange) => {
      exchange.stream().send({});
      throw new Error('secret');
    })(post('{}'));
    await expect(response.text()).rejects.toThrow('broken off');
  });
});

describe('a client of a web-standard listener that leaves', () => {
  it('before the answer fires the signal, and the listener is done', async () => {
    const client = new AbortController();
    let signal: AbortSignal | undefined;
    const answer = toFetchListener((exchange) => {
      signal = exchange.signal;
      client.abort();
    })(post('{}', {}, { signal: client.signal }));
    expect((await answer).status).toBe(499);
    expect(signal?.aborted).toBe(true);
  });

  it('in the middle of its body never reaches the handler', async () => {
    let reached = false;
    const broken = new ReadableStream<Uint8Array>({
      start: (controller) => controller.error(new Error('connection lost')),
    });
    const response = await toFetchListener(() => {
      reached = true;
    })(post(broken));
    expect(response.status).toBe(499);
    expect(reached).toBe(false);
  });
});

describe('under hono', () => {
  it('serves the raw request', async () => {
    const listener = toFetchListener(show);
    const app = new Hono().all('/mcp', (context) => listener(context.req.raw));
    const response = await app.fetch(post('{"n":1}'));
    expect(await response.json()).toMatchObject({ path: '/mcp', body: { n: 1 } });
  });
});
