import { describe, expect, it } from 'vitest';
import { McpToolProvider, ToolRegistry } from '../../src/bridge/index.ts';
import type { JsonObject, McpError } from '../../src/jsonrpc/index.ts';
import { type ClientOptions, type DialectName, McpClient, McpServer } from '../../src/protocol/index.ts';
import { createLinkedPair } from '../../src/transport/index.ts';
import { SESSION, STATELESS, WireServer } from '../protocol/wire-server.ts';

const DIALECTS: DialectName[] = ['session', 'stateless'];
const CHANGED = 'notifications/tools/list_changed';
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';

const tool = (name: string): JsonObject & { name: string; inputSchema: { type: 'object' } } => ({
  name,
  inputSchema: { type: 'object' },
});

/** Resolves as soon as a registry has just these names. */
function becomes(registry: ToolRegistry, names: string[]): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (registry.names().sort().join() !== names.join()) return;
      stop();
      resolve();
    };
    const stop = registry.onChange(check);
    check();
  });
}

async function provide(client: McpClient) {
  const warnings: McpError[] = [];
  let onFirst = (_: McpError) => {};
  const warned = new Promise<McpError>((resolve) => {
    onFirst = resolve;
  });
  const provider = await McpToolProvider.connect(client, {
    onWarning: (warning) => {
      warnings.push(warning);
      onFirst(warning);
    },
  });
  return { provider, registry: new ToolRegistry(), warnings, warned };
}

/** A registry that follows a server whose lists the test answers by hand. */
async function following(dialect: DialectName, options: ClientOptions = {}) {
  const server = new WireServer(dialect === 'session' ? SESSION : STATELESS);
  const client = await McpClient.inProcess(server, { dialect, ...options });
  const providing = provide(client);
  const list = async (...names: string[]) => {
    const request = await server.next();
    expect(request.method).toBe('tools/list');
    server.result(request.id, { tools: names.map(tool) });
  };
  await list();
  const { provider, registry, warnings, warned } = await providing;
  const opening = provider.follow(registry);
  let subscription: unknown;
  if (dialect === 'stateless') {
    const request = await server.next();
    subscription = request.id;
    server.notify('notifications/subscriptions/acknowledged', {
      _meta: { [SUBSCRIPTION_ID]: subscription },
      notifications: { toolsListChanged: true },
    });
  }
  await list('a');
  const handle = await opening;
  expect(registry.names()).toEqual(['a']);
  const changed = () => {
    server.notify(
      CHANGED,
      dialect === 'session' ? undefined : { _meta: { [SUBSCRIPTION_ID]: subscription } },
    );
  };
  const lists = () => server.methods.filter((method) => method === 'tools/list').length;
  return { server, client, provider, registry, warnings, warned, handle, list, lists, changed, subscription };
}

