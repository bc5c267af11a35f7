import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonRpcRequest, McpError } from '../../../src/jsonrpc/index.ts';
import { type ClientOptions, McpClient } from '../../../src/protocol/index.ts';
import { createLinkedPair } from '../../../src/transport/index.ts';
import { listing, SESSION, STATELESS, WireServer } from '../wire-server.ts';

const CLIENT = { clientInfo: { name: 'test', version: '9' } };
const DISCOVER = {
  jsonrpc: '2.0',
  id: 1,
  method: 'server/discover',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '9' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};
const initialize = (id: number) => ({
  jsonrpc: '2.0',
  id,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '9' },
  },
});
const INITIALIZED = { jsonrpc: '2.0', method: 'notifications/initialized' };

const connect = (server: WireServer, options: ClientOptions = {}) =>
  McpClient.inProcess(server, { ...CLIENT, ...options });

/** Connects to the servers in turn: the next one each time the connection is opened. */
function connectInTurn(servers: WireServer[], options: ClientOptions = {}): Promise<McpClient> {
  let opened = 0;
  return McpClient.connect(
    () => {
      const [ours, theirs] = createLinkedPair('server');
      void servers[opened++]?.connect(theirs);
      return ours;
    },
    { ...CLIENT, ...options },
  );
}

/** A server that answers nothing until the test does; the probe is the first message it got. */
async function probed(options: ClientOptions = {}) {
  const server = new WireServer({ 'notifications/initialized': () => undefined });
  const client = connect(server, options);
  client.catch(() => {});
  expect(await server.next()).toMatchObject({ method: 'server/discover' });
  return { server, client };
}

const initializeResult = (...[protocolVersion]: unknown[]): JsonObject => ({
  protocolVersion,
  capabilities: {},
  serverInfo: { name: 's', version: '1' },
});

