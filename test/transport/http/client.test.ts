import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { describe, expect, it } from 'vitest';
import { McpError, RpcError, TimeoutError } from '../../../src/jsonrpc/index.ts';
import { HttpClientTransport, HttpError, httpErrorOf } from '../../../src/transport/index.ts';
import { RecordingSink } from '../recording-sink.ts';
import { connected, failure, notification, request } from './connected.ts';
import {
  type Answer,
  closeBehindTest,
  event,
  resultFor,
  ScriptedServer,
  sendJson,
  startEvents,
  startRawServer,
} from './scripted-server.ts';

const answerJson: Answer = (received, response) => sendJson(response, resultFor(received));
const note = (n: number) => ({ jsonrpc: '2.0', method: 'notifications/message', params: { n } });

describe('a message', () => {
  it('is one POST of one JSON message that takes JSON and event streams', async () => {
    const server = await ScriptedServer.start(answerJson);
    const { transport } = await connected(server.url);
    await transport.send(request(1, 'tools/call', { name: 'é' }));
    expect(server.received).toHaveLength(1);
    const { method, path, headers, message } = await server.requestNumber(1);
    expect([method, path]).toEqual(['POST', '/mcp']);
    expect(headers).toMatchObject({
      accept: 'application/json, text/event-stream',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
    });
    expect(headers).not.toHaveProperty('mcp-session-id');
    expect(message).toEqual(request(1, 'tools/call', { name: 'é' }));
  });

  it('carries the headers that are handed down, over those of the options', async () => {
    const server = await ScriptedServer.start(answerJson);
    const headers = {
      Authorization: 'Bearer x',
      'MCP-Method': 'static',
      'Content-Type': 'text/plain',
      Accept: '*/*',
      'Accept-Encoding': 'gzip',
    };
    const { transport } = await connected(`${server.url}?key=1`, { headers });
    await transport.send(request(1), { headers: { 'mcp-method': 'tools/call' } });
    const received = await server.requestNumber(1);
    expect(received.path).toBe('/mcp?key=1');
    expect(received.headers).toMatchObject({
      authorization: 'Bearer x',
      'mcp-method': 'tools/call',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'accept-encoding': 'identity',
    });
  });

  it.each([
    ['at once', () => ({ 'X-Turn': 'a' })],
    ['later', async () => ({ 'X-Turn': 'a' })],
  ])('asks a function for headers, which it may give %s', async (_, headers) => {
    const asked: unknown[] = [];
    const server = await ScriptedServer.start(answerJson);
    const { transport } = await connected(server.url, {
      headers: (info) => {
        asked.push(info);
        return headers();
      },
    });
    await transport.send(request(1));
    expect((await server.requestNumber(1)).headers['x-turn']).toBe('a');
    expect(asked).toEqual([{ method: 'POST', url: server.url, server: server.url }]);
  });

  it('fails when the function for headers does, and says so', async () => {
    const server = await ScriptedServer.start(answerJson);
    const { transport } = await connected(server.url, {
      headers: () => {
        throw new Error('no token');
      },
    });
    expect(await failure(transport.send(request(1)))).toMatchObject({
      message: expect.stringContaining('no token'),
    });
    expect(server.received).toEqual([]);
  });

  it.each([
    ['202', 202, undefined],
    ['204', 204, undefined],
    ['200 with nothing', 200, undefined],
    ['200 with empty JSON', 200, 'application/json'],
    ['200 with text', 200, 'text/plain'],
  ])('without an answer is settled by status %s', async (_, status, type) => {
    const server = await ScriptedServer.start((__, response) => {
      if (type) response.setHeader('content-type', type);
      response.writeHead(status).end(type === 'text/plain' ? 'ok' : undefined);
    });
    const { transport, sink } = await connected(server.url);
    await transport.send(notification);
    await transport.send({ jsonrpc: '2.0', id: 7, result: {} });
    expect(server.received.map(({ message }) => message)).toEqual([
      notification,
      { jsonrpc: '2.0', id: 7, result: {} },
    ]);
    expect([sink.messages, sink.errors]).toEqual([[], []]);
  });

  it('that JSON cannot hold is refused at once', async () => {
    const server = await ScriptedServer.start(answerJson);
    const { transport } = await connected(server.url);
    expect(() => transport.send(request(1, 'x', { big: 1n }))).toThrow(TypeError);
  });

  it('cannot be sent before the start or behind the end', async () => {
    const transport = new HttpClientTransport('http://127.0.0.1:9/mcp');
    expect(() => transport.send(notification)).toThrow(McpError);
    await transport.start(new RecordingSink());
    await transport.close();
    expect(() => transport.send(notification)).toThrow(/closed/);
  });

  it('cannot be sent by a transport that was closed while it started', async () => {
    const transport = new HttpClientTransport('http://127.0.0.1:9/mcp');
    const sink = new RecordingSink();
    const started = failure(transport.start(sink));
    await transport.close();
    expect(await started).toMatchObject({ code: 'CLOSED' });
    expect(() => transport.send(notification)).toThrow(/closed/);
    expect(sink.closes).toEqual([]);
  });

  it('fails with the address, the reason and what to do when nobody listens', async () => {
    const { transport } = await connected('http://127.0.0.1:9/mcp?key=secret');
    const error = await failure(transport.send(request(1)));
    expect(error).toMatchObject({ code: 'TRANSPORT_FAILED' });
    expect(String(error)).toMatch(/Cannot connect to .*:9\/mcp.*ECONNREFUSED.*nothing listens there/);
    expect(String(error)).not.toContain('secret');
  });
});

