import { describe, expect, it } from 'vitest';
import {
  createTool,
  McpToolProvider,
  type ProviderOptions,
  type RegistryEvent,
  ToolRegistry,
} from '../../src/bridge/index.ts';
import type { JsonObject, McpError } from '../../src/jsonrpc/index.ts';
import { McpClient } from '../../src/protocol/index.ts';
import { SESSION, WireServer } from '../protocol/wire-server.ts';

const tool = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  description: `does ${name}`,
  inputSchema: { type: 'object', properties: { a: {}, b: {} } },
  outputSchema: { type: 'object' },
  ...more,
});

const own = (name: string) => createTool({ name, call: () => 'own' });

/** A provider and a registry with its tools, and the list that the server shows from now on. */
async function imported(names: string[], options: ProviderOptions = {}) {
  const list = { tools: names.map((name) => tool(name)), fails: false };
  const server = new WireServer({
    ...SESSION,
    'tools/list': ({ id }, wire) => {
      if (!list.fails) return { tools: list.tools };
      wire.error(id, -32603, 'No list today');
      return undefined;
    },
  });
  const client = await McpClient.inProcess(server);
  const warnings: McpError[] = [];
  const provider = await McpToolProvider.connect(client, {
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  const registry = new ToolRegistry();
  provider.registerInto(registry);
  const events: RegistryEvent[] = [];
  registry.onChange((event) => events.push(event));
  return { list, server, provider, registry, warnings, events };
}

const described = (registry: ToolRegistry) =>
  registry.schemas().map(({ name, description }) => [name, description]);

describe('McpToolProvider.refresh', () => {
  it('B15 reads the list again and leaves registered tools alone', async () => {
    const { list, provider, registry, events } = await imported(['a', 'b', 'c']);
    const [a, b] = provider.tools();
    list.tools = [tool('a'), tool('b', { description: 'else' }), tool('d')];
    const tools = await provider.refresh();
    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ['a', 'does a'],
      ['b', 'else'],
      ['d', 'does d'],
    ]);
    expect(provider.tools()).toEqual(tools);
    expect(tools[0]).toBe(a);
    expect(described(registry)).toEqual([
      ['a', 'does a'],
      ['b', 'does b'],
      ['c', 'does c'],
    ]);
    expect(registry.get('b')).toBe(b);
    expect(events).toEqual([]);
    const later = new ToolRegistry();
    expect(provider.registerInto(later)).toEqual(['a', 'b', 'd']);
    expect(later.get('b')?.description).toBe('else');
  });

  it('B15 keeps what it had when the list cannot be read, and reads it the next time', async () => {
    const { list, provider } = await imported(['a']);
    const before = provider.tools();
    list.fails = true;
    list.tools = [tool('b')];
    await expect(provider.refresh()).rejects.toMatchObject({ rpcCode: -32603 });
    expect(provider.tools()).toEqual(before);
    list.fails = false;
    expect((await provider.refresh()).map(({ name }) => name)).toEqual(['b']);
  });

  it('B15 asks the server though its last answer is still fresh', async () => {
    let tools = [tool('a')];
    const server = new WireServer({ ...SESSION, 'tools/list': () => ({ tools, ttlMs: 1e9 }) });
    const provider = await McpToolProvider.connect(await McpClient.inProcess(server));
    tools = [tool('b')];
    expect((await provider.refresh()).map(({ name }) => name)).toEqual(['b']);
  });
});

