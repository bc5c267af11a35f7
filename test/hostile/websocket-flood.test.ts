import { afterEach, expect, it } from 'vitest';
import { dialWebSocket, rawClient } from '../transport/websocket-peers.ts';
import { listen } from './websocket-ends.ts';

let close: () => Promise<unknown>;
afterEach(() => close());

it('a flood of handshakes fills the connections that there are, and no more; then there is room again', async () => {
  const { listener, url } = await listen({ maxConnections: 10 });
  close = () => listener.close();
  const attempts = await Promise.all(Array.from({ length: 40 }, () => rawClient(url)));
  const statuses = attempts.map(({ status }) => status);
  expect(statuses.filter((status) => status === 101)).toHaveLength(10);
  expect(statuses.filter((status) => status === 503)).toHaveLength(30);
  expect(listener.connections).toBe(10);
  for (const { socket } of attempts) socket.destroy();
  while (listener.connections > 0) await new Promise((resolve) => setImmediate(resolve));
  const { transport } = await dialWebSocket(url);
  await transport.close();
});

it('handshakes that fail leave nothing behind', async () => {
  const { listener, url } = await listen({ maxConnections: 1 });
  close = () => listener.close();
  for (let attempt = 0; attempt < 20; attempt++) {
    const { status, socket } = await rawClient(url, { headers: { 'sec-websocket-key': 'none' } });
    expect(status).toBe(400);
    await new Promise((resolve) => socket.once('close', resolve).resume());
  }
  const { transport } = await dialWebSocket(url);
  await transport.close();
});