describe('a connection that breaks under a message', () => {
  it.each(['end', 'resetAndDestroy'] as const)(
    'by %s while it is used again fails that message, which is sent once and may have arrived',
    async (end) => {
      let requests = 0;
      const url = await startRawServer((_, socket) => {
        if (++requests > 1) socket[end]();
        else socket.write('HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n');
      });
      const { transport } = await connected(url);
      await transport.send(notification);
      const error = await failure(transport.send(request(1)));
      expect(error).toMatchObject({ code: 'TRANSPORT_FAILED' });
      expect(String(error)).toMatch(/the server may have received the message all the same$/);
      expect(requests).toBe(2);
    },
  );
});

describe('a reply', () => {
  it.each(['application/json', 'Application/JSON; charset=utf-8', 'application/json;x=y'])(
    'of type %s is one message, delivered before the send settles',
    async (type) => {
      const server = await ScriptedServer.start((received, response) => {
        response.setHeader('content-type', type);
        response.end(`\ufeff${JSON.stringify(resultFor(received, { text: 'é世界' }))}`);
      });
      const { transport, sink } = await connected(server.url);
      await transport.send(request('a'));
      expect(sink.messages).toEqual([{ jsonrpc: '2.0', id: 'a', result: { text: 'é世界' } }]);
    },
  );

  it.each(['text/event-stream', 'TEXT/Event-Stream; charset=utf-8', 'text/event-stream;charset=x'])(
    'of type %s is delivered message by message, in order',
    async (type) => {
      const server = await ScriptedServer.start((received, response) => {
        response.setHeader('content-type', type);
        response.end(`: hello\n\n${event(note(1))}${event(note(2))}${event(resultFor(received))}`);
      });
      const { transport, sink } = await connected(server.url);
      await transport.send(request(1));
      expect(sink.messages).toEqual([note(1), note(2), { jsonrpc: '2.0', id: 1, result: {} }]);
      expect(sink.errors).toEqual([]);
    },
  );

  it('may be an array of messages, which is handed on as it is', async () => {
    const server = await ScriptedServer.start((received, response) =>
      sendJson(response, [note(1), resultFor(received)]),
    );
    const { transport, sink } = await connected(server.url);
    await transport.send(request(1));
    expect(sink.messages).toEqual([[note(1), { jsonrpc: '2.0', id: 1, result: {} }]]);
  });

  it('settles the send at the response, while the stream stays open and goes on to be read', async () => {
    let stream: ServerResponse | undefined;
    const server = await ScriptedServer.start((received, response) => {
      stream = startEvents(response);
      stream.write(event(resultFor(received)));
    });
    const { transport, sink } = await connected(server.url);
    await transport.send(request(1));
    stream?.end(event(note(1)));
    expect(await sink.messageNumber(2)).toEqual(note(1));
  });

  it('settles a request whose response comes on the stream of another one', async () => {
    let first: ServerResponse | undefined;
    const server = await ScriptedServer.start((received, response) => {
      startEvents(response);
      if (received.message.id === 1) first = response;
      else {
        first?.write(event(resultFor(received)));
        first?.end(event({ jsonrpc: '2.0', id: 1, result: {} }));
      }
    });
    const { transport, sink } = await connected(server.url);
    const one = transport.send(request(1));
    await server.requestNumber(1);
    await transport.send(request(2));
    await one;
    expect(sink.messages).toHaveLength(2);
  });

  it('ignores events of other types and events without data', async () => {
    const server = await ScriptedServer.start((received, response) => {
      startEvents(response).end(
        `id: 1\ndata:\n\nevent: ping\ndata: {}\n\ndata: \ndata: \n\n${event(resultFor(received))}`,
      );
    });
    const { transport, sink } = await connected(server.url);
    await transport.send(request(1));
    expect(sink.messages).toHaveLength(1);
    expect(sink.errors).toEqual([]);
  });

  it('reports an event that is no JSON and reads on', async () => {
    const server = await ScriptedServer.start((received, response) => {
      startEvents(response).end(`data: nonsense\n\n${event(resultFor(received))}`);
    });
    const { transport, sink } = await connected(server.url);
    await transport.send(request(1));
    expect(sink.errors.map(({ code }) => code)).toEqual(['INVALID_JSON']);
  });

  it('may lack the blank line behind the response, which costs a warning', async () => {
    const server = await ScriptedServer.start((received, response) => {
      startEvents(response).end(`data: ${JSON.stringify(resultFor(received))}`);
    });
    const { transport, sink } = await connected(server.url);
    await transport.send(request(1));
    expect(sink.messages).toHaveLength(1);
    expect(sink.errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('without the blank line'),
    ]);
  });

  it.each([
    ['JSON', (response: ServerResponse) => sendJson(response, { jsonrpc: '2.0', id: 99, result: {} })],
    ['an event stream', (response: ServerResponse) => startEvents(response).end(event(note(1)))],
    ['an empty event stream', (response: ServerResponse) => startEvents(response).end()],
    ['status 202', (response: ServerResponse) => response.writeHead(202).end()],
    [
      'an empty body',
      (response: ServerResponse) => response.setHeader('content-type', 'application/json').end(),
    ],
    [
      'no JSON',
      (response: ServerResponse) => response.setHeader('content-type', 'application/json').end('{'),
    ],
  ])('of %s that holds no response fails the request, which is not posted again', async (_, answer) => {
    const server = await ScriptedServer.start((__, response) => void answer(response));
    const { transport } = await connected(server.url);
    expect(await failure(transport.send(request(1)))).toBeInstanceOf(McpError);
    expect(server.received).toHaveLength(1);
  });

  it.each([
    ['behind its head', (response: ServerResponse) => startEvents(response).destroy()],
    ['before its head', (response: ServerResponse) => response.destroy()],
    [
      'inside a body',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
        response.write('{"jsonrpc"', () => response.destroy());
      },
    ],
  ])('that breaks %s fails the request at once, which is not posted again', async (_, answer) => {
    const server = await ScriptedServer.start((__, response) => void answer(response));
    const { transport } = await connected(server.url);
    expect(await failure(transport.send(request(1)))).toMatchObject({ code: 'TRANSPORT_FAILED' });
    expect(server.received).toHaveLength(1);
  });

  it('with an error that names no id fails the request it replies to', async () => {
    const refused = { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error', data: 3 } };
    const server = await ScriptedServer.start((received, response) => {
      if (received.message.id === 1) sendJson(response, refused);
      else startEvents(response).end(event(refused));
    });
    const { transport, sink } = await connected(server.url);
    for (const id of [1, 2]) {
      const error = await failure(transport.send(request(id)));
      expect(error).toMatchObject({ rpcCode: -32700, message: 'Parse error', data: 3 });
    }
    expect(sink.messages).toEqual([]);
  });

  it('larger than maxResponseBytes fails the request', async () => {
    const server = await ScriptedServer.start((received, response) => {
      const result = resultFor(received, { text: 'x'.repeat(2000) });
      if (received.message.id === 1) sendJson(response, result);
      else startEvents(response).end(event(result));
    });
    const { transport, sink } = await connected(server.url, { maxResponseBytes: 1000 });
    expect(String(await failure(transport.send(request(1))))).toMatch(
      /exceeds 1000 bytes; raise maxResponseBytes/,
    );
    expect(String(await failure(transport.send(request(2))))).toMatch(
      /without a response.*exceeds 1000 bytes/,
    );
    expect(sink.errors.map(({ code }) => code)).toEqual(['EVENT_TOO_LONG']);
  });
});