describe('McpToolProvider.syncInto', () => {
  it('B16 registers what is new, under the prefix', async () => {
    const { list, provider, registry, events } = await imported(['a'], { prefix: 'p' });
    list.tools.push(tool('b'));
    expect(await provider.syncInto(registry)).toEqual({
      added: ['p__b'],
      removed: [],
      untouched: ['p__a'],
      refreshed: [],
    });
    expect(registry.names()).toEqual(['p__a', 'p__b']);
    expect(events).toEqual([{ type: 'added', name: 'p__b' }]);
  });

  it('B16 fills a registry that nothing was registered into', async () => {
    const { provider } = await imported(['b', 'a']);
    const registry = new ToolRegistry();
    expect((await provider.syncInto(registry)).added).toEqual(['a', 'b']);
    expect(registry.names()).toEqual(['b', 'a']);
  });

  it('B17 removes what is gone', async () => {
    const { list, provider, registry, events } = await imported(['a', 'b']);
    list.tools = [tool('b')];
    expect(await provider.syncInto(registry)).toMatchObject({ removed: ['a'], untouched: ['b'] });
    expect(registry.names()).toEqual(['b']);
    expect(events).toEqual([{ type: 'removed', name: 'a' }]);
  });

  it('B17 removes what is gone also when a refresh saw it go', async () => {
    const { list, provider, registry } = await imported(['a', 'b']);
    list.tools = [];
    await provider.refresh();
    expect((await provider.syncInto(registry)).removed).toEqual(['a', 'b']);
    expect(registry.size).toBe(0);
  });

  it('B17 leaves a name that is gone to a tool of another origin', async () => {
    const { list, provider, registry, warnings } = await imported(['a']);
    const foreign = own('a');
    registry.remove('a');
    registry.register(foreign);
    list.tools = [];
    expect(await provider.syncInto(registry)).toEqual({
      added: [],
      removed: [],
      untouched: [],
      refreshed: [],
    });
    expect(registry.get('a')).toBe(foreign);
    expect(warnings).toEqual([]);
  });

  it('B17 leaves a tool alone that a listener puts in the place of one that is gone', async () => {
    const { list, provider, registry } = await imported(['a', 'b', 'c']);
    const [a, b] = [own('a'), own('b')];
    registry.onChange(({ type, name }) => {
      if (type !== 'removed' || name !== 'a') return;
      registry.register(a);
      registry.remove('b');
      registry.register(b);
    });
    list.tools = [tool('c')];
    expect(await provider.syncInto(registry)).toMatchObject({ removed: ['a'], untouched: ['c'] });
    expect([registry.get('a'), registry.get('b')]).toEqual([a, b]);
  });

  it('B18 keeps the very object of a tool that did not change, however the server writes it down', async () => {
    const { list, provider, registry, events } = await imported(['a']);
    const before = registry.get('a');
    list.tools = [
      {
        outputSchema: { type: 'object' },
        inputSchema: { properties: { b: {}, a: {} }, type: 'object' },
        description: 'does a',
        name: 'a',
      },
    ];
    expect((await provider.syncInto(registry)).untouched).toEqual(['a']);
    expect(registry.get('a')).toBe(before);
    expect(events).toEqual([]);
  });

  it.each<[string, JsonObject]>([
    ['description', { description: 'else' }],
    ['title', { title: 'A' }],
    ['input schema', { inputSchema: { type: 'object' } }],
    ['output schema', { outputSchema: { type: 'array' } }],
    ['loss of the output schema', { outputSchema: undefined }],
    ['annotations', { annotations: { readOnlyHint: true } }],
  ])('B19 gives the same object another %s', async (_, change) => {
    const { list, provider, registry, events } = await imported(['a', 'b']);
    const before = registry.get('a');
    list.tools = [tool('a', change), tool('b')];
    expect(await provider.syncInto(registry)).toEqual({
      added: [],
      removed: [],
      untouched: ['b'],
      refreshed: ['a'],
    });
    expect(registry.get('a')).toBe(before);
    expect(before).toMatchObject('annotations' in change ? { isReadOnly: true } : change);
    expect(events).toEqual([{ type: 'refreshed', name: 'a' }]);
    expect(provider.tools()[0]).toBe(before);
    expect((await provider.syncInto(registry)).untouched).toEqual(['a', 'b']);
  });

  it('B19 refreshes what a refresh saw change, and back again', async () => {
    const { list, provider, registry } = await imported(['a']);
    const before = registry.get('a');
    list.tools = [tool('a', { description: 'else' })];
    await provider.refresh();
    expect(before?.description).toBe('does a');
    expect((await provider.syncInto(registry)).refreshed).toEqual(['a']);
    expect(before?.description).toBe('else');
    list.tools = [tool('a')];
    await provider.refresh();
    expect((await provider.syncInto(registry)).refreshed).toEqual(['a']);
    expect(registry.get('a')).toBe(before);
    expect(before?.description).toBe('does a');
  });

  it('B19 tells each of two registries that hold the same object', async () => {
    const { list, provider, registry } = await imported(['a']);
    const second = new ToolRegistry();
    provider.registerInto(second);
    const heard: RegistryEvent[] = [];
    second.onChange((event) => heard.push(event));
    list.tools = [tool('a', { description: 'else' })];
    expect((await provider.syncInto(registry)).refreshed).toEqual(['a']);
    expect(heard).toEqual([]);
    expect((await provider.syncInto(second)).refreshed).toEqual(['a']);
    expect(heard).toEqual([{ type: 'refreshed', name: 'a' }]);
    expect(second.get('a')).toBe(registry.get('a'));
  });

  it('B20 sorts every list of the report', async () => {
    const { list, provider, registry } = await imported(['r2', 'u2', 'x2', 'r1', 'u1', 'x1']);
    const changed = { description: 'else' };
    list.tools = [
      ...[tool('u2'), tool('n2'), tool('r2', changed)],
      ...[tool('u1'), tool('n1'), tool('r1', changed)],
    ];
    expect(await provider.syncInto(registry)).toEqual({
      added: ['n1', 'n2'],
      removed: ['x1', 'x2'],
      untouched: ['u1', 'u2'],
      refreshed: ['r1', 'r2'],
    });
  });

  it('B21 leaves a tool of another origin alone that took a name, with one warning as long as it is there', async () => {
    const { list, provider, registry, warnings } = await imported(['a', 'b']);
    const foreign = own('a');
    registry.remove('a');
    registry.register(foreign);
    list.tools = [tool('a', { description: 'else' }), tool('b')];
    for (let turn = 0; turn < 2; turn++) {
      expect(await provider.syncInto(registry)).toEqual({
        added: [],
        removed: [],
        untouched: ['b'],
        refreshed: [],
      });
      expect(registry.get('a')).toBe(foreign);
    }
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      [
        'DUPLICATE_TOOL',
        'Left out tool "a" of "in-process": the registry has a tool of another origin by that name',
      ],
    ]);
    registry.remove('a');
    expect((await provider.syncInto(registry)).added).toEqual(['a']);
    expect(registry.get('a')?.description).toBe('else');
  });

  it('B21 leaves the tools of another provider alone, of the same server too', async () => {
    const { provider, registry } = await imported(['a']);
    const other = await McpToolProvider.connect(provider.client);
    expect(await other.syncInto(registry)).toEqual({ added: [], removed: [], untouched: [], refreshed: [] });
    expect(registry.get('a')).toBe(provider.tools()[0]);
  });

  it('B22 lets syncs follow each other, each with a list of its own', async () => {
    const { server, provider, registry } = await waiting();
    const first = provider.syncInto(registry);
    const second = provider.syncInto(registry);
    const third = provider.refresh();
    const one = await server.next();
    expect(server.methods.filter((method) => method === 'tools/list')).toHaveLength(2);
    server.result(one.id, { tools: [tool('a')] });
    expect((await first).added).toEqual(['a']);
    server.result((await server.next()).id, { tools: [tool('b')] });
    expect(await second).toMatchObject({ added: ['b'], removed: ['a'] });
    server.result((await server.next()).id, { tools: [] });
    expect(await third).toEqual([]);
    expect(registry.names()).toEqual(['b']);
  });

  it('B22 changes nothing when the list cannot be read to its end, and does not hold up the next', async () => {
    const { server, provider, registry } = await waiting();
    registry.onChange(() => {
      throw new Error('nothing may change');
    });
    const failed = provider.syncInto(registry);
    const next = provider.syncInto(new ToolRegistry());
    server.result((await server.next()).id, { tools: [tool('a')], nextCursor: 'more' });
    const page = await server.next();
    server.error(page.id, -32603, 'No more today');
    await expect(failed).rejects.toMatchObject({ rpcCode: -32603 });
    expect(registry.size).toBe(0);
    expect(provider.tools()).toEqual([]);
    server.result((await server.next()).id, { tools: [tool('a')] });
    expect((await next).added).toEqual(['a']);
  });

  it('B22 gives a sync up when its caller does', async () => {
    const { server, provider, registry } = await waiting();
    const controller = new AbortController();
    const sync = provider.syncInto(registry, { signal: controller.signal });
    await server.next();
    controller.abort();
    await expect(sync).rejects.toMatchObject({ code: 'ABORTED' });
  });

  it.each(['inputSchema', 'annotations'])(
    'leaves a tool out whose %s nests too deeply to be shown to a model, and takes the others',
    async (member) => {
      const { list, provider, registry, warnings } = await imported(['a']);
      list.tools = [tool('a', { [member]: { type: 'object', default: nested(300) } }), tool('b')];
      expect(await provider.syncInto(registry)).toMatchObject({ added: ['b'], removed: ['a'] });
      expect(warnings.map(({ code, message }) => [code, message])).toEqual([
        ['INVALID_RESULT', 'Left out tool "a" of "in-process": it nests deeper than 256 levels'],
      ]);
    },
  );

  it('B18 does not look at what shows nowhere, however deep it nests', async () => {
    const { list, provider, registry } = await imported(['a', 'b']);
    const deep = nested(20_000);
    list.tools = [tool('a', { title: deep, description: deep, icons: deep, _meta: deep }), tool('b')];
    expect(await provider.syncInto(registry)).toMatchObject({ refreshed: ['a'], untouched: ['b'] });
    expect(registry.get('a')).toMatchObject({ title: undefined, description: '' });
    expect(await provider.syncInto(registry)).toMatchObject({ untouched: ['a', 'b'] });
  });
});

/** A provider without tools, whose server leaves the next lists to the test. */
async function waiting() {
  const server = new WireServer(SESSION);
  const connected = McpToolProvider.connect(await McpClient.inProcess(server));
  server.result((await server.next()).id, { tools: [] });
  return { server, provider: await connected, registry: new ToolRegistry() };
}

function nested(levels: number): JsonObject {
  let value: JsonObject = {};
  for (let level = 0; level < levels; level++) value = { deep: value };
  return value;
}
