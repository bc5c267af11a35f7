import { describe, expect, it } from 'vitest';
import { call, HostileClient } from './hostile-client.ts';

const DEPTH = 200_000;

/** A message as text, with something in it that no call stack holds. */
function deep(message: object): string {
  const value = `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`;
  return `${JSON.stringify(message).replace('"DEEP"', value)}\n`;
}

describe('a server whose client nests JSON deeply', () => {
  it.each([
    [
      'arguments of a tool that gives them back as content',
      call(1, 'echo', { text: 'DEEP' }),
      { id: 1, result: { isError: true } },
    ],
    [
      'arguments of a tool that gives them back as data, which cannot be written',
      call(1, 'mirror', { text: 'DEEP' }),
      { id: 1, error: { code: -32603 } },
    ],
    [
      'arguments that a schema is for',
      call(1, 'checked', { text: 'DEEP' }),
      { id: 1, result: { isError: true } },
    ],
    [
      '_meta',
      { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: 'DEEP' } },
      { id: 1, error: { code: -32602 } },
    ],
    ['a method', { jsonrpc: '2.0', id: 1, method: 'DEEP' }, { id: 1, error: { code: -32600 } }],
    ['an id', { jsonrpc: '2.0', id: 'DEEP', method: 'ping' }, { error: { code: -32600 } }],
  ])('answers %s, and goes on', async (_, message, answer) => {
    const client = new HostileClient();
    client.write(deep(message));
    // First: a schema waits for its compiler, and others need not wait for that.
    expect(await client.next()).toMatchObject(answer);
    await client.stillServes();
  });

  it('answers state for a request that nests deeply by refusing it', async () => {
    const client = new HostileClient();
    const request = call(1, 'ask', { text: 'DEEP' });
    client.write(deep({ ...request, params: { ...(request.params as object), requestState: 'a.b' } }));
    await client.stillServes({ id: 1, error: { code: -32602 } });
  });

  it('ignores a notification, and refuses a batch', async () => {
    const client = new HostileClient();
    client.write(deep({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'DEEP' } }));
    await client.stillServes();
    client.write(`${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}\n`);
    await client.stillServes({ error: { code: -32600 } });
    expect(client.child.exitCode).toBeNull();
  });
});