describe('a refusal', () => {
  it('is an HttpError with status, headers and the first bytes of the page', async () => {
    const server = await ScriptedServer.start((_, response) => {
      response.writeHead(502, { 'content-type': 'text/html', 'x-request': '9' }).end('<h1>Bad gateway</h1>');
    });
    const { transport } = await connected(server.url);
    for (const message of [request(1), notification]) {
      const error = await failure(transport.send(message));
      expect(error).toBeInstanceOf(HttpError);
      expect(error).toMatchObject({
        code: 'HTTP_STATUS',
        status: 502,
        bodyPreview: '<h1>Bad gateway</h1>',
        sessionLost: false,
      });
      expect(error).toHaveProperty('headers.x-request', '9');
      expect(String(error)).toMatch(/tools\/call|initialized/);
      expect(String(error)).toContain('status 502 with text/html: "<h1>Bad gateway</h1>"');
    }
  });

  it.each([
    ['its id', 5],
    ['no id', undefined],
    ['a null id', null],
  ])('with a JSON-RPC error for %s is that error, with the status beside it', async (_, id) => {
    const server = await ScriptedServer.start((__, response) => {
      sendJson(
        response,
        { jsonrpc: '2.0', id, error: { code: -32022, message: 'No', data: { supported: ['a'] } } },
        400,
      );
    });
    const { transport } = await connected(server.url);
    const error = await failure(transport.send(request(5)));
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ rpcCode: -32022, message: 'No', data: { supported: ['a'] } });
    expect(httpErrorOf(error)).toMatchObject({ status: 400 });
  });

  it('with a JSON-RPC error for another id is an HttpError that shows its message', async () => {
    const server = await ScriptedServer.start((_, response) => {
      sendJson(
        response,
        { jsonrpc: '2.0', id: 'server-error', error: { code: -32600, message: 'Strange' } },
        400,
      );
    });
    const { transport } = await connected(server.url);
    const error = await failure(transport.send(request(5)));
    expect(httpErrorOf(error)).toBe(error);
    expect(String(error)).toContain('status 400: Strange');
  });

  it('that asks for credentials has a code of its own', async () => {
    const server = await ScriptedServer.start(({ message }, response) => {
      if (message.id === 1) response.writeHead(401).end();
      else if (message.id === 2) response.writeHead(403, { 'www-authenticate': 'Bearer' }).end();
      else response.writeHead(403).end();
    });
    const { transport } = await connected(server.url);
    const codes = [];
    for (const id of [1, 2, 3]) codes.push((await failure(transport.send(request(id)))) as McpError);
    expect(codes.map(({ code }) => code)).toEqual(['UNAUTHORIZED', 'UNAUTHORIZED', 'HTTP_STATUS']);
  });

  it.each([
    [401, 'its id', 5, 'UNAUTHORIZED'],
    [401, 'no id', undefined, 'UNAUTHORIZED'],
    [403, 'its id', 5, 'HTTP_STATUS'],
  ])(
    'of %d is an HttpError also with a JSON-RPC error for %s, which is its cause',
    async (...[status, , id, code]) => {
      const server = await ScriptedServer.start((_, response) => {
        sendJson(response, { jsonrpc: '2.0', id, error: { code: -32600, message: 'Who are you' } }, status);
      });
      const { transport } = await connected(server.url);
      const error = await failure(transport.send(request(5)));
      expect(error).toBeInstanceOf(HttpError);
      expect(error).toMatchObject({ code, status, cause: { rpcCode: -32600, message: 'Who are you' } });
      expect(String(error)).toContain(`status ${status}: Who are you`);
    },
  );

  it('shows the type of a reply that is neither JSON nor an event stream', async () => {
    const server = await ScriptedServer.start((_, response) => {
      response.setHeader('content-type', 'text/html').end('<title>Welcome</title>');
    });
    const { transport } = await connected(server.url);
    const error = await failure(transport.send(request(1)));
    expect(error).toMatchObject({ status: 200 });
    expect(String(error)).toContain('text/html: "<title>Welcome</title>"');
  });
});

