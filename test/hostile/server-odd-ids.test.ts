import { describe, expect, it } from 'vitest';
import { call, HostileClient, refused } from './hostile-client.ts';

describe('a server whose client uses odd ids', () => {
  it('gives ids back as they came', async () => {
    const client = new HostileClient();
    const ids = [0, -1, 2 ** 53 - 1, '', ' ', '0', 'ünï🙂', '__proto__', 'x'.repeat(10_000)];
    for (const id of ids) {
      client.write(call(id, 'echo', { text: 'x' }));
      await client.stillServes({ id, result: {} });
    }
  });

  it('refuses, without an id, what is no id', async () => {
    const client = new HostileClient();
    for (const id of ['null', '1.5', '1e400', '9007199254740993', 'true', '[]', '{}', '[1]']) {
      client.write(`{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`);
      await client.stillServes(refused(-32600));
    }
  });

  it('answers a request once when its id is used again before it is answered', async () => {
    const client = new HostileClient();
    client.write(
      call(1, 'slow', { ms: 100 }),
      call(1, 'echo', { text: 'second' }),
      call(1, 'echo', { text: 'third' }),
    );
    await client.stillServes(refused(-32600), refused(-32600));
    expect(await client.next()).toMatchObject({ id: 1, result: { content: [{ text: 'done' }] } });
    client.write(call(1, 'echo', { text: 'again' }));
    await client.stillServes({ id: 1, result: { content: [{ text: 'again' }] } });
  });
});
