import { describe, expect, it } from 'vitest';
import type { JsonObject, McpError } from '../../../src/jsonrpc/index.ts';
import { type ClientOptions, McpClient } from '../../../src/protocol/index.ts';
import { SESSION, STATELESS, WireServer } from '../wire-server.ts';

async function connect(script: ConstructorParameters<typeof WireServer>[0], options: ClientOptions = {}) {
  const server = new WireServer(script);
  const client = await McpClient.inProcess(server, options);
  return { server, client };
}

const count = (server: WireServer, method: string) => server.methods.filter((each) => each === method).length;

describe.each([
  ['session', SESSION],
  ['stateless', STATELESS],
])('features in the %s dialect', (_, dialect) => {
  it('lists resources, templates and prompts over all pages, leaving out what is none', async () => {
    const warnings: McpError[] = [];
    const { client } = await connect(
      {
        ...dialect,
        'resources/list': ({ params }) =>
          params?.cursor === ''
            ? { resources: [{ uri: 'b:', name: 'b' }] }
            : { resources: [{ uri: 'a:', name: 'a' }, { name: 'no uri' }], nextCursor: '' },
        'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 't:{x}', name: 't' }] }),
        'prompts/list': () => ({ prompts: [{ name: 'p' }, 7] }),
      },
      { onWarning: (warning) => warnings.push(warning) },
    );
    expect(await client.listResources()).toEqual([
      { uri: 'a:', name: 'a' },
      { uri: 'b:', name: 'b' },
    ]);
    expect(await client.listResourceTemplates()).toEqual([{ uriTemplate: 't:{x}', name: 't' }]);
    expect(await client.listPrompts()).toEqual([{ name: 'p' }]);
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('"uri" is not a string (name "no uri")'),
      expect.stringContaining('it is no object'),
    ]);
  });

  it('reads a resource, fills in a prompt and completes an argument', async () => {
    const { server, client } = await connect({
      ...dialect,
      'resources/read': () => ({ contents: [{ uri: 'a:', text: 'hello' }] }),
      'prompts/get': () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }] }),
      'completion/complete': () => ({ completion: { values: ['paris'], hasMore: false } }),
    });
    expect((await client.readResource('a:')).contents).toEqual([{ uri: 'a:', text: 'hello' }]);
    expect((await client.getPrompt('p', { city: 'x' })).messages).toHaveLength(1);
    const completion = await client.complete({
      ref: { type: 'ref/prompt', name: 'p' },
      argument: { name: 'city', value: 'pa' },
    });
    expect(completion).toEqual({ values: ['paris'], hasMore: false });
    expect(server.received.find(({ method }) => method === 'prompts/get')?.params).toMatchObject({
      name: 'p',
      arguments: { city: 'x' },
    });
  });

  it('refuses results without the member that they are made of', async () => {
    const { client } = await connect({
      ...dialect,
      'resources/read': () => ({ contents: {} }),
      'prompts/get': () => ({}),
      'completion/complete': () => ({ completion: null }),
      'resources/list': () => ({ resources: 'none' }),
    });
    const code = { code: 'INVALID_RESULT' };
    await expect(client.readResource('a:')).rejects.toMatchObject(code);
    await expect(client.getPrompt('p')).rejects.toMatchObject(code);
    await expect(
      client.complete({ ref: { type: 'ref/resource', uri: 'a:' }, argument: { name: 'x', value: '' } }),
    ).rejects.toMatchObject(code);
    await expect(client.listResources()).rejects.toMatchObject(code);
  });
});

describe('log level', () => {
  it('is set once in a session', async () => {
    const { server, client } = await connect({
      ...SESSION,
      'logging/setLevel': () => ({}),
      ping: () => ({}),
    });
    await client.setLogLevel('warning');
    await client.ping();
    expect(server.received.find(({ method }) => method === 'logging/setLevel')?.params).toEqual({
      level: 'warning',
    });
    expect(server.received.find(({ method }) => method === 'ping')).not.toHaveProperty('params');
  });

  it('rides on every request of the stateless dialect', async () => {
    const { server, client } = await connect({ ...STATELESS, 'tools/call': () => ({ content: [] }) });
    await client.setLogLevel('error');
    await client.callTool('t');
    const call = server.received.find(({ method }) => method === 'tools/call');
    expect(call?.params).toMatchObject({ _meta: { 'io.modelcontextprotocol/logLevel': 'error' } });
    expect(server.methods).not.toContain('logging/setLevel');
  });
});

