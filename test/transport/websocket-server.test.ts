import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { Agent, createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { JsonRpcMessage, McpError } from '../../src/jsonrpc/index.ts';
import {
  acceptWebSockets,
  type Transport,
  type WebSocketClientInfo,
  type WebSocketListenOptions,
} from '../../src/transport/index.ts';
import { RecordingSink } from './recording-sink.ts';
import { dialWebSocket } from './websocket-peers.ts';

const note = (method: string): JsonRpcMessage => ({ jsonrpc: '2.0', method });

const closers: { close(): Promise<unknown> }[] = [];
const later = <T extends { close(): Promise<unknown> }>(closer: T): T => {
  closers.push(closer);
  return closer;
};

afterEach(async () => {
  for (const each of closers.splice(0).reverse()) await each.close();
});

/** Accepts clients and keeps each with the sink that its transport was started with. */
async function accept(options: WebSocketListenOptions = {}) {
  const clients: { transport: Transport; sink: RecordingSink; info: WebSocketClientInfo }[] = [];
  const errors: McpError[] = [];
  const waiting: (() => void)[] = [];
  const onError = (error: McpError) => {
    errors.push(error);
  };
  const listener = await acceptWebSockets({ onError, ...options }, async (transport, info) => {
    const sink = new RecordingSink();
    await transport.start(sink);
    clients.push({ transport, sink, info });
    for (const wake of waiting.splice(0)) wake();
  });
  later(listener);
  const client = async (number: number) => {
    while (clients.length < number) await new Promise<void>((resolve) => waiting.push(resolve));
    return clients[number - 1] as (typeof clients)[number];
  };
  return { listener, client, errors, url: listener.url ?? '' };
}

async function dial(...args: Parameters<typeof dialWebSocket>) {
  const dialled = await dialWebSocket(...args);
  later(dialled.transport);
  return dialled;
}

/** An HTTP server that answers every request with "plain". */
async function httpServer() {
  const server = createServer((_, response) => response.end('plain'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  later({
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return { server, host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe('accepting WebSockets', () => {
  it('carries messages both ways, on a server of its own for this machine alone', async () => {
    const { url, client, listener } = await accept();
    expect(url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/mcp$/);
    const { transport, sink } = await dial(url);
    for (const method of ['one', 'two', 'three']) transport.send(note(method));
    const server = await client(1);
    await server.sink.messageNumber(3);
    expect(server.sink.messages).toEqual([note('one'), note('two'), note('three')]);
    server.transport.send(note('back'));
    expect(await sink.messageNumber(1)).toEqual(note('back'));
    expect(listener.connections).toBe(1);
    expect(server.transport.name).toMatch(/^client at 127\.0\.0\.1 port \d+$/);
  });

  it('carries long messages both ways', async () => {
    const { url, client } = await accept();
    const { transport, sink } = await dial(url);
    const long: JsonRpcMessage = { jsonrpc: '2.0', method: 'long', params: { text: 'ä'.repeat(2 ** 20) } };
    await transport.send(long);
    const server = await client(1);
    expect(await server.sink.messageNumber(1)).toEqual(long);
    await server.transport.send(long);
    expect(await sink.messageNumber(1)).toEqual(long);
  });

  it('writes what one turn of the event loop sends at once', async () => {
    const { server, host } = await httpServer();
    let writes = 0;
    server.once('connection', (socket: Socket) => {
      const write = socket._writev?.bind(socket);
      socket._writev = (...args) => {
        writes += 1;
        write?.(...args);
      };
    });
    const { client } = await accept({ server });
    const { sink } = await dial(`ws://${host}/mcp`);
    const { transport } = await client(1);
    for (let at = 0; at < 100; at++) transport.send(note(`method ${at}`));
    await Promise.resolve();
    transport.send(note('last'));
    expect(await sink.messageNumber(101)).toEqual(note('last'));
    expect(writes).toBe(1);
  });

  it('loses nothing that a client sends before its transport is started', async () => {
    const transports: Transport[] = [];
    const other = new RecordingSink();
    const listener = await acceptWebSockets({}, async (transport) => {
      if (transports.push(transport) > 1) await transport.start(other);
    });
    later(listener);
    const early = await dial(listener.url ?? '');
    early.transport.send(note('early'));
    // Sent later and on another connection: when it is here, the first one has come as well.
    (await dial(listener.url ?? '')).transport.send(note('later'));
    await other.messageNumber(1);
    const sink = new RecordingSink();
    await transports[0]?.start(sink);
    expect(await sink.messageNumber(1)).toEqual(note('early'));
  });

  it('selects mcp among several subprotocols', async () => {
    const { url } = await accept();
    const socket = new WebSocket(url, ['chat', 'mcp']);
    await once(socket, 'open');
    expect(socket.protocol).toBe('mcp');
    socket.terminate();
  });

  it('answers a plain request with 426', async () => {
    const { url } = await accept();
    const [response] = await once(get(url.replace('ws:', 'http:')), 'response');
    expect(response.statusCode).toBe(426);
    expect(response.headers.upgrade).toBe('websocket');
    expect(JSON.parse(await text(response)).error.message).toMatch(/only WebSockets/);
  });

  it('tells clients that it goes away when it closes, and is then gone', async () => {
    const { url, client, listener } = await accept();
    const { sink } = await dial(url);
    const server = await client(1);
    await Promise.all([listener.close(), listener.close()]);
    expect((await sink.closed())?.message).toMatch(/it is going away \(1001\)$/);
    expect(server.sink.closes).toEqual([undefined]);
    expect(listener.connections).toBe(0);
    await expect(dial(url)).rejects.toMatchObject({ code: 'TRANSPORT_FAILED' });
  });

  it('closes what serves a client rather than its transport, and both when that fails', async () => {
    const errors: McpError[] = [];
    const closed: string[] = [];
    const listener = await acceptWebSockets({ onError: (error) => errors.push(error) }, async (transport) => {
      await transport.start(new RecordingSink());
      return {
        async close() {
          closed.push(transport.name);
          throw new Error('no');
        },
      };
    });
    const { sink } = await dial(listener.url ?? '');
    await listener.close();
    expect(closed).toHaveLength(1);
    expect(errors).toMatchObject([
      { code: 'HANDLER_FAILED', message: expect.stringMatching(/good order: no$/) },
    ]);
    expect(await sink.closed()).toMatchObject({ code: 'CLOSED' });
  });

  it('tells a client with 1011 that its handler threw, and tells onError', async () => {
    const errors: McpError[] = [];
    const listener = await acceptWebSockets({ onError: (error) => errors.push(error) }, () => {
      throw new Error('not today');
    });
    later(listener);
    const { sink } = await dial(listener.url ?? '');
    expect((await sink.closed())?.message).toMatch(/failed inside \(1011\)$/);
    expect(errors).toMatchObject([{ code: 'HANDLER_FAILED', message: expect.stringMatching(/not today$/) }]);
  });

  it('refuses a client beyond maxConnections, and has room again when one leaves', async () => {
    const { url, client } = await accept({ maxConnections: 1 });
    const first = await dial(url);
    const server = await client(1);
    await expect(dial(url)).rejects.toMatchObject({
      status: 503,
      message: expect.stringMatching(/1 clients/),
    });
    await first.transport.close();
    await server.sink.closed();
    await dial(url);
  });

  it('refuses an address that is taken', async () => {
    const { host } = await httpServer();
    const port = Number(host.split(':')[1]);
    await expect(accept({ port })).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringMatching(/another server listens there/),
    });
  });

  it('refuses options that make no sense', async () => {
    const { server } = await httpServer();
    const wrong: [WebSocketListenOptions, RegExp][] = [
      [{ server, port: 1 }, /server excludes host and port/],
      [{ path: 'mcp' }, /path/],
      [{ port: -1 }, /port/],
      [{ maxConnections: 0 }, /maxConnections/],
      [{ handshakeTimeoutMs: 0 }, /handshakeTimeoutMs/],
      [{ keepAliveMs: 0 }, /keepAliveMs/],
      [{ maxMessageBytes: 0 }, /maxMessageBytes/],
      [{ allowedOrigins: ['null'] }, /allowedOrigins/],
    ];
    for (const [options, message] of wrong) await expect(accept(options)).rejects.toThrow(message);
  });
});

describe('a server that is given', () => {
  it('goes on to answer what it answered before', async () => {
    const { server, host } = await httpServer();
    const { client, listener } = await accept({ server });
    expect(listener.url).toBeUndefined();
    const { transport } = await dial(`ws://${host}/mcp`);
    transport.send(note('hello'));
    expect(await (await client(1)).sink.messageNumber(1)).toEqual(note('hello'));
    const [response] = await once(get(`http://${host}/mcp`), 'response');
    expect(await text(response)).toBe('plain');
    await listener.close();
    const [after] = await once(get(`http://${host}/mcp`), 'response');
    expect(await text(after)).toBe('plain');
    expect(server.listenerCount('upgrade')).toBe(0);
  });

  it('leaves other paths to others, and refuses them where there are none', async () => {
    const { server, host } = await httpServer();
    await accept({ server });
    await expect(dial(`ws://${host}/other`)).rejects.toMatchObject({ status: 404 });
    const other = new WebSocketServer({ noServer: true, handleProtocols: () => 'mcp' });
    server.on('upgrade', (request, socket, head) => {
      if (request.url === '/other') other.handleUpgrade(request, socket, head, (peer) => peer.send('[]'));
    });
    const { sink } = await dial(`ws://${host}/other`);
    expect(await sink.messageNumber(1)).toEqual([]);
    await dial(`ws://${host}/mcp?key=value`);
  });

  it('may speak TLS', async () => {
    const pem = readFileSync(new URL('localhost.pem', import.meta.url));
    const server = createTlsServer({ key: pem, cert: pem }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    later({ close: () => new Promise((resolve) => server.close(resolve)) });
    const { client } = await accept({ server });
    const { port } = server.address() as AddressInfo;
    const { transport } = await dial(`wss://localhost:${port}/mcp`, { agent: new Agent({ ca: pem }) });
    const big: JsonRpcMessage = { jsonrpc: '2.0', method: 'big', params: { text: 'x'.repeat(2 ** 20) } };
    await transport.send(big);
    expect(await (await client(1)).sink.messageNumber(1)).toEqual(big);
  });
});

describe('authorize', () => {
  it('says who the client is', async () => {
    const { url, client } = await accept({
      authorize: async ({ headers }) => headers.authorization === 'Bearer ada' && { subject: 'ada' },
    });
    await dial(url, { headers: { authorization: 'Bearer ada' } });
    expect((await client(1)).info).toMatchObject({ auth: { subject: 'ada' } });
    await expect(dial(url)).rejects.toMatchObject({ code: 'UNAUTHORIZED', status: 401 });
  });

  it('costs the client a 500 when it fails or takes too long, which onError hears of', async () => {
    const failing = await accept({ authorize: () => Promise.reject(new Error('no database')) });
    await expect(dial(failing.url)).rejects.toMatchObject({ status: 500 });
    expect(failing.errors).toMatchObject([
      { code: 'HANDLER_FAILED', message: expect.stringMatching(/no database/) },
    ]);
    const slow = await accept({ authorize: () => new Promise(() => {}), handshakeTimeoutMs: 20 });
    await expect(dial(slow.url)).rejects.toMatchObject({ status: 500 });
    expect(slow.errors[0]?.message).toMatch(/no answer within 20 ms/);
  });

  it('counts towards maxConnections while it is asked', async () => {
    let ask = () => {};
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    let admit = (_: unknown) => {};
    const answer = new Promise((resolve) => {
      admit = resolve;
    });
    const { url, client } = await accept({
      maxConnections: 1,
      authorize: () => {
        ask();
        return answer;
      },
    });
    const first = dial(url);
    await asked;
    await expect(dial(url)).rejects.toMatchObject({ status: 503 });
    admit('ada');
    await first;
    expect((await client(1)).info.auth).toBe('ada');
  });
});