describe('connecting with the dialect "auto"', () => {
  it('asks with server/discover first and takes a result for the stateless dialect', async () => {
    const server = new WireServer(STATELESS);
    const client = await connect(server);
    expect(server.received).toEqual([DISCOVER]);
    expect(client.dialect).toBe('stateless');
    expect(client.protocolVersion).toBe('2026-07-28');
    expect(client.serverInfo).toEqual({ name: 'wire', version: '1.0.0' });
    expect(client.serverCapabilities).toEqual({ tools: {} });
  });

  it('opens a session on the same connection when the probe is refused', async () => {
    const server = new WireServer(SESSION);
    const client = await connect(server);
    expect(server.received).toEqual([DISCOVER, initialize(2), INITIALIZED]);
    expect(client.dialect).toBe('session');
    expect(client.protocolVersion).toBe('2025-11-25');
    expect(client.serverInfo).toEqual({ name: 'wire', version: '1.0.0' });
    expect(client.serverCapabilities).toEqual({ tools: { listChanged: true } });
  });

  it.each([-32601, -32602, -32600, -32603, -32700, -32002, -32000, -32001, -32003, 0, 1, 404])(
    'takes error %d on the probe for the session dialect',
    async (code) => {
      const { server, client } = await probed();
      server.error(1, code, 'refused');
      const request = await server.next();
      expect(request).toMatchObject({ method: 'initialize' });
      server.result(request.id, initializeResult('2025-11-25'));
      expect((await client).dialect).toBe('session');
    },
  );

  it.each([
    [-32021, 'Missing required client capability', { requiredCapabilities: { elicitation: {} } }],
    [-32020, 'Header mismatch', undefined],
  ])('takes error %d on the probe for the stateless dialect', async (code, message, data) => {
    const { server, client } = await probed();
    server.error(1, code, message, data);
    expect((await client).dialect).toBe('stateless');
    expect(server.methods).toEqual(['server/discover']);
  });

  it('opens a session when the discovery lists only session revisions', async () => {
    const { server, client } = await probed();
    server.result(1, { supportedVersions: ['2025-06-18', '2025-11-25'], capabilities: {} });
    const request = await server.next();
    expect(request).toMatchObject({ method: 'initialize' });
    server.result(request.id, initializeResult('2025-06-18'));
    expect(await client).toMatchObject({ dialect: 'session', protocolVersion: '2025-06-18' });
  });

  it('opens a session when -32022 on the probe lists only session revisions', async () => {
    const { server, client } = await probed();
    server.error(1, -32022, 'Unsupported protocol version', {
      supported: ['2025-11-25'],
      requested: '2026-07-28',
    });
    const request = await server.next();
    expect(request).toMatchObject({ method: 'initialize' });
    server.result(request.id, initializeResult('2025-11-25'));
    expect((await client).dialect).toBe('session');
  });

  it.each([
    [
      'a discovery',
      (server: WireServer) => server.result(1, { supportedVersions: ['2099-01-01'], capabilities: {} }),
    ],
    ['error -32022', (server: WireServer) => server.error(1, -32022, 'no', { supported: ['2099-01-01'] })],
  ])('gives up when %s lists no revision that is known here, and names both lists', async (_, answer) => {
    const { server, client } = await probed();
    answer(server);
    await expect(client).rejects.toMatchObject({
      code: 'UNSUPPORTED_VERSION',
      message: expect.stringMatching(/2099-01-01.*2026-07-28, 2025-11-25/),
    });
    expect(server.closed).toBe(true);
  });

  it('gives up when -32022 lists nothing at all', async () => {
    const { server, client } = await probed();
    server.error(1, -32022, 'no');
    await expect(client).rejects.toMatchObject({ code: 'UNSUPPORTED_VERSION' });
  });

  it.each([
    ['no versions', { capabilities: {} }],
    ['versions that are no list', { supportedVersions: '2026-07-28' }],
    ['an echo of something else', { ok: true }],
  ])('opens a session when the probe is answered with %s', async (_, result) => {
    const { server, client } = await probed();
    server.result(1, result);
    const request = await server.next();
    expect(request).toMatchObject({ method: 'initialize' });
    server.result(request.id, initializeResult('2025-11-25'));
    expect((await client).dialect).toBe('session');
  });

  it('opens a session when the answer to the probe is no message', async () => {
    const { server, client } = await probed();
    server.send({ jsonrpc: '2.0', id: 1, result: 'not an object' });
    const request = await server.next();
    expect(request).toMatchObject({ method: 'initialize' });
    server.result(request.id, initializeResult('2025-11-25'));
    expect((await client).dialect).toBe('session');
  });

  it('opens a session on the same connection when the probe is met with silence, without cancelling it', async () => {
    const { server, client } = await probed({ probeTimeoutMs: 5 });
    const request = await server.next();
    expect(request).toEqual(initialize(2));
    server.result(request.id, initializeResult('2025-11-25'));
    expect((await client).dialect).toBe('session');
    expect(server.received).toEqual([DISCOVER, initialize(2), INITIALIZED]);
  });

  it.each([
    [
      'a discovery',
      (server: WireServer) => server.result(1, STATELESS['server/discover']?.({} as never, server)),
    ],
    ['a modern error', (server: WireServer) => server.error(1, -32022, 'no', { supported: ['2026-07-28'] })],
  ])('never goes back on the session when %s comes late', async (_, answer) => {
    const warnings: McpError[] = [];
    const { server, client } = await probed({
      probeTimeoutMs: 5,
      onWarning: (warning) => warnings.push(warning),
    });
    const request = await server.next();
    answer(server);
    server.result(request.id, initializeResult('2025-11-25'));
    const connected = await client;
    expect(connected.dialect).toBe('session');
    answer(server);
    const pinged = connected.ping();
    const ping = await server.next();
    expect(ping).toEqual({ jsonrpc: '2.0', id: 3, method: 'ping' });
    server.result(ping.id, {});
    await pinged;
    expect(connected.dialect).toBe('session');
    // The first late answer is dropped quietly; the second answers nothing that was asked.
    expect(warnings.map(({ code }) => code)).toEqual(['UNKNOWN_RESPONSE']);
  });

  it('speaks stateless after all when initialize is refused with a list that has a stateless revision', async () => {
    const { server, client } = await probed({ probeTimeoutMs: 5 });
    const request = await server.next();
    server.error(request.id, -32022, 'Unsupported', { supported: ['2026-07-28'], requested: '2025-11-25' });
    expect(await client).toMatchObject({ dialect: 'stateless', protocolVersion: '2026-07-28' });
  });

  it('opens the connection once more, with initialize first, when it ends on the probe', async () => {
    const first = new WireServer();
    const second = new WireServer(SESSION);
    const client = connectInTurn([first, second]);
    await first.next();
    await first.close();
    expect((await client).dialect).toBe('session');
    expect(second.received).toEqual([initialize(1), INITIALIZED]);
  });

  it('opens the connection once more when it ends after the probe was refused', async () => {
    const first = new WireServer();
    const second = new WireServer(SESSION);
    const client = connectInTurn([first, second]);
    await first.next();
    first.error(1, -32600, 'initialize first');
    await first.close();
    expect((await client).dialect).toBe('session');
    expect(second.methods).toEqual(['initialize', 'notifications/initialized']);
  });

  it('opens it no third time, and says what went wrong in both attempts', async () => {
    const servers = [new WireServer(), new WireServer(), new WireServer(SESSION)];
    const client = connectInTurn(servers);
    client.catch(() => {});
    for (const server of servers.slice(0, 2)) {
      await server.next();
      await server.close();
    }
    await expect(client).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringMatching(
        /Cannot connect to "server": server\/discover: .*closed.*; initialize: .*closed/,
      ),
    });
    expect(servers[2]?.received).toEqual([]);
  });

  it('says what went wrong in both attempts on a connection that is made once', async () => {
    const { server, client } = await probed();
    server.error(1, -32601, 'Method not found');
    const request = await server.next();
    server.error(request.id, -32603, 'no database');
    await expect(client).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message:
        'Cannot connect to "in-process": server/discover: error -32601, Method not found; initialize: error -32603, no database',
    });
    expect(server.closed).toBe(true);
  });

  it('is aborted by the signal, during the probe and during initialize', async () => {
    for (const isInitializing of [false, true]) {
      const controller = new AbortController();
      const { server, client } = await probed({ signal: controller.signal });
      if (isInitializing) {
        server.error(1, -32601, 'no');
        await server.next();
      }
      controller.abort(new Error('enough'));
      await expect(client).rejects.toMatchObject({ code: 'ABORTED' });
      expect(server.closed).toBe(true);
      expect(server.methods).not.toContain('notifications/cancelled');
    }
  });

  it('is aborted by the signal while its transport starts, and before', async () => {
    for (const isEarly of [false, true]) {
      const controller = new AbortController();
      const [ours] = createLinkedPair();
      let fail = (_: Error) => {};
      ours.start = () =>
        new Promise((_, reject) => {
          fail = reject;
        });
      ours.close = async () => fail(new Error('closed'));
      if (isEarly) controller.abort(new Error('enough'));
      const connecting = McpClient.connect(ours, { signal: controller.signal });
      controller.abort(new Error('enough'));
      await expect(connecting).rejects.toMatchObject({ code: 'ABORTED', cause: { message: 'enough' } });
    }
  });

  it('fails at the deadline of the handshake', async () => {
    const { server, client } = await probed({ connectTimeoutMs: 5 });
    server.error(1, -32601, 'no');
    await expect(client).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringContaining('did not answer "initialize" within 5 ms'),
    });
    expect(server.methods).toEqual(['server/discover', 'initialize']);
  });
});

