import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Agent, createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { type JsonRpcMessage, TimeoutError } from '../../src/jsonrpc/index.ts';
import { HttpError, WebSocketTransport } from '../../src/transport/index.ts';
import { RecordingSink } from './recording-sink.ts';
import { accepting, closeFrame, dialWebSocket, frame, rawServer, TEXT } from './websocket-peers.ts';

const note = (method: string, params?: { [key: string]: unknown }): JsonRpcMessage =>
  params ? { jsonrpc: '2.0', method, params } : { jsonrpc: '2.0', method };

const closers: { close(): Promise<unknown> }[] = [];
const later = <T extends { close(): Promise<unknown> }>(closer: T): T => {
  closers.push(closer);
  return closer;
};

afterEach(async () => {
  await Promise.all(closers.splice(0).map((each) => each.close()));
});

/** A server of the ws package, with the first connection that it gets. */
async function wsServer(options: { protocol?: string | false } = {}) {
  const { protocol = 'mcp' } = options;
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => protocol });
  await once(server, 'listening');
  const connection = new Promise<WebSocket>((resolve) => server.once('connection', resolve));
  later({
    async close() {
      for (const each of server.clients) each.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  const { port } = server.address() as { port: number }; // Sound: it listens on a port.
  return { server, url: `ws://127.0.0.1:${port}/mcp?token=secret`, connection };
}

async function dial(...args: Parameters<typeof dialWebSocket>) {
  const dialled = await dialWebSocket(...args);
  later(dialled.transport);
  return dialled;
}

/** Connects to a server of the ws package. */
async function pair(options: Parameters<typeof dialWebSocket>[1] = {}) {
  const { url, connection } = await wsServer();
  const { transport, sink } = await dial(url, options);
  return { transport, sink, peer: await connection };
}

describe('a WebSocket to a server', () => {
  it('asks for the subprotocol mcp and carries the headers that it is given', async () => {
    const seen: string[] = [];
    const server = later(await rawServer((_, request) => seen.push(request)));
    await dial(server.url, { headers: { authorization: 'Bearer abc' } });
    await dial(server.url, { headers: async () => ({ authorization: 'Bearer def' }) });
    expect(seen[0]).toMatch(/^sec-websocket-protocol: mcp\r$/im);
    expect(seen[0]).toMatch(/^authorization: Bearer abc\r$/im);
    expect(seen[0]).not.toMatch(/sec-websocket-extensions/i);
    expect(seen[1]).toMatch(/^authorization: Bearer def\r$/im);
  });

  it('carries messages both ways, one a text message, in order', async () => {
    const { transport, sink, peer } = await pair();
    const received: unknown[] = [];
    const three = new Promise<void>((resolve) => {
      peer.on('message', (data, isBinary) => {
        received.push([String(data), isBinary]);
        if (received.length === 3) resolve();
      });
    });
    for (const method of ['one', 'zwölf', '😀']) transport.send(note(method));
    await three;
    expect(received).toEqual([
      ['{"jsonrpc":"2.0","method":"one"}', false],
      ['{"jsonrpc":"2.0","method":"zwölf"}', false],
      ['{"jsonrpc":"2.0","method":"😀"}', false],
    ]);
    peer.send('{"jsonrpc":"2.0","method":"a"}');
    peer.send(' [1]\n');
    await sink.messageNumber(2);
    expect(sink.messages).toEqual([note('a'), [1]]);
  });

  it('reads a message in fragments, with a ping between them', async () => {
    const { sink, peer } = await pair();
    peer.send('{"jsonrpc":"2.0",', { fin: false });
    peer.ping();
    peer.send('"method":', { fin: false });
    peer.send('"a"}', { fin: true });
    expect(await sink.messageNumber(1)).toEqual(note('a'));
  });

  it('loses nothing that comes in one piece with the handshake', async () => {
    const { url } = await raw(
      (accept) =>
        `${accepting(accept)}${frame(TEXT, '[1]').toString('latin1')}${frame(TEXT, '[2]').toString('latin1')}`,
    );
    const { sink } = await dial(url);
    await sink.messageNumber(2);
    expect(sink.messages).toEqual([[1], [2]]);
  });

  it('sends a long message in several frames that are one message, and cuts no code point', async () => {
    const { transport, peer } = await pair();
    for (const before of ['', 'x']) {
      const message = note('long', { text: before + '😀'.repeat(2 ** 19) });
      transport.send(message);
      const [data] = await once(peer, 'message');
      expect(JSON.parse(String(data))).toEqual(message);
    }
    const { url, socket } = await raw();
    (await dial(url)).transport.send(note('long', { text: 'x'.repeat(2 ** 19) }));
    const [chunk] = await once(await socket, 'data');
    expect(chunk[0]).toBe(TEXT & 0x7f); // Not the last frame of its message.
  });

  it('returns nothing while there is room, and a promise until there is room again', async () => {
    const { url, socket } = await raw();
    const { transport } = await dial(url);
    const peer = (await socket).pause();
    expect(transport.send(note('small'))).toBeUndefined();
    const big = note('big', { text: 'x'.repeat(16 * 2 ** 20) });
    const room = transport.send(big);
    expect(room).toBeInstanceOf(Promise);
    expect(transport.send(note('more'))).toBe(room);
    peer.resume();
    await room;
    expect(transport.send(note('again'))).toBeUndefined();
  });

  it('refuses more than maxBufferedBytes for a server that does not read', async () => {
    const { url, socket } = await raw();
    const { transport } = await dial(url, { maxBufferedBytes: 2 ** 20 });
    (await socket).pause();
    const room = transport.send(note('big', { text: 'x'.repeat(16 * 2 ** 20) }));
    expect(() => transport.send(note('more'))).toThrow(/has not read .* raise maxBufferedBytes/);
    await transport.close();
    await room;
  });

  it('throws at once what is no JSON', async () => {
    const { transport } = await pair();
    const circular: { [key: string]: unknown } = {};
    circular.self = circular;
    expect(() => transport.send(note('x', circular))).toThrow(TypeError);
  });

  it('reports a message that is no JSON and goes on', async () => {
    const { sink, peer } = await pair();
    peer.send('nonsense');
    peer.send('');
    peer.send('{"jsonrpc":"2.0","method":"a"}');
    await sink.messageNumber(1);
    expect(sink.errors.map(({ code }) => code)).toEqual(['INVALID_JSON', 'INVALID_JSON']);
    expect(sink.errors[0]?.message).toMatch(/it is not JSON: "nonsense"/);
    expect(sink.closes).toEqual([]);
  });
});

describe('opening', () => {
  it('loads ws no earlier', async () => {
    const transport = new WebSocketTransport('ws://127.0.0.1:1');
    expect(() => transport.send(note('x'))).toThrow(/not open/);
    await transport.close();
    await expect(transport.start(new RecordingSink())).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it.each(['http://x', 'ftp://x', 'x', 'ws://x/#here', 'ws+unix:///x'])('refuses the address %s', (url) => {
    expect(() => new WebSocketTransport(url)).toThrow(TypeError);
  });

  it.each([
    { keepAliveMs: 0 },
    { keepAliveMs: 2 ** 31 },
    { maxMessageBytes: 0 },
    { maxMessageBytes: Number.POSITIVE_INFINITY },
    { maxBufferedBytes: 0 },
    { handshakeTimeoutMs: 0 },
    { handshakeTimeoutMs: Number.POSITIVE_INFINITY },
  ])('refuses the option %j', (option) => {
    expect(() => new WebSocketTransport('ws://x', option)).toThrow(Object.keys(option)[0]);
  });

  it('names the server without user, password and query', () => {
    const { name } = new WebSocketTransport('wss://ada:secret@example.com:8443/mcp?token=secret');
    expect(name).toBe('wss://example.com:8443/mcp');
  });

  it('tells what a server says that refuses the handshake', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    later({ close: () => new Promise((resolve) => server.close(resolve)) });
    await once(server, 'listening');
    const { port } = server.address() as { port: number }; // Sound: it listens on a port.
    const answers: [number, { [name: string]: string }, string, string, RegExp][] = [
      [
        401,
        { 'www-authenticate': 'Bearer' },
        'who\nare you?',
        'UNAUTHORIZED',
        /HTTP 401 Unauthorized: who are you\?$/,
      ],
      [404, {}, '', 'HTTP_STATUS', /HTTP 404 Not Found$/],
      [302, { location: '/there' }, '', 'HTTP_STATUS', /HTTP 302 Found and points to "\/there"$/],
      [500, {}, 'x'.repeat(100_000), 'HTTP_STATUS', /HTTP 500 Internal Server Error: x{512}$/],
    ];
    for (const [status, headers, body, code, message] of answers) {
      server
        .removeAllListeners('request')
        .on('request', (_, response) => response.writeHead(status, headers).end(body));
      const error = await dial(`ws://127.0.0.1:${port}/mcp`).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(HttpError);
      expect(error).toMatchObject({ status, code, message: expect.stringMatching(message), headers });
    }
  });

  it.each([
    ['no subprotocol', ''],
    ['the subprotocol "chat"', 'sec-websocket-protocol: chat\r\n'],
  ])('refuses a server that selects %s', async (what, protocol) => {
    const { url } = await raw((accept) => accepting(accept, protocol));
    await expect(dial(url)).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: `Cannot connect to "${url}": it selected ${what}; a server of MCP selects "mcp"`,
    });
  });

  it('refuses a server that does not prove that it understood', async () => {
    const { url } = await raw(() => accepting('nonsense'));
    await expect(dial(url)).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringMatching(/Sec-WebSocket-Accept/),
    });
  });

  it('says that nobody listens, or that the name is unknown', async () => {
    const { url, close } = await rawServer(() => {});
    await close();
    await expect(dial(url)).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringMatching(/ECONNREFUSED.*; nothing listens there$/),
    });
    await expect(dial('ws://name.invalid/')).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringMatching(/name\.invalid/),
    });
  });

  it('trusts a server whose certificate its agent trusts, and no other', async () => {
    const pem = readFileSync(new URL('localhost.pem', import.meta.url));
    const server = createTlsServer({ key: pem, cert: pem }).listen(0, '127.0.0.1');
    const sockets = new WebSocketServer({ server, handleProtocols: () => 'mcp' });
    sockets.on('connection', (peer) => peer.send('[]'));
    later({
      async close() {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    });
    await once(server, 'listening');
    const { port } = server.address() as { port: number }; // Sound: it listens on a port.
    await expect(dial(`wss://127.0.0.1:${port}`)).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringMatching(/self-signed certificate.*; its certificate is not trusted here$/),
    });
    await expect(dial(`ws://127.0.0.1:${port}`)).rejects.toMatchObject({ code: 'TRANSPORT_FAILED' });
    const { url } = await raw();
    await expect(dial(url.replace('ws:', 'wss:'))).rejects.toThrow(/TLS/);
    const { sink, transport } = await dial(`wss://127.0.0.1:${port}`, { agent: new Agent({ ca: pem }) });
    expect(await sink.messageNumber(1)).toEqual([]);
    await transport.close();
  });

  it('gives up a server that does not answer the handshake in time', async () => {
    const { url } = await raw(() => '');
    const dialling = dial(url, { handshakeTimeoutMs: 20 });
    await expect(dialling).rejects.toThrow(TimeoutError);
    await expect(dialling).rejects.toThrow(/within 20 ms; raise handshakeTimeoutMs/);
  });

  it('gives up when it is closed, whatever it waits for', async () => {
    const { url, socket } = await raw(() => '');
    for (const headers of [{}, () => new Promise<never>(() => {})]) {
      const transport = new WebSocketTransport(url, { headers });
      const sink = new RecordingSink();
      const starting = transport.start(sink);
      if (typeof headers === 'object') await socket;
      await Promise.all([expect(starting).rejects.toMatchObject({ code: 'CLOSED' }), transport.close()]);
      expect(sink.closes).toEqual([]);
    }
  });

  it('fails with what its headers function throws, or with a header that is none', async () => {
    const thrown = new Error('no token');
    const failing = { headers: () => Promise.reject(thrown) };
    await expect(dial('ws://127.0.0.1:1', failing)).rejects.toBe(thrown);
    await expect(dial('ws://127.0.0.1:1', { headers: { a: 'b\r\nc: d' } })).rejects.toThrow(TypeError);
  });
});

