import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { call, HostileClient } from './hostile-client.ts';

describe('a server whose client sends more than is good', () => {
  it('answers every one of very many requests, in order', async () => {
    const client = new HostileClient();
    const count = 20_000;
    for (let id = 0; id < count; id++) client.write(call(id, 'echo', { text: 'x' }));
    for (let id = 0; id < count; id++) {
      const answer = await client.next();
      if (answer.id !== id) expect(answer.id).toBe(id);
    }
    await client.stillServes();
  });

  it('refuses what is above the number of requests at once, and has room again when they are cancelled', async () => {
    const client = new HostileClient();
    const most = 4096;
    const ids = Array.from({ length: most + 100 }, (_, id) => id);
    client.write(...ids.map((id) => call(id, 'slow', { ms: 600_000 })));
    for (const id of ids.slice(most)) {
      const message = expect.stringContaining(String(most));
      expect(await client.next()).toEqual({ jsonrpc: '2.0', id, error: { code: -32603, message } });
    }
    const cancelled = 'notifications/cancelled';
    client.write(...ids.map((requestId) => ({ jsonrpc: '2.0', method: cancelled, params: { requestId } })));
    // A request counts until its handler has ended, which may be a moment after it was cancelled.
    let answer: JsonObject;
    do {
      client.write(call('room', 'echo', { text: 'x' }));
      answer = await client.next();
    } while (answer.error);
    expect(answer).toMatchObject({ id: 'room', result: {} });
    await client.stillServes();
  });

  it('refuses subscriptions above the number that one channel may have', async () => {
    const client = new HostileClient();
    const listen = (id: number) => {
      const { params } = call(id, 'x') as { params: { _meta: object } };
      return {
        jsonrpc: '2.0',
        id,
        method: 'subscriptions/listen',
        params: { _meta: params._meta, notifications: { toolsListChanged: true } },
      };
    };
    for (let id = 0; id < 70; id++) client.write(listen(id));
    const answers = [];
    for (let n = 0; n < 70; n++) answers.push(await client.next());
    expect(answers.filter(({ error }) => error !== undefined)).toHaveLength(70 - 64);
    await client.stillServes();
  });

  it('loses nothing of answers that are larger than what is on its way holds', async () => {
    const client = new HostileClient();
    const count = 300;
    for (let id = 0; id < count; id++) client.write(call(id, 'big', { chars: 200_000 }));
    for (let id = 0; id < count; id++) expect((await client.next()).id).toBe(id);
    await client.stillServes();
  });

  it('ends by itself when the client writes on and has closed its reading end', async () => {
    const client = new HostileClient();
    const exited = once(client.child, 'exit');
    client.child.stdin.on('error', () => {});
    client.child.stdout.destroy();
    const writing = setInterval(() => client.write(call(1, 'echo', { text: 'x' })), 10);
    expect(await exited).toEqual([0, null]);
    clearInterval(writing);
  });
});