describe('connecting with the dialect "session"', () => {
  it('sends initialize first', async () => {
    const server = new WireServer(SESSION);
    const client = await connect(server, { dialect: 'session' });
    expect(server.received).toEqual([initialize(1), INITIALIZED]);
    expect(client.dialect).toBe('session');
  });

  it('does not change to stateless when it is refused', async () => {
    const server = new WireServer({
      initialize: ({ id }, wire) => {
        wire.error(id, -32022, 'no', { supported: ['2026-07-28'] });
        return undefined;
      },
    });
    await expect(connect(server, { dialect: 'session' })).rejects.toMatchObject({ code: 'CONNECT_FAILED' });
  });

  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])('takes revision %s', async (revision) => {
    const server = new WireServer({ ...SESSION, initialize: () => initializeResult(revision) });
    expect((await connect(server, { dialect: 'session' })).protocolVersion).toBe(revision);
  });

  it.each(['2026-07-28', '2099-01-01', '', null, 7, undefined])('refuses revision %j', async (revision) => {
    const server = new WireServer({ ...SESSION, initialize: () => initializeResult(revision) });
    await expect(connect(server, { dialect: 'session' })).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringMatching(
        /answered initialize with protocol version .*: this client speaks 2025-11-25/,
      ),
    });
    expect(server.methods).not.toContain('notifications/initialized');
  });

  it('declares what the caller declares, and what it has handlers for', async () => {
    const server = new WireServer(SESSION);
    await connect(server, {
      dialect: 'session',
      capabilities: { experimental: { x: {} } },
      onElicit: () => ({ action: 'decline' }),
      onSample: () => ({ role: 'assistant', content: { type: 'text', text: '' }, model: 'm' }),
      onListRoots: () => [],
    });
    expect(server.received[0]).toMatchObject({
      params: { capabilities: { experimental: { x: {} }, elicitation: {}, sampling: {}, roots: {} } },
    });
  });
});

