import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { WebSocketListenOptions } from '../../src/transport/index.ts';
import {
  dialWebSocket,
  maskedFrame,
  type RawHandshake,
  rawClient,
  TEXT,
} from '../transport/websocket-peers.ts';
import { listen } from './websocket-ends.ts';

let close: () => Promise<unknown>;
afterEach(() => close());

async function attempt(handshake: RawHandshake, options: WebSocketListenOptions = {}) {
  const { listener, url, client } = await listen(options);
  close = () => listener.close();
  const { status, head, socket } = await rawClient(url, handshake);
  socket.destroy();
  return { status, head, url, client };
}

describe('a server refuses a handshake', () => {
  it.each<[string, RawHandshake, number]>([
    ['without a subprotocol', { headers: { 'sec-websocket-protocol': undefined } }, 400],
    ['with another subprotocol', { headers: { 'sec-websocket-protocol': 'chat, MCP, mcp2' } }, 400],
    ['without a key', { headers: { 'sec-websocket-key': undefined } }, 400],
    ['with a key that is none', { headers: { 'sec-websocket-key': 'short' } }, 400],
    ['of another version', { headers: { 'sec-websocket-version': '99' } }, 400],
    ['by POST', { method: 'POST', headers: { 'content-length': '0' } }, 405],
    ['for another protocol', { headers: { upgrade: 'h2c' } }, 426],
    [
      'for another protocol by POST',
      { method: 'POST', headers: { upgrade: 'h2c', 'content-length': '0' } },
      426,
    ],
    ['of a page of another site', { headers: { origin: 'https://evil.example' } }, 403],
    ['of a page that hides where it is from', { headers: { origin: 'null' } }, 403],
    ['to a host that is not this machine', { headers: { host: 'evil.example' } }, 403],
    ['without a host', { headers: { host: undefined } }, 403],
    [
      'with more headers than it reads',
      { headers: Object.fromEntries(Array.from({ length: 120 }, (_, at) => [`x-${at}`, 'y'])) },
      431,
    ],
  ])('%s', async (_, handshake, status) => {
    expect((await attempt(handshake)).status).toBe(status);
  });

  it('and says so in words, as JSON', async () => {
    const { listener, url } = await listen();
    close = () => listener.close();
    await expect(dialWebSocket(url, { headers: { origin: 'https://evil.example' } })).rejects.toMatchObject({
      status: 403,
      headers: { 'content-type': 'application/json' },
      message: expect.stringMatching(/origin .*https:\/\/evil\.example.* is not among allowedOrigins/),
    });
  });

  it('of a version that it does not know, and says which it does', async () => {
    const { head } = await attempt({ headers: { 'sec-websocket-version': '99' } });
    expect(head).toMatch(/^sec-websocket-version: .*13/im);
  });
});

describe('a server takes a handshake', () => {
  it.each<[string, RawHandshake, WebSocketListenOptions]>([
    ['of a page of this machine', { headers: { origin: 'http://localhost:3000' } }, {}],
    [
      'of a page that it allows',
      { headers: { origin: 'https://app.example' } },
      { allowedOrigins: ['https://app.example'] },
    ],
    ['to a host that it allows', { headers: { host: 'mcp.example' } }, { allowedHosts: ['mcp.example'] }],
    ['of any page where it says so', { headers: { origin: 'null' } }, { allowedOrigins: '*' }],
  ])('%s', async (_, handshake, options) => {
    expect((await attempt(handshake, options)).status).toBe(101);
  });

  it('with messages right behind it, while it still finds out who sends them', async () => {
    const authorize = () => new Promise((resolve) => setImmediate(resolve, 'ada'));
    const { client } = await attempt({ behind: maskedFrame(TEXT, '[1]') }, { authorize });
    expect(await (await client(1)).sink.messageNumber(1)).toEqual([1]);
  });
});

it('a client that leaves while it is found out who it is costs nothing', async () => {
  let answer = (_: unknown) => {};
  let ask = () => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const { listener, url, errors } = await listen({
    authorize: () => {
      ask();
      return new Promise((resolve) => {
        answer = resolve;
      });
    },
  });
  close = () => listener.close();
  const leaving = rawClient(url);
  await asked;
  await listener.close();
  answer('ada');
  await expect(leaving).rejects.toThrow('hung up');
  expect(listener.connections).toBe(0);
  expect(errors).toEqual([]);
});

it('a client that never says what it wants is not waited for', async () => {
  const { listener, url } = await listen({ handshakeTimeoutMs: 50 });
  close = () => listener.close();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.resume().write('GET /mcp HTTP/1.1\r\nhost: localhost\r\n');
  await once(socket, 'close');
});

it('and does not keep the server from closing', async () => {
  const { listener, url } = await listen({ handshakeTimeoutMs: 2 ** 31 - 1 });
  close = () => listener.close();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.resume().write('GET /mcp HTTP/1.1\r\nhost: localhost\r\n');
  // Answered on another connection later: what was sent before is being waited for by then.
  await (await dialWebSocket(url)).transport.close();
  await Promise.all([listener.close(), once(socket, 'close')]);
});
