import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { McpError } from '../../../src/jsonrpc/index.ts';
import { type ClientOptions, McpClient, McpServer, serveWebSocket } from '../../../src/protocol/index.ts';
import { createLinkedPair } from '../../../src/transport/index.ts';
import { SESSION, STATELESS, WireServer } from '../wire-server.ts';

const FAST = { baseDelayMs: 1, maxDelayMs: 2 };

/** A server that can be connected to again and again, and that can be down. */
class Address {
  readonly server: WireServer;
  attempts = 0;
  down = 0;

  constructor(server: WireServer) {
    this.server = server;
  }

  connect(options: ClientOptions = {}): Promise<McpClient> {
    return McpClient.connect(() => {
      this.attempts++;
      const [ours, theirs] = createLinkedPair('address');
      if (this.down > 0) {
        this.down--;
        void theirs.close();
        ours.start = () => Promise.reject(new Error('connection refused'));
      } else {
        void this.server.connect(theirs);
      }
      return ours;
    }, options);
  }
}

describe.each([
  ['session', SESSION],
  ['stateless', STATELESS],
])('reconnect in the %s dialect', (dialect, script) => {
  it('makes a lost connection anew, keeps the listeners, and needs no probe', async () => {
    const address = new Address(new WireServer({ ...script, 'tools/call': () => ({ content: [] }) }));
    const notifications: string[] = [];
    const client = await address.connect();
    client.onNotification(({ method }) => notifications.push(method));
    await address.server.close();
    await expect(client.callTool('t')).rejects.toMatchObject({ code: 'CLOSED' });
    address.down = 2;
    address.server.received.length = 0;
    await client.reconnect(FAST);
    expect(address.attempts).toBe(4);
    expect(client.dialect).toBe(dialect);
    expect(address.server.methods).not.toContain('server/discover');
    await client.callTool('t');
    address.server.notify('notifications/x');
    await client.callTool('t');
    expect(notifications).toEqual(['notifications/x']);
  });

  it('gives up after maxRetries with the last error, and can be asked again', async () => {
    const address = new Address(new WireServer(script));
    const client = await address.connect();
    await address.server.close();
    address.down = 3;
    await expect(client.reconnect({ ...FAST, maxRetries: 2 })).rejects.toThrow('connection refused');
    expect(address.attempts).toBe(4);
    await client.reconnect({ maxRetries: 0 });
    expect(address.attempts).toBe(5);
  });

  it('does it by itself where asked to; calls that come meanwhile wait', async () => {
    const address = new Address(new WireServer({ ...script, 'tools/call': () => ({ content: [] }) }));
    const client = await address.connect({ autoReconnect: FAST });
    const lost = new Promise<void>((resolve) => client.onNotification(() => resolve()));
    address.server.notify('notifications/last');
    await lost;
    await address.server.close();
    await new Promise(setImmediate);
    expect(await client.callTool('t')).toEqual({ content: [] });
    expect(address.attempts).toBe(2);
  });

  it('reports the loss once when it does not come back', async () => {
    const address = new Address(new WireServer(script));
    const closed = new Promise<unknown>((resolve) => {
      void address.connect({ onClose: resolve }).then(() => address.server.close());
    });
    expect(await closed).toMatchObject({ code: 'CLOSED' });
  });
});