describe('connecting with the dialect "stateless"', () => {
  it('does not fall back to a session', async () => {
    const server = new WireServer(SESSION);
    await expect(connect(server, { dialect: 'stateless' })).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: 'Cannot connect to "in-process": server/discover: error -32601, Method not found',
    });
    expect(server.methods).toEqual(['server/discover']);
    expect(server.closed).toBe(true);
  });
});

describe('a saved verdict', () => {
  it('is plain JSON, and saves the next connection the probe', async () => {
    const first = await connect(new WireServer(STATELESS));
    const prior = JSON.parse(JSON.stringify(first.verdict));
    expect(prior).toEqual({
      dialect: 'stateless',
      revision: '2026-07-28',
      server: { capabilities: { tools: {} }, info: { name: 'wire', version: '1.0.0' } },
    });
    const server = new WireServer(listing());
    const client = await connect(server, { prior });
    expect(client).toMatchObject({ dialect: 'stateless', serverInfo: { name: 'wire' } });
    expect(server.received).toEqual([]);
    await client.listTools();
    expect(server.received).toMatchObject([{ id: 1, method: 'tools/list' }]);
  });

  it('of a session means initialize first', async () => {
    const { verdict } = await connect(new WireServer(SESSION));
    const server = new WireServer(SESSION);
    const client = await connect(server, { prior: verdict });
    expect(server.methods).toEqual(['initialize', 'notifications/initialized']);
    expect(client.verdict).toEqual(verdict);
  });

  it('that no longer holds is given up, where the connection can be made again', async () => {
    const { verdict } = await connect(new WireServer(SESSION));
    const first = new WireServer({
      initialize: ({ id }, wire) => {
        wire.error(id, -32601, 'Method not found');
        return undefined;
      },
    });
    const client = await connectInTurn([first, new WireServer(STATELESS)], { prior: verdict });
    expect(client.dialect).toBe('stateless');
  });

  it('of a session is corrected on the same connection by a list of stateless revisions', async () => {
    const { verdict } = await connect(new WireServer(SESSION));
    const server = new WireServer({
      initialize: ({ id }, wire) => {
        wire.error(id, -32022, 'no', { supported: ['2026-07-28'] });
        return undefined;
      },
    });
    expect((await connect(server, { prior: verdict })).dialect).toBe('stateless');
  });
});