describe('giving up', () => {
  it('ends the exchange of an abandoned request and of no other', async () => {
    const ended: unknown[] = [];
    const streams: ServerResponse[] = [];
    const server = await ScriptedServer.start(({ message }, response) => {
      response.on('close', () => ended.push(message.id));
      streams.push(startEvents(response));
    });
    const { transport, sink } = await connected(server.url);
    const one = transport.send(request(1));
    const two = transport.send(request(2));
    await server.requestNumber(2);
    const closed = streams[0] ? once(streams[0], 'close') : undefined;
    transport.abandon(1);
    transport.abandon(404);
    await Promise.all([one, closed]);
    expect(ended).toEqual([1]);
    streams[1]?.end(event({ jsonrpc: '2.0', id: 2, result: {} }));
    await two;
    expect(sink.messages).toHaveLength(1);
    expect(sink.errors).toEqual([]);
  });

  it('reaches a request that is still on its way', async () => {
    const server = await ScriptedServer.start(answerJson);
    const { transport, sink } = await connected(server.url);
    const sent = transport.send(request(1));
    transport.abandon(1);
    await sent;
    await transport.send(request(2));
    expect(sink.messages).toEqual([{ jsonrpc: '2.0', id: 2, result: {} }]);
    expect(server.received.map(({ message }) => message.id)).toEqual([2]);
  });

  it('closing ends every exchange, rejects what waits, and tells the sink once', async () => {
    const server = await ScriptedServer.start((_, response) => void startEvents(response));
    const { transport, sink } = await connected(server.url);
    const sent = failure(transport.send(request(1)));
    expect(await transport.openStream()).toBe(true);
    await transport.close();
    await transport.close();
    expect(await sent).toMatchObject({ code: 'CLOSED' });
    expect(sink.closes).toEqual([undefined]);
  });

  it('leaves a dispatcher alone that it was given', async () => {
    const server = await ScriptedServer.start(answerJson);
    const dispatcher = new Agent();
    closeBehindTest(() => dispatcher.destroy());
    const { transport } = await connected(server.url, { dispatcher });
    await transport.send(request(1));
    await transport.close();
    const { statusCode } = await dispatcher.request({
      origin: server.origin,
      path: '/',
      method: 'POST',
      body: '{}',
    });
    expect(statusCode).toBe(200);
  });

  it('is up to the caller alone: neither a reply nor a stream is given a time by default', async () => {
    const server = await ScriptedServer.start((received, response) => {
      if (received.method === 'POST') sendJson(response, resultFor(received));
      else startEvents(response);
    });
    const agent = new Agent();
    closeBehindTest(() => agent.destroy());
    const limits: unknown[] = [];
    const dispatch = agent.dispatch.bind(agent);
    agent.dispatch = (options, handler) => {
      limits.push([options.method, options.headersTimeout, options.bodyTimeout]);
      return dispatch(options, handler);
    };
    const { transport } = await connected(server.url, { dispatcher: agent });
    await transport.send(request(1));
    await transport.openStream();
    expect(limits).toEqual([
      ['POST', 0, 0],
      ['GET', 0, 0],
    ]);
  });

  it('waits for the head of a reply no longer than headersTimeoutMs', async () => {
    const server = await ScriptedServer.start(() => {});
    const { transport } = await connected(server.url, { headersTimeoutMs: 100 });
    const error = await failure(transport.send(request(1)));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ timeoutMs: 100 });
  });
});