describe('reconnect', () => {
  it('by itself gives up a server that takes every connection and ends it at once', async () => {
    const server = new WireServer(STATELESS);
    let attempts = 0;
    const lost = new Promise<McpError>((resolve) => {
      const open = () => {
        const [ours, theirs] = createLinkedPair('address');
        void server.connect(theirs);
        if (attempts++ > 0) setImmediate(() => theirs.close());
        return ours;
      };
      const options = { autoReconnect: { ...FAST, maxRetries: 3 }, onClose: resolve };
      void McpClient.connect(open, options).then(() => server.close());
    });
    expect(await lost).toMatchObject({ code: 'CLOSED' });
    expect(attempts).toBe(5);
  });

  it('opens subscriptions again', async () => {
    const address = new Address(new WireServer(STATELESS));
    const client = await address.connect();
    const opening = client.listen({ toolsListChanged: true });
    const acknowledge = async () => {
      const { id } = await address.server.next();
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
      address.server.notify('notifications/subscriptions/acknowledged', {
        _meta,
        notifications: { toolsListChanged: true },
      });
    };
    await acknowledge();
    const subscription = await opening;
    await address.server.close();
    await client.reconnect(FAST);
    await acknowledge();
    expect(await subscription[Symbol.asyncIterator]().next()).toMatchObject({
      value: { type: 'toolsListChanged' },
    });
    await client.close();
  });

  it('subscribes again in the session dialect', async () => {
    const server = new WireServer({
      ...SESSION,
      initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { resources: { subscribe: true } } }),
      'resources/subscribe': () => ({}),
    });
    const address = new Address(server);
    const client = await address.connect();
    const subscription = await client.listen({ resourceSubscriptions: ['file:///a'] });
    await server.close();
    await client.reconnect(FAST);
    const event = { type: 'resourceUpdated', uri: 'file:///a' };
    expect(await subscription[Symbol.asyncIterator]().next()).toMatchObject({ value: event });
    expect(server.methods.filter((method) => method === 'resources/subscribe')).toHaveLength(2);
    await client.close();
  });

  it('is refused in process', async () => {
    const client = await McpClient.inProcess(new WireServer(STATELESS));
    await expect(client.reconnect()).rejects.toMatchObject({ code: 'NOT_SUPPORTED' });
  });

  it('lets no call wait longer than its deadline, or than its caller wants', async () => {
    const address = new Address(new WireServer(STATELESS));
    const client = await address.connect();
    await address.server.close();
    address.down = 1000;
    const reconnecting = client.reconnect({ baseDelayMs: 1_000_000, maxDelayMs: 1_000_000, jitter: false });
    const stopped = expect(reconnecting).rejects.toMatchObject({ code: 'CLOSED' });
    const controller = new AbortController();
    const aborted = client.callTool('t', {}, { signal: controller.signal });
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(client.callTool('t', {}, { timeoutMs: 5 })).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: '"address" could not be reached for "tools/call" within 5 ms',
    });
    await client.close();
    await stopped;
  });

  it('stops when the client is closed while an attempt hangs', async () => {
    // Takes connections and never answers a handshake.
    const silent = createServer((socket) => void socket.on('error', () => {}));
    const listener = await serveWebSocket(new McpServer({ name: 's', version: '1' }));
    const client = await McpClient.webSocket(String(listener.url));
    await listener.close();
    silent.listen(Number(new URL(String(listener.url)).port), '127.0.0.1');
    await once(silent, 'listening');
    const reached = once(silent, 'connection');
    const stopped = expect(client.reconnect()).rejects.toMatchObject({ code: 'ABORTED' });
    const [socket] = await reached;
    await client.close();
    await stopped;
    socket.destroy();
    silent.close();
  });

  it('is not waited for by a listener whose signal is aborted', async () => {
    const address = new Address(new WireServer(STATELESS));
    const client = await address.connect();
    await address.server.close();
    const controller = new AbortController();
    const listening = client.listen({ toolsListChanged: true }, { signal: controller.signal });
    controller.abort();
    await expect(listening).rejects.toMatchObject({ code: 'ABORTED' });
    await client.close();
  });

  it('stops when the client is closed', async () => {
    const address = new Address(new WireServer(STATELESS));
    const client = await address.connect();
    await address.server.close();
    address.down = 1000;
    const reconnecting = client.reconnect({
      maxRetries: 1000,
      baseDelayMs: 1_000_000,
      maxDelayMs: 1_000_000,
    });
    const rejected = expect(reconnecting).rejects.toMatchObject({ code: 'CLOSED' });
    await client.close();
    await rejected;
  });
});