describe('ending', () => {
  it('closes with 1000 behind all that was sent, once, whoever asks how often', async () => {
    const { transport, sink, peer } = await pair();
    const received: string[] = [];
    peer.on('message', (data) => received.push(String(data)));
    const closed = once(peer, 'close');
    for (let at = 0; at < 100; at++) transport.send(note('x', { at, text: 'x'.repeat(10_000) }));
    await Promise.all([transport.close(), transport.close()]);
    const [code] = await closed;
    expect(code).toBe(1000);
    expect(received).toHaveLength(100);
    expect(sink.closes).toEqual([undefined]);
    expect(() => transport.send(note('x'))).toThrow(/not open/);
  });

  it('delivers what came before the close frame, then says why the server closed', async () => {
    const meanings: [number, string, string, RegExp][] = [
      [1000, '', 'CLOSED', /it is done \(1000\)$/],
      [1001, 'update', 'CLOSED', /it is going away \(1001, "update"\)$/],
      [1002, '', 'TRANSPORT_FAILED', /breach of the WebSocket protocol \(1002\)$/],
      [1003, '', 'TRANSPORT_FAILED', /does not take this kind of data/],
      [1007, '', 'TRANSPORT_FAILED', /not what it claims to be/],
      [1008, '', 'TRANSPORT_FAILED', /policy/],
      [1009, '', 'TRANSPORT_FAILED', /too large for it/],
      [1011, '', 'TRANSPORT_FAILED', /failed inside/],
      [1012, '', 'CLOSED', /restarts/],
      [1013, '', 'TRANSPORT_FAILED', /try again later/],
      [4001, 'token "x" expired', 'TRANSPORT_FAILED', /reason of its own \(4001, "token \\"x\\" expired"\)$/],
    ];
    for (const [code, reason, expected, message] of meanings) {
      const { url, socket } = await raw();
      const { sink } = await dial(url);
      (await socket).end(Buffer.concat([frame(TEXT, '[]'), closeFrame(code, reason), frame(TEXT, '[1]')]));
      const error = await sink.closed();
      expect(error).toMatchObject({ code: expected, message: expect.stringMatching(message) });
      expect(sink.messages).toEqual([[]]);
    }
  });

  it('says that the connection was lost where there is no close frame', async () => {
    for (const [end, message] of [
      [(socket: Socket) => socket.end(), /was lost: it ended without a close frame$/],
      [(socket: Socket) => socket.resetAndDestroy(), /was lost: read ECONNRESET$/],
    ] as const) {
      const { url, socket } = await raw();
      const { transport, sink } = await dial(url);
      end(await socket);
      const error = await sink.closed();
      expect(error).toMatchObject({ code: 'TRANSPORT_FAILED', message: expect.stringMatching(message) });
      expect(() => transport.send(note('x'))).toThrow(error);
    }
  });

  it('cuts a server that does not answer the close frame', async () => {
    const { url, socket } = await raw();
    const { transport, sink } = await dial(url);
    await transport.close();
    expect(sink.closes).toEqual([undefined]);
    (await socket).destroy();
  });

  it('rejects what is sent after the server has begun to close, with its reason', async () => {
    const { url, socket } = await raw();
    const { transport, sink } = await dial(url);
    const peer = await socket;
    peer.write(closeFrame(1001));
    await once(peer, 'data'); // The answer: our close frame.
    const sent = transport.send(note('late'));
    peer.end();
    await expect(sent).rejects.toThrow(/going away/);
    expect((await sink.closed())?.code).toBe('CLOSED');
  });
});

/** A server made of bytes, and the first socket that has shaken hands with it. */
async function raw(answer?: (accept: string) => string) {
  let take = (_: Socket) => {};
  const socket = new Promise<Socket>((resolve) => {
    take = resolve;
  });
  return { ...later(await rawServer(take, answer)), socket };
}