describe('requests beyond maxConcurrentRequests', () => {
  it('wait for their turn, while all else gets through', async () => {
    const open: ServerResponse[] = [];
    const server = await ScriptedServer.start((received, response) => {
      if (received.message.id === undefined) response.writeHead(202).end();
      else if (received.message.id === 4) sendJson(response, resultFor(received));
      else open.push(startEvents(response));
    });
    const { transport, sink } = await connected(server.url, { maxConcurrentRequests: 2 });
    const sent = [1, 2, 3, 4].map((id) => transport.send(request(id)));
    const lost = failure(sent[2] as Promise<void>);
    await transport.send(notification);
    expect(server.received.map(({ message }) => message.id)).toEqual([1, 2, undefined]);
    // An answer makes room, though its stream stays open; so does a request that is given up, waiting or not.
    open[0]?.write(event({ jsonrpc: '2.0', id: 1, result: {} }));
    expect((await server.requestNumber(4)).message.id).toBe(3);
    transport.abandon(2);
    await Promise.all([sent[0], sent[1], sent[3]]);
    expect(sink.messages).toHaveLength(2);
    await transport.close();
    expect(await lost).toMatchObject({ code: 'CLOSED' });
  });

  it('are never sent when they are given up before, or when the transport is closed', async () => {
    const server = await ScriptedServer.start(({ message }, response) => {
      if (message.id === undefined) response.writeHead(202).end();
      else startEvents(response);
    });
    const { transport } = await connected(server.url, { maxConcurrentRequests: 1 });
    const [one, two, three] = [1, 2, 3].map((id) => transport.send(request(id))) as Promise<void>[];
    const failures = Promise.all([one, three].map((each) => failure(each as Promise<void>)));
    transport.abandon(2);
    await two;
    await transport.send(notification);
    await transport.close();
    expect(await failures).toMatchObject([{ code: 'CLOSED' }, { code: 'CLOSED' }]);
    expect(server.received.map(({ message }) => message.id)).toEqual([1, undefined]);
  });

  it('open no more connections than there are requests, and some for the rest', async () => {
    const server = await ScriptedServer.start(answerJson);
    const { transport } = await connected(server.url, { maxConcurrentRequests: 2 });
    await Promise.all(Array.from({ length: 500 }, (_, id) => transport.send(request(id))));
    expect(server.connections).toBeLessThanOrEqual(2 + 64);
  });
});

describe('a session', () => {
  const openSession =
    (then: Answer): Answer =>
    (received, response) => {
      if (received.message.method !== 'initialize') return then(received, response);
      response.setHeader('Mcp-Session-Id', 's-1');
      return answerJson(received, response);
    };

  it('is named by the answer to initialize and sent along from then on', async () => {
    const server = await ScriptedServer.start(openSession(answerJson));
    const { transport } = await connected(server.url);
    expect(transport.sessionId).toBeUndefined();
    await transport.send(request(1, 'initialize'));
    expect(transport.sessionId).toBe('s-1');
    await transport.send(request(2));
    await transport.send(request(3, 'initialize'));
    transport.forgetSession();
    expect(transport.sessionId).toBeUndefined();
    await transport.send(request(4));
    expect(server.received.map(({ headers }) => headers['mcp-session-id'])).toEqual([
      undefined,
      's-1',
      undefined,
      undefined,
    ]);
  });

  it('is not opened by any other answer, nor by an id with characters that are not allowed', async () => {
    const server = await ScriptedServer.start((received, response) => {
      response.setHeader('mcp-session-id', received.message.method === 'initialize' ? 'a b' : 's-2');
      answerJson(received, response);
    });
    const { transport, sink } = await connected(server.url);
    await transport.send(request(1));
    expect([transport.sessionId, sink.errors]).toEqual([undefined, []]);
    await transport.send(request(2, 'initialize'));
    expect(transport.sessionId).toBeUndefined();
    expect(sink.errors).toHaveLength(1);
  });

  it.each([
    ['404', 404, undefined, true],
    [
      '404 with an error without id',
      404,
      { id: null, error: { code: -32001, message: 'Session not found' } },
      true,
    ],
    ['400 without a body', 400, undefined, true],
    ['400 with an error without id', 400, { error: { code: -32000, message: 'No session' } }, true],
    [
      '400 with an error for the request',
      400,
      { id: 2, error: { code: -32602, message: 'Bad params' } },
      false,
    ],
    ['500', 500, undefined, false],
  ])('counts as lost on %s: %#', async (_, status, body, lost) => {
    const server = await ScriptedServer.start(
      openSession((__, response) => {
        if (body) sendJson(response, { jsonrpc: '2.0', ...body }, status);
        else response.writeHead(status).end();
      }),
    );
    const { transport } = await connected(server.url);
    const before = await failure(transport.send(request(2)));
    expect(httpErrorOf(before)).toMatchObject({ sessionLost: false });
    await transport.send(request(1, 'initialize'));
    expect(httpErrorOf(await failure(transport.send(request(2))))).toMatchObject({
      status,
      sessionLost: lost,
    });
  });

  it.each([200, 405])('is deleted, which the server may answer with %s', async (status) => {
    const server = await ScriptedServer.start(
      openSession((_, response) => void response.writeHead(status).end()),
    );
    const { transport } = await connected(server.url);
    await transport.deleteSession();
    await transport.send(request(1, 'initialize'));
    await transport.deleteSession({ headers: { 'mcp-protocol-version': '2025-11-25' } });
    await transport.deleteSession();
    expect(server.received.map(({ method }) => method)).toEqual(['POST', 'DELETE']);
    expect(server.received[1]?.headers).toMatchObject({
      'mcp-session-id': 's-1',
      'mcp-protocol-version': '2025-11-25',
    });
    expect(transport.sessionId).toBeUndefined();
  });
});

