import { describe, expect, it } from 'vitest';
import { McpServer } from '../../../src/protocol/index.ts';
import { statelessMeta, WireClient } from './wire-client.ts';

const ANYTHING = { type: 'object' } as const;
const INFO = { name: 'test', version: '1.0.0' };
const SERVER_META = { 'io.modelcontextprotocol/serverInfo': INFO };
const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo';
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

function serverWithTool(): McpServer {
  const server = new McpServer(INFO);
  server.tool({ name: 'echo', inputSchema: ANYTHING }, (args) => JSON.stringify(args));
  return server;
}

describe('what every request must say', () => {
  it.each([
    ['no version', { [CAPABILITIES]: {} }],
    ['no version but an identity', { [CLIENT_INFO]: { name: 'x', version: '1' } }],
    ['no capabilities', { [VERSION]: '2026-07-28' }],
    ['a version that is no string', { [VERSION]: 20260728, [CAPABILITIES]: {} }],
    ['capabilities that are no object', { [VERSION]: '2026-07-28', [CAPABILITIES]: [] }],
    ['a log level that is none', statelessMeta({}, { [LOG_LEVEL]: 'loud' })],
    ['a log level of another type', statelessMeta({}, { [LOG_LEVEL]: 1 })],
  ])('is checked: %s is refused with -32602', async (_, meta) => {
    const client = await WireClient.connect(serverWithTool());
    for (const method of ['server/discover', 'tools/list', 'tools/call', 'x/y']) {
      expect(await client.request(method, { name: 'echo', _meta: meta })).toMatchObject({
        error: { code: -32602 },
      });
    }
  });

  it('is its version and capabilities alone', async () => {
    const client = await WireClient.connect(serverWithTool());
    const meta = { [VERSION]: '2026-07-28', [CAPABILITIES]: {} };
    expect(await client.request('server/discover', { _meta: meta })).toMatchObject({ result: {} });
  });

  it.each(['2025-11-25', '1900-01-01', 'v999.0.0', ''])(
    'is a version we speak: %j is refused with -32022',
    async (requested) => {
      const client = await WireClient.connect(serverWithTool());
      const meta = { ...statelessMeta(), [VERSION]: requested };
      const { error } = await client.request('tools/list', { _meta: meta });
      expect(error).toEqual({
        code: -32022,
        message: expect.any(String),
        data: { supported: ['2026-07-28'], requested },
      });
    },
  );
});

describe('discovery', () => {
  it('tells versions, capabilities, instructions and who answers', async () => {
    const info = {
      ...INFO,
      title: 'Test',
      description: 'd',
      websiteUrl: 'https://example.com',
      icons: [{ src: 'data:,' }],
    };
    const server = new McpServer({
      ...info,
      instructions: 'Read me',
      capabilities: { experimental: { x: {} } },
    });
    server.tool({ name: 'a', inputSchema: ANYTHING }, () => 'x');
    server.resource({ uri: 'test:a', name: 'a' }, () => 'x');
    server.prompt({ name: 'a' }, () => 'x', { complete: { y: () => [] } });
    const client = await WireClient.speak(server, '2026-07-28');
    expect(await client.result('server/discover')).toEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: {
        completions: {},
        experimental: { x: {} },
        logging: {},
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        tools: { listChanged: true },
      },
      instructions: 'Read me',
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': info },
    });
  });

  it('names what was declared or offered once, and nothing else', async () => {
    const server = new McpServer({ ...INFO, capabilities: { prompts: {} } });
    const client = await WireClient.speak(server, '2026-07-28');
    const capabilities = async () => (await client.result('server/discover')).capabilities;
    expect(await capabilities()).toEqual({ logging: {}, prompts: { listChanged: true } });
    expect(await client.result('prompts/list')).toMatchObject({ prompts: [] });
    expect(await client.error('tools/list')).toMatchObject({ code: -32601 });
    const remove = server.tool({ name: 'a', inputSchema: ANYTHING }, () => 'x');
    expect(await capabilities()).toMatchObject({ tools: { listChanged: true } });
    remove();
    expect(await client.result('tools/list')).toMatchObject({ tools: [] });
  });
});

