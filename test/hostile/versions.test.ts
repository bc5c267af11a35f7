import { describe, expect, it } from 'vitest';
import { startPeer, watchForLeftovers } from './start-peer.ts';

watchForLeftovers();

const play = (game: string) => startPeer('version-games', [game], { probeTimeoutMs: 300 });

describe('a server that plays with versions', () => {
  it.each([
    ['initialize-unknown', /protocol version "2199-01-01": this client speaks 2025-11-25/],
    ['initialize-stateless', /protocol version "2026-07-28": this client speaks 2025-11-25/],
    ['initialize-number', /protocol version 20251125: /],
    ['initialize-nothing', /protocol version undefined: /],
    ['initialize-refused-without-list', /initialize: error -32022, Unsupported protocol version/],
  ])('%s: cannot be connected to, and the error says why', async (game, message) => {
    await expect(play(game)).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ['discover-unknown', /speaks 2199-01-01: this client speaks 2026-07-28/],
    ['discover-nothing', /speaks no version it names: this client speaks 2026-07-28/],
  ])('%s: cannot be connected to, and gets no initialize', async (game, message) => {
    await expect(play(game)).rejects.toMatchObject({
      code: 'UNSUPPORTED_VERSION',
      message: expect.stringMatching(message),
    });
  });

  it('discovery of session revisions only: opens a session', async () => {
    const { client } = await play('discover-session-only');
    expect(client).toMatchObject({ dialect: 'session', protocolVersion: '2025-11-25' });
    expect(await client.listTools()).toHaveLength(1);
  });

  it('discovery of nonsense and one revision that is known: takes that', async () => {
    const { client } = await play('discover-nonsense');
    expect(client).toMatchObject({ dialect: 'stateless', protocolVersion: '2026-07-28' });
  });

  it('session revisions only, told on the first real request: opens a session and asks again', async () => {
    const { client } = await play('request-session-only');
    expect(client.dialect).toBe('stateless');
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['late']);
    expect(client.dialect).toBe('session');
  });

  it('refuses the revision that it names itself: an error, not a loop', async () => {
    const { client } = await play('request-same-version');
    await expect(client.listTools()).rejects.toMatchObject({ rpcCode: -32022 });
  });

  it('refuses initialize with a stateless revision: speaks stateless', async () => {
    const { client } = await play('initialize-refused');
    expect(client).toMatchObject({ dialect: 'stateless', protocolVersion: '2026-07-28' });
    expect(await client.listTools()).toHaveLength(1);
  });
});