describe("the server's own stream", () => {
  it('brings its messages, and the responses to requests that it answers there', async () => {
    let stream: ServerResponse | undefined;
    const server = await ScriptedServer.start((received, response) => {
      if (received.method === 'GET') stream = startEvents(response);
      else if (received.message.id === 1) {
        startEvents(response);
        stream?.write(event(resultFor(received)));
      }
    });
    const { transport, sink } = await connected(server.url, { headers: { 'x-own': '1' } });
    expect(await transport.openStream({ headers: { 'mcp-protocol-version': '2025-11-25' } })).toBe(true);
    const { headers } = await server.requestNumber(1);
    expect(headers).toMatchObject({
      accept: 'text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      'x-own': '1',
    });
    stream?.write(event(note(1)));
    expect(await sink.messageNumber(1)).toEqual(note(1));
    await transport.send(request(1));
    expect(sink.messages).toHaveLength(2);
  });

  it.each([
    ['405', (response: ServerResponse) => response.writeHead(405).end()],
    ['404', (response: ServerResponse) => response.writeHead(404).end('<html>')],
    ['500', (response: ServerResponse) => response.writeHead(500).end()],
    ['JSON', (response: ServerResponse) => sendJson(response, {})],
    ['a broken connection', (response: ServerResponse) => response.destroy()],
  ])('may be refused with %s without a word', async (_, answer) => {
    const server = await ScriptedServer.start((__, response) => void answer(response));
    const { transport, sink } = await connected(server.url);
    expect(await transport.openStream()).toBe(false);
    expect(sink.errors).toEqual([]);
    expect(server.received).toHaveLength(1);
  });

  it('is opened again behind the last event, after the time that the server asked for', async () => {
    const times: number[] = [];
    const server = await ScriptedServer.start((_, response) => {
      times.push(performance.now());
      if (times.length === 1) startEvents(response).end(`retry: 120\n\n${event(note(1), 'é-1')}`);
      else startEvents(response).write(event(note(2)));
    });
    const { transport, sink } = await connected(server.url);
    await transport.openStream();
    expect(await sink.messageNumber(2)).toEqual(note(2));
    const again = await server.requestNumber(2);
    expect(Buffer.from(String(again.headers['last-event-id']), 'latin1').toString()).toBe('é-1');
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(119);
  });

  it('is opened again however long the server is away, and a place without an id is a gap', async () => {
    const server = await ScriptedServer.start((_, response) => {
      const { length } = server.received;
      if (length === 1) startEvents(response).end(`retry: 1\n\n${event(note(1))}`);
      else if (length === 8) startEvents(response).write(event(note(2)));
      else if (length % 2 === 0) response.destroy();
      else response.writeHead(503).end();
    });
    const { transport, sink } = await connected(server.url);
    let gaps = 0;
    await transport.openStream({ onGap: () => gaps++ });
    expect(await sink.messageNumber(2)).toEqual(note(2));
    expect(gaps).toBe(1);
    expect(sink.errors).toHaveLength(1);
  });

  it('is given up with a report when it ends empty time after time', async () => {
    const server = await ScriptedServer.start((_, response) => {
      startEvents(response).end(server.received.length === 1 ? 'retry: 1\n\n' : '');
    });
    const { transport, sink } = await connected(server.url);
    await transport.openStream();
    expect(String(await sink.firstError())).toMatch(/in a row without a word/);
    expect(server.received).toHaveLength(6);
  });

  it('ends with a report when the server refuses to go on', async () => {
    const server = await ScriptedServer.start((received, response) => {
      if (received.method === 'POST') {
        response.setHeader('mcp-session-id', 's-1');
        answerJson(received, response);
      } else if (server.received.length === 2) startEvents(response).end('retry: 1\n\n');
      else response.writeHead(404).end();
    });
    const { transport, sink } = await connected(server.url);
    await transport.send(request(1, 'initialize'));
    let isLost = false;
    await transport.openStream({
      onSessionLost: () => {
        isLost = true;
      },
    });
    expect(await sink.firstError()).toMatchObject({ status: 404, sessionLost: true });
    expect(isLost).toBe(true);
    expect(server.received).toHaveLength(3);
  });

  it('ends when the session is forgotten', async () => {
    const server = await ScriptedServer.start((_, response) => void startEvents(response));
    const { transport, sink } = await connected(server.url);
    await transport.openStream();
    transport.forgetSession();
    await transport.close();
    expect(sink.errors).toEqual([]);
  });
});

