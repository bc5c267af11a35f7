import { describe, expect, it } from 'vitest';
import { McpServer, SESSION_REVISIONS } from '../../../src/protocol/index.ts';
import { statelessMeta, WireClient } from './wire-client.ts';

const ANYTHING = { type: 'object' } as const;
const INFO = { name: 'test', version: '1.0.0' };

function serverWithTool(): McpServer {
  const server = new McpServer(INFO);
  server.tool({ name: 'echo', inputSchema: ANYTHING }, (args) => JSON.stringify(args));
  return server;
}

const initialize = (protocolVersion: unknown) => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: 'wire', version: '0' },
});

describe('opening a session', () => {
  it.each(SESSION_REVISIONS)('agrees to revision %s', async (revision) => {
    const client = await WireClient.connect(serverWithTool());
    const { result } = await client.request('initialize', initialize(revision));
    expect(result).toEqual({
      protocolVersion: revision,
      capabilities: { logging: {}, tools: { listChanged: true } },
      serverInfo: INFO,
    });
  });

  it.each(['2026-07-28', '2027-01-01', '1.0', ''])(
    'answers %j with the newest session revision',
    async (asked) => {
      const client = await WireClient.connect(serverWithTool());
      const { result } = await client.request('initialize', initialize(asked));
      expect(result).toMatchObject({ protocolVersion: SESSION_REVISIONS[0] });
    },
  );

  it('refuses an initialize request that names no version', async () => {
    const client = await WireClient.connect(serverWithTool());
    expect(await client.request('initialize', initialize(7))).toMatchObject({ error: { code: -32602 } });
    expect(await client.request('initialize')).toMatchObject({ error: { code: -32602 } });
    expect(await client.request('initialize', initialize('2025-11-25'))).toMatchObject({ result: {} });
  });

  it('answers ping at any time, and before initialize nothing else that needs a session', async () => {
    const client = await WireClient.connect(serverWithTool());
    expect(await client.request('ping')).toMatchObject({ result: {} });
    for (const method of ['tools/list', 'logging/setLevel', 'server/discover', 'no/such/method']) {
      expect(await client.request(method, {})).toMatchObject({
        error: { code: -32602, message: expect.stringContaining('initialize') },
      });
    }
    await client.request('initialize', initialize('2025-11-25'));
    expect(await client.request('tools/list')).toMatchObject({ result: { tools: [{ name: 'echo' }] } });
    expect(await client.request('ping')).toEqual({ jsonrpc: '2.0', id: expect.anything(), result: {} });
  });

  it('begins a new session when the client initializes again', async () => {
    const server = new McpServer(INFO);
    server.resource({ uri: 'test:one', name: 'one' }, () => 'text');
    const { wire } = await WireClient.speak(server, '2025-11-25');
    await wire.request('resources/subscribe', { uri: 'test:one' });
    const { result } = await wire.request('initialize', initialize('2025-03-26'));
    expect(result).toMatchObject({ protocolVersion: '2025-03-26' });
    wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await wire.rest();
    server.notifyResourceUpdated('test:one');
    server.notifyResourcesChanged();
    expect(await wire.take()).toEqual({ jsonrpc: '2.0', method: 'notifications/resources/list_changed' });
    expect(await wire.rest()).toEqual([]);
  });

  it('knows no method of the stateless dialect, and nothing that is not offered', async () => {
    const client = await WireClient.speak(serverWithTool(), '2025-11-25');
    const missing = [
      'server/discover',
      'subscriptions/listen',
      'prompts/list',
      'resources/list',
      'resources/read',
    ];
    for (const method of [...missing, 'resources/subscribe', 'completion/complete', 'tasks/list', 'x']) {
      expect(await client.error(method)).toEqual({ code: -32601, message: `Method not found: ${method}` });
    }
  });

  it('serves stateless requests on the same channel, before, during and after the session opens', async () => {
    const client = await WireClient.connect(serverWithTool());
    const stateless = () => client.request('tools/list', { _meta: statelessMeta() });
    const modern = { result: { resultType: 'complete', tools: [{ name: 'echo' }] } };
    expect(await stateless()).toMatchObject(modern);
    await client.request('initialize', initialize('2025-06-18'));
    expect(await stateless()).toMatchObject(modern);
    const { result } = await client.request('tools/list');
    expect(result).toEqual({ tools: [{ name: 'echo', inputSchema: ANYTHING }] });
    expect(await stateless()).toMatchObject(modern);
  });
});

