import { describe, expect, it } from 'vitest';
import { call, HostileClient } from './hostile-client.ts';

const cancel = (requestId: unknown) => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId, reason: 'changed my mind' },
});

describe('a server whose client cancels', () => {
  it('does not answer what was cancelled right behind its request', async () => {
    const client = new HostileClient();
    for (let round = 0; round < 20; round++) {
      client.write(call(round, 'slow', { ms: 60_000 }), cancel(round));
    }
    await client.stillServes();
  });

  it('has answered what was done before it was cancelled', async () => {
    const client = new HostileClient();
    client.write(call(1, 'echo', { text: 'x' }), cancel(1));
    await client.stillServes({ id: 1, result: {} });
  });

  it('does not mind cancellations of what never was, or was cancelled before, or names nothing', async () => {
    const client = new HostileClient();
    client.write(call(1, 'slow', { ms: 60_000 }), cancel(1), cancel(1));
    for (const id of [2, '1', null, undefined, {}, [1], 1.5]) client.write(cancel(id));
    client.write({ jsonrpc: '2.0', method: 'notifications/cancelled' });
    await client.stillServes();
  });

  it('lets the id of a cancelled request be used again at once', async () => {
    const client = new HostileClient();
    client.write(call('x', 'slow', { ms: 60_000 }), cancel('x'), call('x', 'echo', { text: 'new' }));
    expect(await client.next()).toMatchObject({ id: 'x', result: { content: [{ text: 'new' }] } });
    await client.stillServes();
  });
});
