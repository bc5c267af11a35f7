import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Pooling } from '../../../src/transport/http/pooling.ts';
import { connected, request } from './connected.ts';
import { resultFor, ScriptedServer, sendJson, startRawServer } from './scripted-server.ts';

const STALL_MS = 42;
const SMOOTH_MS = 1;
const SMALL = 500;

function noteTimes(pooling: Pooling, times: number, elapsedMs: number, bytes = SMALL): void {
  for (let turn = 0; turn < times; turn++) pooling.note(elapsedMs, bytes);
}

function stallsUntil(pooling: Pooling, fresh: boolean): number {
  let stalls = 0;
  for (; pooling.fresh !== fresh; stalls++) pooling.note(STALL_MS, SMALL);
  return stalls;
}

describe('Pooling', () => {
  it('uses connections again until replies stall', () => {
    const pooling = new Pooling('auto');
    noteTimes(pooling, 1000, SMOOTH_MS);
    expect(pooling.fresh).toBe(false);
    expect(stallsUntil(pooling, true)).toBeLessThanOrEqual(5);
  });

  it('notices a server that stalls every other time', () => {
    const pooling = new Pooling('auto');
    for (let turn = 0; turn < 10; turn++) pooling.note(turn % 2 === 0 ? STALL_MS : SMOOTH_MS, SMALL);
    expect(pooling.fresh).toBe(true);
  });

  it('is not misled by a stall now and then, by slow replies or by large ones', () => {
    const pooling = new Pooling('auto');
    for (let turn = 0; turn < 1000; turn++) pooling.note(turn % 10 === 0 ? STALL_MS : SMOOTH_MS, SMALL);
    noteTimes(pooling, 100, 1000);
    noteTimes(pooling, 100, STALL_MS, 1_000_000);
    expect(pooling.fresh).toBe(false);
  });

  it('stays with fresh connections that help, whatever older ones still bring', () => {
    const pooling = new Pooling('auto');
    stallsUntil(pooling, true);
    noteTimes(pooling, 20, STALL_MS);
    noteTimes(pooling, 1000, SMOOTH_MS);
    expect(pooling.fresh).toBe(true);
  });

  it('goes back when fresh connections do not help, and is then slower to try again', () => {
    const pooling = new Pooling('auto');
    const first = stallsUntil(pooling, true);
    expect(stallsUntil(pooling, false)).toBeLessThan(50);
    expect(stallsUntil(pooling, true)).toBeGreaterThanOrEqual(first * 5);
  });

  it('does as it is told when it is told', () => {
    for (const mode of [true, false]) {
      const pooling = new Pooling(mode);
      noteTimes(pooling, 100, STALL_MS);
      expect(pooling.fresh).toBe(!mode);
    }
  });
});

describe('a client', () => {
  it.each([true, 'auto' as const])('with pooling %s uses its connections again', async (pooling) => {
    const server = await ScriptedServer.start((received, response) =>
      sendJson(response, resultFor(received)),
    );
    const { transport } = await connected(server.url, { pooling });
    for (let id = 1; id <= 10; id++) await transport.send(request(id));
    // A request that follows in the same turn finds the connection not yet free and opens the second one.
    expect(server.connections).toBeLessThanOrEqual(2);
  });

  it('without pooling opens a connection for every request', async () => {
    const server = await ScriptedServer.start((received, response) =>
      sendJson(response, resultFor(received)),
    );
    const { transport } = await connected(server.url, { pooling: false });
    for (let id = 1; id <= 5; id++) await transport.send(request(id));
    expect(server.connections).toBe(5);
  });

  it('changes to fresh connections where a server stalls on used ones', async () => {
    const turns = new Map<object, number>();
    const url = await startRawServer(async (text, socket) => {
      const turn = (turns.get(socket) ?? 0) + 1;
      turns.set(socket, turn);
      const body = JSON.stringify({ jsonrpc: '2.0', id: Number(/"id":(\d+)/.exec(text)?.[1]), result: {} });
      const isLast = text.includes('connection: close');
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
      );
      if (turn > 1) await delay(STALL_MS);
      if (isLast) socket.end(body);
      else socket.write(body);
    });
    const { transport } = await connected(url);
    for (let id = 1; id <= 20; id++) await transport.send(request(id));
    const longest = Math.max(...turns.values());
    expect(longest).toBeGreaterThan(2);
    expect(longest).toBeLessThan(10);
    expect([...turns.values()].at(-1)).toBe(1);
    expect(turns.size).toBeGreaterThan(10);
  });
});