describe('a session', () => {
  it('tells of changed lists once it is initialized, many changes of one turn at once', async () => {
    const server = serverWithTool();
    const client = await WireClient.connect(server);
    await client.request('initialize', initialize('2025-11-25'));
    server.tool({ name: 'early', inputSchema: ANYTHING }, () => 'x');
    expect(await client.rest()).toEqual([]);
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await client.rest();
    const removals = ['a', 'b', 'c'].map((name) => server.tool({ name, inputSchema: ANYTHING }, () => 'x'));
    server.prompt({ name: 'p' }, () => 'x');
    expect(await client.take()).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    expect(await client.take()).toEqual({ jsonrpc: '2.0', method: 'notifications/prompts/list_changed' });
    expect(await client.rest()).toEqual([]);
    for (const remove of removals) remove();
    expect(await client.take()).toMatchObject({ method: 'notifications/tools/list_changed' });
    expect(await client.rest()).toEqual([]);
    removals[0]?.();
    expect(await client.rest()).toEqual([]);
  });

  it('tells of no list whose changes the server does not announce', async () => {
    const server = new McpServer({ ...INFO, capabilities: { tools: { listChanged: false } } });
    const { opened, wire } = await WireClient.speak(server, '2025-11-25');
    expect(opened).toMatchObject({ result: { capabilities: { tools: { listChanged: false } } } });
    server.tool({ name: 'new', inputSchema: ANYTHING }, () => 'x');
    expect(await wire.rest()).toEqual([]);
  });

  it('tells of the resources it watches until it watches them no more', async () => {
    const server = new McpServer(INFO);
    server.resource({ uri: 'test:one', name: 'one' }, () => 'text');
    const client = await WireClient.speak(server, '2025-11-25');
    expect(await client.result('resources/subscribe', { uri: 'test:one' })).toEqual({});
    server.notifyResourceUpdated('test:two');
    server.notifyResourceUpdated('test:one');
    expect(await client.wire.take()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri: 'test:one' },
    });
    expect(await client.result('resources/unsubscribe', { uri: 'test:one' })).toEqual({});
    server.notifyResourceUpdated('test:one');
    expect(await client.wire.rest()).toEqual([]);
    expect(await client.error('resources/subscribe', { uri: 1 })).toMatchObject({ code: -32602 });
  });

  it('watches no more resources than it may', async () => {
    const server = new McpServer({ ...INFO, maxWatchedResources: 2 });
    server.resource({ uri: 'test:one', name: 'one' }, () => 'text');
    const client = await WireClient.speak(server, '2025-11-25');
    for (const uri of ['a:', 'b:', 'b:']) await client.result('resources/subscribe', { uri });
    expect(await client.error('resources/subscribe', { uri: 'c:' })).toMatchObject({ code: -32602 });
    await client.result('resources/unsubscribe', { uri: 'a:' });
    await client.result('resources/subscribe', { uri: 'c:' });
  });

  it('sends log messages from level info on, or from the one that was set', async () => {
    const server = new McpServer(INFO);
    server.tool({ name: 'log', inputSchema: ANYTHING }, (_args, context) => {
      context.log('debug', 'quiet');
      context.log('info', { plain: 1 });
      context.log('error', undefined, 'db');
    });
    const client = await WireClient.speak(server, '2025-11-25');
    const logged = async () => {
      await client.result('tools/call', { name: 'log' });
      return (await client.wire.rest()).map(({ params }) => params);
    };
    const plain = { level: 'info', data: { plain: 1 } };
    const loud = { level: 'error', data: null, logger: 'db' };
    expect(await logged()).toEqual([plain, loud]);
    expect(await client.result('logging/setLevel', { level: 'error' })).toEqual({});
    expect(await logged()).toEqual([loud]);
    await client.result('logging/setLevel', { level: 'debug' });
    expect(await logged()).toEqual([{ level: 'debug', data: 'quiet' }, plain, loud]);
    for (const level of ['loud', 3, undefined, 'toString']) {
      expect(await client.error('logging/setLevel', { level })).toMatchObject({ code: -32602 });
    }
  });
});