describe('a request whose stream breaks', () => {
  const breaking =
    (resume: Answer): Answer =>
    (received, response) => {
      if (received.method === 'GET') return resume(received, response);
      return void startEvents(response).end('id: p-1\nretry: 60\ndata: \n\n');
    };

  it('is resumed by a GET behind the last event where that is allowed', async () => {
    const server = await ScriptedServer.start(
      breaking(
        (_, response) =>
          void startEvents(response).end(event(note(1)) + event({ jsonrpc: '2.0', id: 1, result: {} })),
      ),
    );
    const { transport, sink } = await connected(server.url);
    transport.resumable = true;
    await transport.send(request(1), { headers: { 'mcp-protocol-version': '2025-11-25' } });
    expect(sink.messages).toHaveLength(2);
    const [post, get] = server.received;
    expect([post?.method, get?.method]).toEqual(['POST', 'GET']);
    expect(get?.headers).toMatchObject({ 'last-event-id': 'p-1', 'mcp-protocol-version': '2025-11-25' });
  });

  it.each([
    ['status 503', (response: ServerResponse) => response.writeHead(503).end()],
    ['status 409', (response: ServerResponse) => response.writeHead(409).end()],
    ['a broken connection', (response: ServerResponse) => response.destroy()],
  ])('is resumed later when the server answers %s for the moment', async (_, refuse) => {
    const server = await ScriptedServer.start(
      breaking((__, response) => {
        if (server.received.length < 4) refuse(response);
        else startEvents(response).end(event({ jsonrpc: '2.0', id: 1, result: {} }));
      }),
    );
    const { transport } = await connected(server.url);
    transport.resumable = true;
    await transport.send(request(1));
    expect(server.received.map(({ headers }) => headers['last-event-id'])).toEqual([
      undefined,
      'p-1',
      'p-1',
      'p-1',
    ]);
  });

  it('is resumed once more each time the server closes the connection behind new events', async () => {
    const server = await ScriptedServer.start(
      breaking((_, response) => {
        const gets = server.received.length - 1;
        if (gets < 9) startEvents(response).end(`id: g-${gets}\ndata:\n\n`);
        else startEvents(response).end(event({ jsonrpc: '2.0', id: 1, result: {} }));
      }),
    );
    const { transport } = await connected(server.url);
    transport.resumable = true;
    await transport.send(request(1));
    expect(server.received.at(-1)?.headers['last-event-id']).toBe('g-8');
  });

  it('fails where resuming is not allowed', async () => {
    const server = await ScriptedServer.start(breaking(answerJson));
    const { transport } = await connected(server.url);
    expect(await failure(transport.send(request(1)))).toMatchObject({ code: 'TRANSPORT_FAILED' });
    expect(server.received).toHaveLength(1);
  });

  it('fails where no event had an id', async () => {
    const server = await ScriptedServer.start(
      (_, response) => void startEvents(response).end(event(note(1))),
    );
    const { transport } = await connected(server.url);
    transport.resumable = true;
    expect(await failure(transport.send(request(1)))).toMatchObject({ code: 'TRANSPORT_FAILED' });
    expect(server.received).toHaveLength(1);
  });

  it('fails with the reason when the server refuses to resume', async () => {
    const server = await ScriptedServer.start(breaking((_, response) => void response.writeHead(405).end()));
    const { transport } = await connected(server.url);
    transport.resumable = true;
    const error = await failure(transport.send(request(1)));
    expect(String(error)).toMatch(/without a response.*405/);
    expect(httpErrorOf(error)).toMatchObject({ status: 405 });
  });

  it('is not resumed once it is abandoned', async () => {
    const server = await ScriptedServer.start(breaking(answerJson));
    const { transport } = await connected(server.url);
    transport.resumable = true;
    const sent = transport.send(request(1));
    await server.requestNumber(1);
    transport.abandon(1);
    await sent;
    await transport.close();
    expect(server.received).toHaveLength(1);
  });
});

