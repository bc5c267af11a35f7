import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/jsonrpc/index.ts';
import { McpServer, type ServerOptions } from '../../../src/protocol/index.ts';
import { createLinkedPair } from '../../../src/transport/index.ts';
import { statelessMeta, WireClient } from './wire-client.ts';

const ANYTHING = { type: 'object' } as const;
const INFO = { name: 'test', version: '1.0.0' };
const ID = 'io.modelcontextprotocol/subscriptionId';

function fullServer(options: Partial<ServerOptions> = {}): McpServer {
  const server = new McpServer({ ...INFO, ...options });
  server.tool({ name: 'a', inputSchema: ANYTHING }, () => 'x');
  server.prompt({ name: 'a' }, () => 'x');
  server.resource({ uri: 'test:a', name: 'a' }, () => 'x');
  return server;
}

const listen = (id: unknown, notifications: unknown) => ({
  jsonrpc: '2.0',
  id,
  method: 'subscriptions/listen',
  params: { notifications, _meta: statelessMeta() },
});

const ALL = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['test:a', 'test:b'],
};

const acknowledged = (id: unknown, notifications: unknown) => ({
  jsonrpc: '2.0',
  method: 'notifications/subscriptions/acknowledged',
  params: { notifications, _meta: { [ID]: id } },
});

describe('a subscription', () => {
  it('is acknowledged first, then tells what was asked for, each message with its id', async () => {
    const server = fullServer();
    const client = await WireClient.connect(server);
    client.send(listen('sub-1', ALL));
    expect(await client.take()).toEqual(acknowledged('sub-1', ALL));
    server.notifyToolsChanged();
    server.notifyPromptsChanged();
    server.notifyResourcesChanged();
    server.notifyResourceUpdated('test:b');
    server.notifyResourceUpdated('test:c');
    const meta = { _meta: { [ID]: 'sub-1' } };
    expect(await client.rest()).toEqual([
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: meta },
      { jsonrpc: '2.0', method: 'notifications/prompts/list_changed', params: meta },
      { jsonrpc: '2.0', method: 'notifications/resources/list_changed', params: meta },
      { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'test:b', ...meta } },
    ]);
  });

  it('is acknowledged before a change that happens in the same turn', async () => {
    const server = fullServer();
    const client = await WireClient.connect(server);
    server.use((_context, next) => {
      const answer = next();
      server.notifyToolsChanged();
      return answer;
    });
    client.send(listen(1, { toolsListChanged: true }));
    expect((await client.rest()).map(({ method }) => method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
    ]);
  });

  it('honours only what the server can serve and the client asked for', async () => {
    const server = new McpServer({ ...INFO, capabilities: { resources: { subscribe: false } } });
    server.tool({ name: 'a', inputSchema: ANYTHING }, () => 'x');
    const client = await WireClient.connect(server);
    client.send(listen(1, { ...ALL, somethingNew: true }));
    expect(await client.take()).toEqual(
      acknowledged(1, { toolsListChanged: true, resourcesListChanged: true }),
    );
    client.send(listen(2, { toolsListChanged: 'yes', promptsListChanged: false }));
    expect(await client.take()).toEqual(acknowledged(2, {}));
    server.notifyToolsChanged();
    expect((await client.rest()).map(({ params }) => (params as JsonObject)._meta)).toEqual([{ [ID]: 1 }]);
  });

  it('stands beside others on one channel', async () => {
    const server = fullServer();
    const client = await WireClient.connect(server);
    client.send(listen(0, { toolsListChanged: true }), listen('', { resourceSubscriptions: ['test:a'] }));
    expect(await client.rest()).toHaveLength(2);
    server.notifyToolsChanged();
    server.notifyResourceUpdated('test:a');
    expect(await client.rest()).toMatchObject([
      { method: 'notifications/tools/list_changed', params: { _meta: { [ID]: 0 } } },
      { method: 'notifications/resources/updated', params: { _meta: { [ID]: '' } } },
    ]);
  });

  it('is over, and stays without an answer, when the client cancels it', async () => {
    const server = fullServer();
    const client = await WireClient.connect(server);
    client.send(listen(1, ALL));
    await client.take();
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await client.rest();
    server.notifyToolsChanged();
    expect(await client.rest()).toEqual([]);
    client.send(listen(1, { toolsListChanged: true }));
    expect(await client.take()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
  });

  it('ends with a result when the server closes', async () => {
    const server = fullServer();
    const client = await WireClient.connect(server);
    client.send(listen('a', ALL), listen('b', ALL));
    await client.rest();
    await server.close();
    expect(await client.rest()).toEqual(
      ['a', 'b'].map((id) => ({
        jsonrpc: '2.0',
        id,
        result: { resultType: 'complete', _meta: { [ID]: id, 'io.modelcontextprotocol/serverInfo': INFO } },
      })),
    );
    expect(client.closed).toBe(true);
  });

  it('is refused when its filter is none', async () => {
    const client = await WireClient.speak(fullServer({ maxWatchedResources: 2 }), '2026-07-28');
    const uris = (resourceSubscriptions: unknown) => ({ notifications: { resourceSubscriptions } });
    for (const params of [
      {},
      { notifications: null },
      { notifications: [] },
      uris('test:a'),
      uris([1]),
      uris(['a', 'b', 'c']),
    ]) {
      expect(await client.error('subscriptions/listen', params)).toMatchObject({ code: -32602 });
    }
  });

  it('is refused when there are too many, on its connection or in all', async () => {
    const server = fullServer({ maxSubscriptionsPerConnection: 2, maxSubscriptions: 3 });
    const first = await WireClient.connect(server);
    const second = await WireClient.connect(server);
    first.send(listen(1, ALL), listen(2, ALL), listen(3, ALL));
    expect(await first.take((message) => message.id !== undefined)).toMatchObject({
      id: 3,
      error: { code: -32603 },
    });
    second.send(listen(1, ALL), listen(2, ALL));
    expect(await second.take((message) => message.id !== undefined)).toMatchObject({
      id: 2,
      error: { code: -32603 },
    });
    first.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await first.rest();
    second.send(listen(2, ALL));
    expect(await second.takeCalled('notifications/subscriptions/acknowledged')).toMatchObject({ params: {} });
    await first.close();
    await second.rest();
    second.send(listen(3, ALL));
    expect(await second.take((message) => message.id !== undefined)).toMatchObject({ id: 3, error: {} });
  });

  it('makes a client that does not read pay for no change twice', async () => {
    const server = fullServer();
    const [theirs, ours] = createLinkedPair();
    // A channel that never has room again: each send must wait.
    const sent: JsonObject[] = [];
    let release = () => {};
    const stalled = {
      name: 'stalled',
      start: ours.start.bind(ours),
      close: ours.close.bind(ours),
      send: (message: object) => {
        sent.push({ ...message });
        return new Promise<void>((resolve) => {
          release = resolve;
        });
      },
    };
    server.connect(stalled);
    await theirs.start({ message: () => {}, error: () => {}, close: () => {} });
    void theirs.send({ ...listen(1, ALL), jsonrpc: '2.0', id: 1 });
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    await turn();
    for (let round = 0; round < 5; round++) {
      server.notifyToolsChanged();
      server.notifyResourceUpdated('test:a');
      await turn();
    }
    expect(sent).toHaveLength(1);
    for (let round = 0; round < 4; round++) {
      release();
      await turn();
    }
    expect(sent.map(({ method }) => method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
      'notifications/resources/updated',
    ]);
  });
});