/** Until everything that was sent has arrived, and what it makes happen at once has happened. */
const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe.each(DIALECTS)('McpToolProvider.follow in the %s dialect', (dialect) => {
  it('B23 brings a registry in step and keeps it there', async () => {
    const server = new McpServer({ name: 'changing', version: '1' });
    const removeA = server.tool(tool('a'), () => 'a');
    const client = await McpClient.inProcess(server, { dialect });
    const { provider, registry, warnings } = await provide(client);
    server.tool(tool('b'), () => 'b');
    const handle = await provider.follow(registry);
    expect(handle.active).toBe(true);
    expect(registry.names()).toEqual(['a', 'b']);
    server.tool(tool('c'), () => 'c');
    await becomes(registry, ['a', 'b', 'c']);
    removeA();
    await becomes(registry, ['b', 'c']);
    expect(await registry.get('c')?.call({})).toEqual({ content: 'c' });
    await handle.close();
    expect(handle.active).toBe(false);
    expect(warnings).toEqual([]);
    await client.close();
    await server.close();
  });

  it('B23 reads a burst of changes together', async () => {
    const { client, registry, list, lists, changed } = await following(dialect);
    const before = lists();
    for (let n = 0; n < 100; n++) changed();
    await list('b');
    await becomes(registry, ['b']);
    await settled();
    expect(lists() - before).toBe(1);
    await client.close();
  });

  it('B23 reads once more after changes during a reading, however many', async () => {
    const { server, client, registry, list, lists, changed } = await following(dialect);
    const before = lists();
    changed();
    const request = await server.next();
    for (let n = 0; n < 100; n++) changed();
    await settled();
    expect(lists() - before).toBe(1);
    server.result(request.id, { tools: [tool('early')] });
    await list('late');
    await becomes(registry, ['late']);
    await settled();
    expect(lists() - before).toBe(2);
    await client.close();
  });

  it('B23 keeps the registry and tries again when a reading fails', async () => {
    const { server, client, registry, warnings, list, changed } = await following(dialect);
    changed();
    server.error((await server.next()).id, -32603, 'No list today');
    await list('b');
    await becomes(registry, ['b']);
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      ['HANDLER_FAILED', 'Cannot read the tools of "in-process" after they changed: No list today'],
    ]);
    await client.close();
  });

  it('B23 changes nothing once it is closed, in the middle of a reading too', async () => {
    const { server, client, registry, handle, lists, changed, warnings } = await following(dialect);
    changed();
    const request = await server.next();
    await handle.close();
    expect(handle.active).toBe(false);
    server.result(request.id, { tools: [tool('late')] });
    changed();
    await settled();
    expect(registry.names()).toEqual(['a']);
    expect(lists()).toBe(3);
    expect(warnings).toEqual([]);
    await handle.close();
    await client.close();
  });

  it('B23 ends in silence with its client', async () => {
    const { client, handle, warnings } = await following(dialect);
    await client.close();
    await settled();
    expect(handle.active).toBe(false);
    expect(warnings).toEqual([]);
    await handle.close();
  });

  it('B23 reads again after the connection was lost and made anew', async () => {
    const server = new McpServer({ name: 'changing', version: '1' });
    server.tool(tool('a'), () => 'a');
    let hangUp = async () => {};
    const open = () => {
      const [ours, theirs] = createLinkedPair();
      const connection = server.connect(theirs);
      hangUp = () => connection.close();
      return ours;
    };
    const client = await McpClient.connect(open, {
      dialect,
      autoReconnect: { baseDelayMs: 1 },
    });
    const { provider, registry } = await provide(client);
    const handle = await provider.follow(registry);
    const inStep = becomes(registry, ['a', 'b']);
    const lost = hangUp();
    // It comes between two connections: nobody hears of it.
    server.tool(tool('b'), () => 'b');
    await lost;
    await inStep;
    expect(handle.active).toBe(true);
    await handle.close();
    await client.close();
    await server.close();
  });

  it('B23 ends when its signal is aborted', async () => {
    const server = new McpServer({ name: 'changing', version: '1' });
    server.tool(tool('a'), () => 'a');
    const client = await McpClient.inProcess(server, { dialect });
    const { provider, registry, warnings } = await provide(client);
    const controller = new AbortController();
    const handle = await provider.follow(registry, { signal: controller.signal });
    controller.abort();
    await handle.close();
    expect(handle.active).toBe(false);
    expect(warnings).toEqual([]);
    await expect(provider.follow(registry, { signal: controller.signal })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    await client.close();
  });

  it('B23 fails when the first reading does, and listens no more', async () => {
    const server = new McpServer({ name: 'changing', version: '1' });
    let reads = 0;
    server.tool(tool('a'), () => 'a');
    server.use(async (context, next) => {
      if (context.method === 'tools/list' && reads++ > 0) throw new Error('No list today');
      return next();
    });
    const client = await McpClient.inProcess(server, { dialect });
    const { provider, registry } = await provide(client);
    await expect(provider.follow(registry)).rejects.toMatchObject({ rpcCode: -32603 });
    server.tool(tool('b'), () => 'b');
    await settled();
    expect(reads).toBe(2);
    await client.close();
  });
});