describe('cache', () => {
  const resource = (more: JsonObject) => ({
    ...STATELESS,
    'resources/read': () => ({ resultType: 'complete', contents: [], ...more }),
  });

  it('keeps a result for as long as the server says, by its params', async () => {
    const { server, client } = await connect(resource({ ttlMs: 60_000, cacheScope: 'private' }));
    await client.readResource('a:');
    await client.readResource('a:');
    await client.readResource('b:');
    expect(count(server, 'resources/read')).toBe(2);
    await client.readResource('a:', { fresh: true });
    expect(count(server, 'resources/read')).toBe(3);
  });

  it.each([[0], [-5], [undefined], ['60000']])('keeps nothing that has a ttlMs of %j', async (ttlMs) => {
    const { server, client } = await connect(resource({ ttlMs }));
    await client.readResource('a:');
    await client.readResource('a:');
    expect(count(server, 'resources/read')).toBe(2);
  });

  it('drops what a notification makes stale, also while it is on its way', async () => {
    const { server, client } = await connect({
      ...STATELESS,
      'resources/read': () => ({ resultType: 'complete', contents: [], ttlMs: 60_000 }),
    });
    await client.readResource('a:');
    await client.readResource('b:');
    server.notify('notifications/resources/updated', { uri: 'a:' });
    await client.ping();
    await client.readResource('b:');
    await client.readResource('a:');
    expect(count(server, 'resources/read')).toBe(3);

    const slow = await connect(STATELESS);
    const first = slow.client.listTools();
    const { id } = await slow.server.next();
    slow.server.notify('notifications/tools/list_changed');
    slow.server.result(id, { resultType: 'complete', tools: [], ttlMs: 60_000 });
    await first;
    const second = slow.client.listTools();
    slow.server.result((await slow.server.next()).id, { resultType: 'complete', tools: [] });
    await second;
  });

  it('keeps no more than maxEntries, and nothing when it is off', async () => {
    const bounded = await connect(resource({ ttlMs: 60_000 }), { cache: { maxEntries: 2 } });
    for (const uri of ['a:', 'b:', 'c:', 'a:']) await bounded.client.readResource(uri);
    expect(count(bounded.server, 'resources/read')).toBe(4);
    await bounded.client.readResource('c:');
    expect(count(bounded.server, 'resources/read')).toBe(4);

    const off = await connect(resource({ ttlMs: 60_000 }), { cache: false });
    await off.client.readResource('a:');
    await off.client.readResource('a:');
    expect(count(off.server, 'resources/read')).toBe(2);
  });

  it('reads a list anew when the server knows a cursor of a kept page no longer', async () => {
    let prefix = 'a';
    const { server, client } = await connect({
      ...STATELESS,
      'resources/list': ({ id, params }, wire) => {
        const { cursor } = params as JsonObject;
        const resources = [{ uri: `${prefix}:${cursor}`, name: 'r' }];
        if (cursor === undefined)
          return { resultType: 'complete', resources, nextCursor: `${prefix}2`, ttlMs: 60_000 };
        if (cursor === `${prefix}2`) return { resultType: 'complete', resources };
        wire.error(id, -32602, 'Invalid cursor');
        return undefined;
      },
    });
    await client.listResources();
    prefix = 'b';
    expect((await client.listResources()).map(({ uri }) => uri)).toEqual(['b:undefined', 'b:b2']);
    expect(count(server, 'resources/list')).toBe(5);
  });

  it('forgets everything when changes may have been missed', async () => {
    const { server, client } = await connect(resource({ ttlMs: 60_000 }));
    const opening = client.listen({ toolsListChanged: true });
    const acknowledge = async () => {
      const { id } = await server.next();
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
      const notifications = { toolsListChanged: true };
      server.notify('notifications/subscriptions/acknowledged', { _meta, notifications });
      return id;
    };
    const id = await acknowledge();
    const events = (await opening)[Symbol.asyncIterator]();
    await client.readResource('a:');
    server.notify('notifications/cancelled', { requestId: id });
    await acknowledge();
    await events.next();
    await client.readResource('a:');
    expect(count(server, 'resources/read')).toBe(2);
  });

  it('is off in the session dialect, whatever a result says, unless it is asked for', async () => {
    const read = { 'resources/read': () => ({ contents: [], ttlMs: 60_000 }) };
    for (const [cache, times] of [
      [undefined, 2],
      [{ defaultTtlMs: 60_000 }, 1],
    ] as const) {
      const { server, client } = await connect({ ...SESSION, ...read }, cache && { cache });
      await client.readResource('a:');
      await client.readResource('a:');
      expect(count(server, 'resources/read')).toBe(times);
    }
  });

  it('keeps no result that input went into', async () => {
    const answers: JsonObject[] = [{ resultType: 'input_required', requestState: 's' }];
    const { server, client } = await connect({
      ...STATELESS,
      'resources/read': () => answers.shift() ?? { resultType: 'complete', contents: [], ttlMs: 60_000 },
    });
    await client.readResource('a:');
    expect(count(server, 'resources/read')).toBe(2);
    await client.readResource('a:');
    expect(count(server, 'resources/read')).toBe(3);
  });
});