describe('a saved verdict of the stateless dialect', () => {
  const legacy = {
    ...SESSION,
    'tools/call': ({ id, params }: JsonRpcRequest, wire: WireServer) => {
      if (!params?._meta) return { content: [] };
      wire.error(id, -32602, 'Invalid request parameters');
      return undefined;
    },
  };

  it('that no longer holds is found out by the first request that is refused, and that is sent again', async () => {
    const { verdict } = await connect(new WireServer(STATELESS));
    const server = new WireServer(legacy);
    const client = await connect(server, { prior: verdict });
    await Promise.all([client.callTool('a'), client.callTool('b')]);
    expect(client.dialect).toBe('session');
    expect(server.methods.filter((method) => method === 'initialize')).toHaveLength(1);
    expect(server.methods.filter((method) => method === 'tools/call')).toHaveLength(4);
  });

  it('is not doubted once an answer came, nor where the dialect was asked for, and once at most', async () => {
    const { verdict } = await connect(new WireServer(STATELESS));
    const server = new WireServer({ ...legacy, ...STATELESS, 'tools/list': () => ({ tools: [] }) });
    const client = await connect(server, { prior: verdict });
    for (const _ of [1, 2]) await expect(client.callTool('a')).rejects.toMatchObject({ rpcCode: -32602 });
    expect(server.methods).toEqual(['tools/call', 'server/discover', 'tools/call']);

    server.received.length = 0;
    const proven = await connect(server, { prior: verdict });
    await proven.listTools();
    await expect(proven.callTool('a')).rejects.toMatchObject({ rpcCode: -32602 });
    expect(server.methods).toEqual(['tools/list', 'tools/call']);

    server.received.length = 0;
    const insisting = await connect(server, { prior: verdict, dialect: 'stateless' });
    await expect(insisting.callTool('a')).rejects.toMatchObject({ rpcCode: -32602 });
    expect(server.methods).toEqual(['tools/call']);
  });
});

describe('a revision that is refused on an ordinary request', () => {
  const refuse = (supported: unknown[]) => ({
    'tools/call': ({ id }: JsonRpcRequest, wire: WireServer) => {
      if (wire.methods.includes('initialize')) return { content: [{ type: 'text', text: 'in a session' }] };
      wire.error(id, -32022, 'Unsupported protocol version', { supported });
      return undefined;
    },
  });

  it('opens a session when only session revisions are listed, and sends the request again', async () => {
    const server = new WireServer({ ...SESSION, ...STATELESS, ...refuse(['2025-11-25']) });
    const client = await connect(server);
    expect(client.dialect).toBe('stateless');
    expect((await client.callTool('t', {})).content).toEqual([{ type: 'text', text: 'in a session' }]);
    expect(client.dialect).toBe('session');
    expect(server.received.at(-1)).toEqual({
      jsonrpc: '2.0',
      id: 4,
      method: 'tools/call',
      params: { name: 't', arguments: {} },
    });
  });

  it('opens one session for all requests that are refused, early or late', async () => {
    const server = new WireServer({
      ...STATELESS,
      ...SESSION,
      'server/discover': STATELESS['server/discover'] as never,
    });
    const client = await connect(server);
    const calls = [client.callTool('a'), client.callTool('b')];
    const [a, b] = [await server.next(), await server.next()];
    const unsupported = { supported: ['2025-11-25'] };
    server.error(a.id, -32022, 'Unsupported protocol version', unsupported);
    const again = await server.next();
    expect(again).toEqual({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'a' } });
    server.error(b.id, -32022, 'Unsupported protocol version', unsupported);
    const late = await server.next();
    expect(late).toEqual({ jsonrpc: '2.0', id: 6, method: 'tools/call', params: { name: 'b' } });
    server.result(again.id, { content: [] });
    server.result(late.id, { content: [] });
    await Promise.all(calls);
    expect(server.methods.filter((method) => method === 'initialize')).toHaveLength(1);
  });

  it('is an error when the server lists nothing that is spoken here', async () => {
    const server = new WireServer({ ...STATELESS, ...refuse(['2099-01-01']) });
    const client = await connect(server);
    await expect(client.callTool('t')).rejects.toMatchObject({ code: 'UNSUPPORTED_VERSION' });
  });

  it('is asked for once more when the server lists the very revision it refuses, and then is an error', async () => {
    const server = new WireServer({ ...STATELESS, ...refuse(['2026-07-28']) });
    const client = await connect(server);
    await expect(client.callTool('t')).rejects.toMatchObject({ rpcCode: -32022 });
    expect(server.methods).toEqual(['server/discover', 'tools/call', 'tools/call']);
  });

  it('opens no session where the dialect "stateless" was asked for', async () => {
    const server = new WireServer({ ...SESSION, ...STATELESS, ...refuse(['2025-11-25']) });
    const client = await connect(server, { dialect: 'stateless' });
    await expect(client.callTool('t')).rejects.toMatchObject({ code: 'UNSUPPORTED_VERSION' });
    expect(server.methods).not.toContain('initialize');
  });
});