describe('authorization', () => {
  it('adds its headers, and after a challenge sends the request again with new ones', async () => {
    let token = 0;
    const challenges: unknown[] = [];
    const before = performance.now();
    const server = await ScriptedServer.start((received, response) => {
      if (received.headers.authorization === 'Bearer 2') answerJson(received, response);
      else
        response.writeHead(401, { 'www-authenticate': 'Bearer scope="x"' }).end('{"error":"invalid_token"}');
    });
    const { transport, sink } = await connected(`${server.url}?secret=x`, {
      authorizer: {
        authorize: async ({ server }) => ({ authorization: `Bearer ${++token}`, from: server }),
        challenge: async ({ headers, since, signal, ...rest }) => {
          challenges.push({ ...rest, challenge: headers['www-authenticate'] });
          expect(since).toBeGreaterThanOrEqual(before);
          expect(since).toBeLessThanOrEqual(performance.now());
          expect(signal.aborted).toBe(false);
          return true;
        },
      },
    });
    await transport.send(request(1));
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer 1', 'Bearer 2']);
    expect(server.received[1]?.message).toEqual(request(1));
    const url = `${server.url}?secret=x`;
    expect(challenges).toEqual([
      {
        ...{ method: 'POST', url, server: url, status: 401, attempt: 1 },
        ...{ authorization: 'Bearer 1', challenge: 'Bearer scope="x"' },
      },
    ]);
    expect(server.received[1]?.headers.from).toBe(url);
    expect(sink.waits).toEqual([
      [1, true],
      [1, false],
    ]);
  });

  it('stops waiting for credentials when the request is given up', async () => {
    const server = await ScriptedServer.start((_, response) => void response.writeHead(401).end());
    let ask = (_signal: AbortSignal) => {};
    const asked = new Promise<AbortSignal>((resolve) => {
      ask = resolve;
    });
    const { transport } = await connected(server.url, {
      authorizer: {
        authorize: () => undefined,
        challenge: ({ signal }) => {
          ask(signal);
          return new Promise(() => {});
        },
      },
    });
    const sent = transport.send(request(1));
    const signal = await asked;
    transport.abandon(1);
    await sent;
    expect(signal.aborted).toBe(true);
    await transport.close();
    expect(server.received).toHaveLength(1);
  });

  it('is not asked for another origin that a redirect leads to, nor answers its challenges', async () => {
    const other = await ScriptedServer.start((_, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer scope="x"' }).end();
    });
    const server = await ScriptedServer.start((_, response) => {
      response.writeHead(307, { location: `${other.origin}/mcp` }).end();
    });
    const asked: string[] = [];
    const { transport } = await connected(server.url, {
      redirect: 'follow',
      authorizer: {
        authorize: ({ url }) => {
          asked.push(url);
          return { authorization: 'Bearer secret' };
        },
        challenge: () => true,
      },
    });
    expect(await failure(transport.send(request(1)))).toMatchObject({ code: 'UNAUTHORIZED', status: 401 });
    expect(asked).toEqual([server.url]);
    expect(server.received[0]?.headers.authorization).toBe('Bearer secret');
    expect(other.received.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  it('leaves a challenge that nothing answers as it is, body and all', async () => {
    const server = await ScriptedServer.start((_, response) => {
      sendJson(response, { jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'Who are you' } }, 403);
    });
    const { transport } = await connected(server.url, {
      authorizer: { authorize: () => undefined, challenge: () => false },
    });
    const error = await failure(transport.send(request(1)));
    expect(error).toMatchObject({ code: 'HTTP_STATUS', status: 403, cause: { rpcCode: -32001 } });
    expect(String(error)).toContain('status 403: Who are you');
  });

  it('is asked three times for one request at most', async () => {
    const server = await ScriptedServer.start((_, response) => void response.writeHead(401).end());
    const { transport } = await connected(server.url, {
      authorizer: { authorize: () => ({ authorization: 'Bearer x' }), challenge: () => true },
    });
    expect(await failure(transport.send(request(1)))).toMatchObject({ code: 'UNAUTHORIZED', status: 401 });
    expect(server.received).toHaveLength(4);
  });

  it.each(['authorize', 'challenge'])('that throws in %s fails the request', async (where) => {
    const server = await ScriptedServer.start((_, response) => void response.writeHead(401).end());
    const fail = () => {
      throw new Error('no keys');
    };
    const { transport } = await connected(server.url, {
      authorizer: {
        authorize: where === 'authorize' ? fail : () => undefined,
        challenge: where === 'challenge' ? fail : () => false,
      },
    });
    const error = await failure(transport.send(request(1)));
    expect(error).toMatchObject({ code: 'HANDLER_FAILED' });
    expect(String(error)).toContain('no keys');
  });
});

describe('options', () => {
  it.each([
    ['ftp://x/', {}, /http/],
    ['nonsense', {}, /absolute/],
    ['http://u:p@x/', {}, /credentials/],
    ['http://x/', { headers: { 'a b': '1' } }, /"a b"/],
    ['http://x/', { headers: { a: 'x\ny' } }, /value of "a"/],
    ['http://x/', { headersTimeoutMs: 0 }, /headersTimeoutMs/],
    ['http://x/', { maxResponseBytes: -1 }, /maxResponseBytes/],
  ])('of no use are refused at once: %s %j', (url, options, message) => {
    expect(() => new HttpClientTransport(url, options)).toThrow(message);
  });
});