describe('batches', () => {
  const call = (id: unknown, text: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'echo', arguments: { text } },
  });

  it('are answered by one array when all is done, in revision 2025-03-26', async () => {
    const server = serverWithTool();
    let finish = () => {};
    server.tool({ name: 'slow', inputSchema: ANYTHING }, async () => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return 'slow';
    });
    const { wire } = await WireClient.speak(server, '2025-03-26');
    wire.send([
      { ...call('slow', ''), params: { name: 'slow' } },
      call('quick', 'x'),
      { jsonrpc: '2.0', method: 'notifications/whatever' },
      { jsonrpc: '2.0', id: 'bad', method: 7 },
      { jsonrpc: '2.0', id: 'init', method: 'initialize', params: initialize('2025-03-26') },
      [call('nested', 'x')],
      5,
    ]);
    wire.send(call('alone', 'y'));
    expect(await wire.take()).toMatchObject({ id: 'alone' });
    expect(await wire.rest()).toEqual([]);
    finish();
    const { batch } = await wire.take();
    expect(batch).toHaveLength(6);
    expect(batch).toMatchObject([
      { id: 'quick', result: {} },
      { id: 'bad', error: { code: -32600 } },
      { id: 'init', error: { code: -32600 } },
      { error: { code: -32600 } },
      { error: { code: -32600 } },
      { id: 'slow', result: {} },
    ]);
    expect(await wire.rest()).toEqual([]);
  });

  it('are answered by nothing when they ask nothing, and without what was cancelled', async () => {
    const server = serverWithTool();
    server.tool({ name: 'stuck', inputSchema: ANYTHING }, () => new Promise(() => {}));
    const { wire } = await WireClient.speak(server, '2025-03-26');
    wire.send([{ jsonrpc: '2.0', method: 'notifications/whatever' }]);
    expect(await wire.rest()).toEqual([]);
    wire.send([{ ...call(7, ''), params: { name: 'stuck' } }, call(8, 'x')]);
    expect(await wire.rest()).toEqual([]);
    wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
    expect(await wire.take()).toMatchObject({ batch: [{ id: 8 }] });
  });

  it.each(['2025-11-25', '2025-06-18', '2024-11-05'] as const)(
    'are refused in revision %s',
    async (revision) => {
      const { wire } = await WireClient.speak(serverWithTool(), revision);
      wire.send([call(1, 'x')]);
      expect(await wire.take()).toEqual({
        jsonrpc: '2.0',
        error: { code: -32600, message: expect.any(String) },
      });
      expect(await wire.rest()).toEqual([]);
    },
  );

  it('are refused before a session is open, and when they are empty or too long', async () => {
    const server = new McpServer({ ...INFO, maxConcurrentRequests: 3 });
    const client = await WireClient.connect(server);
    client.send([{ jsonrpc: '2.0', id: 1, method: 'ping' }]);
    expect(await client.take()).toMatchObject({ error: { code: -32600 } });
    await client.request('initialize', initialize('2025-03-26'));
    client.send([]);
    expect(await client.take()).toMatchObject({ error: { code: -32600 } });
    client.send(['a', 'b', 'c', 'd'].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' })));
    expect(await client.take()).toMatchObject({ error: { code: -32600 } });
    expect(await client.rest()).toEqual([]);
  });
});
