import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { framesIn, PING, PONG, TEXT } from '../transport/websocket-peers.ts';
import { clientEnds, type Ends, SIDES } from './websocket-ends.ts';

let ends: Ends;
afterEach(async () => {
  vi.useRealTimers();
  await ends.close();
});

/** Lets everything be read that is under way within this process. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Passes five times what lies between two pings; each time the peer sends something, if anything. */
async function fivePings(send: () => Buffer | undefined): Promise<number> {
  let pings = 0;
  ends.socket.on('data', (chunk: Buffer) => {
    pings += framesIn(chunk).filter(({ type }) => type === PING).length;
  });
  for (let time = 0; time < 5; time++) {
    vi.advanceTimersByTime(1000);
    await settle();
    const bytes = send();
    if (bytes && !ends.socket.destroyed) ends.socket.write(bytes);
    await settle();
  }
  return pings;
}

describe.each(SIDES)('%s with a peer that', (_, makeEnds) => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval'] });
  });

  it('is silent gives it up after one ping without a pong, and breaks the connection', async () => {
    ends = await makeEnds({ keepAliveMs: 1000 });
    expect(await fivePings(() => undefined)).toBe(1);
    expect(ends.sink.closes).toMatchObject([
      {
        code: 'TRANSPORT_FAILED',
        message: expect.stringMatching(
          /did not answer a ping within 1000 ms: taken for lost; raise keepAliveMs/,
        ),
      },
    ]);
    if (!ends.socket.destroyed) await once(ends.socket, 'close');
  });

  it('answers pings keeps the connection, though nobody says anything', async () => {
    ends = await makeEnds({ keepAliveMs: 1000 });
    expect(await fivePings(() => ends.frame(PONG))).toBe(5);
    expect(ends.sink.closes).toEqual([]);
  });

  it('sends messages and no pongs keeps it as well', async () => {
    ends = await makeEnds({ keepAliveMs: 1000 });
    expect(await fivePings(() => ends.frame(TEXT, '[]'))).toBe(5);
    expect(ends.sink.closes).toEqual([]);
    expect(ends.sink.messages).toHaveLength(5);
  });

  it('is silent leaves it alone where keepAliveMs is Infinity', async () => {
    ends = await makeEnds({ keepAliveMs: Number.POSITIVE_INFINITY });
    expect(await fivePings(() => undefined)).toBe(0);
    expect(ends.sink.closes).toEqual([]);
  });
});

it('a peer that stops in the middle of a run is given up without help', async () => {
  ends = await clientEnds({ keepAliveMs: 20 });
  ends.socket.on('data', () => {});
  expect((await ends.sink.closed())?.message).toMatch(/did not answer a ping within 20 ms/);
});