describe('a stateless request', () => {
  it.each([
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'tasks/list',
    'prompts/list',
    'constructor',
    '__proto__',
    '',
  ])('of method %j is refused with -32601', async (method) => {
    const server = serverWithTool();
    server.resource({ uri: 'test:a', name: 'a' }, () => 'x');
    const client = await WireClient.speak(server, '2026-07-28');
    expect(
      await client.error(method, { protocolVersion: '2025-11-25', level: 'info', uri: 'test:a' }),
    ).toEqual({
      code: -32601,
      message: `Method not found: ${method}`,
    });
  });

  it('is answered with a result type and the identity of the server, beside _meta of the handler', async () => {
    const server = serverWithTool();
    server.tool({ name: 'meta', inputSchema: ANYTHING }, () => ({ content: [], _meta: { own: 1 } }));
    const client = await WireClient.speak(server, '2026-07-28');
    expect(await client.result('tools/call', { name: 'echo', arguments: { a: 1 } })).toEqual({
      resultType: 'complete',
      content: [{ type: 'text', text: '{"a":1}' }],
      _meta: SERVER_META,
    });
    expect(await client.result('tools/call', { name: 'meta' })).toMatchObject({
      _meta: { own: 1, ...SERVER_META },
    });
  });

  it('leaves nothing behind for the next one on the same channel', async () => {
    const server = new McpServer(INFO);
    server.tool({ name: 'who', inputSchema: ANYTHING }, (_args, context) => {
      context.log('info', 'hello');
      return JSON.stringify(context.client);
    });
    const client = await WireClient.connect(server);
    const loud = {
      ...statelessMeta({ sampling: {} }),
      [LOG_LEVEL]: 'debug',
      [CLIENT_INFO]: { name: 'first', version: '1' },
    };
    await client.request('tools/call', { name: 'who', _meta: loud });
    expect(await client.rest()).toHaveLength(1);
    const plain = { [VERSION]: '2026-07-28', [CAPABILITIES]: {} };
    const { result } = await client.request('tools/call', { name: 'who', _meta: plain });
    expect(result).toMatchObject({ content: [{ text: '{"capabilities":{}}' }] });
    expect(await client.rest()).toEqual([]);
    expect(await client.request('tools/list')).toMatchObject({ error: { code: -32602 } });
  });

  it('gets log messages from the level that it names on, and none without', async () => {
    const server = new McpServer(INFO);
    server.tool({ name: 'log', inputSchema: ANYTHING }, (_args, context) => {
      for (const level of ['debug', 'warning', 'emergency'] as const) context.log(level, level);
    });
    const client = await WireClient.connect(server);
    const levels = async (more: object) => {
      await client.request('tools/call', { name: 'log', _meta: { ...statelessMeta(), ...more } });
      return (await client.rest()).map(({ params }) => params);
    };
    expect(await levels({})).toEqual([]);
    expect(await levels({ [LOG_LEVEL]: 'warning' })).toEqual([
      { level: 'warning', data: 'warning' },
      { level: 'emergency', data: 'emergency' },
    ]);
  });
});

describe('cache hints', () => {
  it('are those of the options, of the primitive, or of the result, the nearest first', async () => {
    const server = new McpServer({
      ...INFO,
      cache: { ttlMs: 5, cacheScope: 'public', tools: { ttlMs: 60 }, read: { cacheScope: 'private' } },
    });
    server.tool({ name: 'a', inputSchema: ANYTHING }, () => 'x');
    server.prompt({ name: 'a' }, () => 'x');
    server.resource({ uri: 'test:plain', name: 'plain' }, () => 'x');
    server.resource({ uri: 'test:own', name: 'own' }, () => 'x', { cache: { ttlMs: 7 } });
    server.resource(
      { uri: 'test:result', name: 'result' },
      (uri) => ({
        contents: [{ uri, text: 'x' }],
        ttlMs: 9,
        cacheScope: 'public',
      }),
      { cache: { ttlMs: 7 } },
    );
    const client = await WireClient.speak(server, '2026-07-28');
    const hints = async (method: string, params?: { uri: string }) => {
      const { ttlMs, cacheScope } = await client.result(method, params);
      return [ttlMs, cacheScope];
    };
    expect(await hints('server/discover')).toEqual([5, 'public']);
    expect(await hints('tools/list')).toEqual([60, 'public']);
    expect(await hints('prompts/list')).toEqual([5, 'public']);
    expect(await hints('resources/list')).toEqual([5, 'public']);
    expect(await hints('resources/templates/list')).toEqual([5, 'public']);
    expect(await hints('resources/read', { uri: 'test:plain' })).toEqual([5, 'private']);
    expect(await hints('resources/read', { uri: 'test:own' })).toEqual([7, 'private']);
    expect(await hints('resources/read', { uri: 'test:result' })).toEqual([9, 'public']);
    expect(await client.result('tools/call', { name: 'a' })).not.toHaveProperty('ttlMs');
  });

  it('go to no client of the session dialect', async () => {
    const server = new McpServer({ ...INFO, cache: { ttlMs: 5 } });
    server.resource({ uri: 'test:a', name: 'a' }, (uri) => ({ contents: [{ uri, text: 'x' }], ttlMs: 9 }));
    const client = await WireClient.speak(server, '2025-11-25');
    expect(await client.result('resources/list')).toEqual({ resources: [{ uri: 'test:a', name: 'a' }] });
    expect(await client.result('resources/read', { uri: 'test:a' })).toEqual({
      contents: [{ uri: 'test:a', text: 'x' }],
    });
  });

  it('are whole numbers of milliseconds, or refused when the server is made', () => {
    for (const ttlMs of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => new McpServer({ ...INFO, cache: { read: { ttlMs } } })).toThrow(TypeError);
    }
  });
});
