import { describe, expect, it } from 'vitest';
import {
  type ClientOptions,
  type ListenEvent,
  McpClient,
  type Subscription,
} from '../../../src/protocol/index.ts';
import { SESSION, STATELESS, WireServer } from '../wire-server.ts';

const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
const FILTER = { toolsListChanged: true, resourceSubscriptions: ['file:///a', 'file:///b'] };

async function connect(script = STATELESS, options: ClientOptions = {}) {
  const server = new WireServer(script);
  const client = await McpClient.inProcess(server, options);
  return { server, client };
}

async function open(options: ClientOptions = {}) {
  const { server, client } = await connect(STATELESS, options);
  const opening = client.listen(FILTER);
  const request = await server.next();
  const meta = { [SUBSCRIPTION_ID]: request.id };
  server.notify('notifications/subscriptions/acknowledged', {
    _meta: meta,
    notifications: { toolsListChanged: true },
  });
  return { server, client, request, meta, subscription: await opening };
}

function reader(subscription: Subscription): AsyncIterator<ListenEvent> {
  return subscription[Symbol.asyncIterator]();
}

describe('listen in the stateless dialect', () => {
  it('opens one request with the filter and reports what the server honours', async () => {
    const { request, subscription } = await open();
    expect(request).toMatchObject({ method: 'subscriptions/listen', params: { notifications: FILTER } });
    expect(subscription.filter).toEqual({ toolsListChanged: true });
  });

  it('delivers the events of this subscription alone, merging those not read yet', async () => {
    const { server, meta, subscription } = await open();
    server.notify('notifications/resources/updated', {
      _meta: { [SUBSCRIPTION_ID]: 'other' },
      uri: 'file:///a',
    });
    server.notify('notifications/tools/list_changed', { _meta: meta });
    server.notify('notifications/tools/list_changed', { _meta: meta });
    server.notify('notifications/resources/updated', { _meta: meta, uri: 'file:///b' });
    const events = reader(subscription);
    await new Promise(setImmediate);
    expect((await events.next()).value).toEqual({ type: 'toolsListChanged' });
    expect((await events.next()).value).toEqual({ type: 'resourceUpdated', uri: 'file:///b' });
    const next = events.next();
    server.notify('notifications/resources/updated', { _meta: meta, uri: 'file:///a' });
    expect((await next).value).toEqual({ type: 'resourceUpdated', uri: 'file:///a' });
  });

  it('ends when the server ends it in good order', async () => {
    const { server, request, meta, subscription } = await open();
    server.result(request.id, { resultType: 'complete', _meta: meta });
    expect(await reader(subscription).next()).toMatchObject({ done: true });
  });

  it('cancels the request when the reader stops', async () => {
    const { server, request, subscription, meta } = await open();
    server.notify('notifications/tools/list_changed', { _meta: meta });
    for await (const event of subscription) {
      expect(event.type).toBe('toolsListChanged');
      break;
    }
    expect(await server.next()).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: request.id },
    });
  });

  it('opens again after a drop, and then reports one event of each kind', async () => {
    const { server, request, subscription } = await open();
    server.notify('notifications/cancelled', { requestId: request.id });
    const again = await server.next();
    expect(again).toMatchObject({ method: 'subscriptions/listen', params: { notifications: FILTER } });
    expect(again.id).not.toBe(request.id);
    server.notify('notifications/subscriptions/acknowledged', {
      _meta: { [SUBSCRIPTION_ID]: again.id },
      notifications: FILTER,
    });
    const events = reader(subscription);
    expect((await events.next()).value).toEqual({ type: 'toolsListChanged' });
    expect((await events.next()).value).toEqual({ type: 'resourceUpdated', uri: 'file:///a' });
    expect((await events.next()).value).toEqual({ type: 'resourceUpdated', uri: 'file:///b' });
  });

  it('rejects when the server refuses, and when it does not acknowledge in time', async () => {
    const { server, client } = await connect();
    const refused = client.listen(FILTER);
    server.error((await server.next()).id, -32601, 'Method not found');
    await expect(refused).rejects.toMatchObject({ rpcCode: -32601 });

    const slow = await connect(STATELESS, { timeoutMs: 30 });
    await expect(slow.client.listen(FILTER)).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(await slow.server.next()).toMatchObject({ method: 'subscriptions/listen' });
    expect(await slow.server.next()).toMatchObject({ method: 'notifications/cancelled' });
  });

  it('ends with the client, and with its signal', async () => {
    const { client, subscription } = await open();
    const end = reader(subscription).next();
    await client.close();
    expect(await end).toMatchObject({ done: true });

    const other = await connect();
    const abort = new AbortController();
    const opening = other.client.listen(FILTER, { signal: abort.signal });
    const { id } = await other.server.next();
    other.server.notify('notifications/subscriptions/acknowledged', {
      _meta: { [SUBSCRIPTION_ID]: id },
      notifications: {},
    });
    const events = reader(await opening);
    abort.abort();
    expect(await events.next()).toMatchObject({ done: true });
  });
});

describe('listen in the session dialect', () => {
  const script = {
    ...SESSION,
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true } },
      serverInfo: { name: 'wire', version: '1' },
    }),
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
  };

  it('subscribes to each resource once, however many listen, and honours what the server has', async () => {
    const { server, client } = await connect(script);
    const wanted = { ...FILTER, promptsListChanged: true };
    const first = await client.listen(wanted);
    const second = await client.listen({ resourceSubscriptions: ['file:///a'] });
    expect(first.filter).toEqual(FILTER);
    expect(server.methods.filter((method) => method === 'resources/subscribe')).toHaveLength(2);
    server.notify('notifications/prompts/list_changed');
    server.notify('notifications/resources/updated', { uri: 'file:///a' });
    expect((await reader(first).next()).value).toEqual({ type: 'resourceUpdated', uri: 'file:///a' });
    expect((await reader(second).next()).value).toEqual({ type: 'resourceUpdated', uri: 'file:///a' });
    await second.close();
    expect(server.methods).not.toContain('resources/unsubscribe');
    await first.close();
    expect(server.methods.filter((method) => method === 'resources/unsubscribe')).toHaveLength(2);
  });
});