it('B23 gives its subscription back when the first reading fails', async () => {
  const server = new WireServer(STATELESS);
  const client = await McpClient.inProcess(server);
  const providing = provide(client);
  server.result((await server.next()).id, { tools: [] });
  const { provider, registry } = await providing;
  const opening = provider.follow(registry);
  const { id } = await server.next();
  server.notify('notifications/subscriptions/acknowledged', {
    _meta: { [SUBSCRIPTION_ID]: id },
    notifications: { toolsListChanged: true },
  });
  server.error((await server.next()).id, -32603, 'No list today');
  await expect(opening).rejects.toMatchObject({ rpcCode: -32603 });
  expect(await server.next()).toMatchObject({
    method: 'notifications/cancelled',
    params: { requestId: id },
  });
  await client.close();
});

describe('a server that cannot tell of changes', () => {
  const silent = {
    ...SESSION,
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'wire', version: '1.0.0' },
    }),
  };
  const refusing = {
    ...STATELESS,
    'subscriptions/listen': ({ id }: { id: unknown }, server: WireServer) => {
      server.error(id, -32601, 'Method not found');
      return undefined;
    },
  };
  const declining = {
    ...STATELESS,
    'subscriptions/listen': ({ id }: { id: unknown }, server: WireServer) => {
      server.notify('notifications/subscriptions/acknowledged', {
        _meta: { [SUBSCRIPTION_ID]: id },
        notifications: {},
      });
      return undefined;
    },
    'notifications/cancelled': () => undefined,
  };
  const ending = { ...STATELESS, 'subscriptions/listen': () => ({ resultType: 'complete' }) };
  const deaf = {
    ...STATELESS,
    'subscriptions/listen': () => undefined,
    'notifications/cancelled': () => undefined,
  };

  it.each([
    ['declares no such capability', silent, {}],
    ['refuses to be listened to', refusing, {}],
    ['agrees to none of it', declining, {}],
    ['ends the subscription at once', ending, {}],
    ['does not answer', deaf, { timeoutMs: 50 }],
  ])('B23 costs a warning and is read once where it %s', async (_, script, options) => {
    const server = new WireServer({ ...script, 'tools/list': () => ({ tools: [tool('a')] }) });
    const client = await McpClient.inProcess(server, options);
    const { provider, registry, warnings } = await provide(client);
    const handle = await provider.follow(registry);
    expect(handle.active).toBe(false);
    expect(registry.names()).toEqual(['a']);
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      ['NOT_SUPPORTED', 'Cannot follow the tools of "in-process": it does not tell when they change'],
    ]);
    await handle.close();
    await client.close();
  });

  it('B23 is asked again when it ends a subscription, and read again', async () => {
    const { server, client, handle, list, warnings, subscription, registry } = await following('stateless');
    server.result(subscription, { resultType: 'complete', _meta: { [SUBSCRIPTION_ID]: subscription } });
    const { id } = await server.next();
    server.notify('notifications/subscriptions/acknowledged', {
      _meta: { [SUBSCRIPTION_ID]: id },
      notifications: { toolsListChanged: true },
    });
    await list('b');
    await becomes(registry, ['b']);
    expect(handle.active).toBe(true);
    expect(warnings).toEqual([]);
    await client.close();
    await handle.close();
  });

  it('B23 costs a warning as well when it tells no longer', async () => {
    const { server, client, handle, warnings, subscription, registry } = await following('stateless');
    server.result(subscription, { resultType: 'complete', _meta: { [SUBSCRIPTION_ID]: subscription } });
    server.error((await server.next()).id, -32601, 'Method not found');
    await settled();
    expect(handle.active).toBe(false);
    expect(warnings.map(({ code }) => code)).toEqual(['NOT_SUPPORTED']);
    expect(registry.names()).toEqual(['a']);
    await handle.close();
    await client.close();
  });

  it('B23 costs a warning when its connection is lost for good', async () => {
    const { server, handle, warned, subscription, registry } = await following('stateless');
    server.result(subscription, { resultType: 'complete', _meta: { [SUBSCRIPTION_ID]: subscription } });
    await server.close();
    expect(await warned).toMatchObject({ code: 'CLOSED' });
    await handle.close();
    expect(handle.active).toBe(false);
    expect(registry.names()).toEqual(['a']);
  });
});
