import { describe, expect, it } from 'vitest';
import { type JsonObject, type McpError, RpcError, TimeoutError } from '../../../src/jsonrpc/index.ts';
import { type ClientOptions, McpClient } from '../../../src/protocol/index.ts';
import { listing, SESSION, STATELESS, WireServer } from '../wire-server.ts';

const DIALECTS = [
  ['session', SESSION],
  ['stateless', STATELESS],
] as const;

const tool = (name: unknown, more: JsonObject = {}): JsonObject => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
});

async function connected(server: WireServer, options: ClientOptions = {}) {
  const warnings: McpError[] = [];
  const client = await McpClient.inProcess(server, {
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  return { client, warnings, codes: () => warnings.map(({ code }) => code) };
}

describe('requests of the stateless dialect', () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '9' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  };
  const options: ClientOptions = {
    clientInfo: { name: 'test', version: '9' },
    onElicit: () => ({ action: 'accept' }),
  };

  it('carry version, identity and capabilities, every one of them', async () => {
    const server = new WireServer(STATELESS);
    const { client } = await connected(server, options);
    void client.request('resources/list').catch(() => {});
    void client.callTool('t', { a: 1 }).catch(() => {});
    void client.ping().catch(() => {});
    await server.next();
    await server.next();
    expect(server.received).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: meta } },
      { jsonrpc: '2.0', id: 2, method: 'resources/list', params: { _meta: meta } },
      {
        jsonrpc: '2.0',
        id: 3,
        method: 'tools/call',
        params: { name: 't', arguments: { a: 1 }, _meta: meta },
      },
      { jsonrpc: '2.0', id: 4, method: 'server/discover', params: { _meta: meta } },
    ]);
  });

  it("keep the caller's own metadata, but not in place of the protocol's", async () => {
    const server = new WireServer(STATELESS);
    const { client } = await connected(server, options);
    await client.setLogLevel('warning');
    void client
      .request(
        'tools/call',
        {
          name: 't',
          _meta: { 'com.example/trace': 1, 'io.modelcontextprotocol/protocolVersion': '1999-01-01' },
        },
        { onProgress: () => {} },
      )
      .catch(() => {});
    expect(await server.next()).toMatchObject({
      id: 2,
      params: {
        _meta: {
          ...meta,
          'com.example/trace': 1,
          progressToken: 2,
          'io.modelcontextprotocol/logLevel': 'warning',
        },
      },
    });
  });

  it('are final when resultType is absent or "complete"', async () => {
    const results = [{ content: [] }, { resultType: 'complete', content: [] }];
    const server = new WireServer({ ...STATELESS, 'tools/call': () => results.shift() });
    const { client } = await connected(server);
    expect((await client.callTool('t')).content).toEqual([]);
    expect((await client.callTool('t')).content).toEqual([]);
  });

  it.each(['task', 'COMPLETE', '', null, 1, {}])('are invalid when resultType is %j', async (resultType) => {
    const server = new WireServer({ ...STATELESS, 'tools/call': () => ({ resultType, content: [] }) });
    const { client } = await connected(server);
    await expect(client.callTool('t')).rejects.toMatchObject({
      code: 'INVALID_RESULT',
      message: expect.stringContaining(JSON.stringify(resultType)),
    });
  });
});

describe('requests of the session dialect', () => {
  it('carry nothing but what the caller gives', async () => {
    const server = new WireServer(SESSION);
    const { client } = await connected(server);
    void client.request('resources/list').catch(() => {});
    void client.callTool('t', { a: 1 }, { onProgress: () => {} }).catch(() => {});
    expect(await server.next()).toEqual({ jsonrpc: '2.0', id: 3, method: 'resources/list' });
    expect(await server.next()).toEqual({
      jsonrpc: '2.0',
      id: 4,
      method: 'tools/call',
      params: { name: 't', arguments: { a: 1 }, _meta: { progressToken: 4 } },
    });
  });

  it('are final whatever resultType says: it means nothing there', async () => {
    const server = new WireServer({ ...SESSION, 'tools/call': () => ({ resultType: 'mine', content: [] }) });
    const { client } = await connected(server);
    expect(await client.callTool('t')).toEqual({ resultType: 'mine', content: [] });
  });
});

describe.each(DIALECTS)('a client of the %s dialect', (_, script) => {
  it('reads all pages, with the empty string for a cursor like any other', async () => {
    const pages: { [cursor: string]: JsonObject } = {
      first: { tools: [tool('a'), tool('b')], nextCursor: '' },
      '': { tools: [], nextCursor: 'z' },
      z: { tools: [tool('c')] },
    };
    const server = new WireServer({
      ...script,
      'tools/list': ({ params }) => pages[(params?.cursor as string | undefined) ?? 'first'],
    });
    const { client } = await connected(server);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    const asked = server.received.filter(({ method }) => method === 'tools/list');
    expect(asked.map(({ params }) => (params as JsonObject | undefined)?.cursor)).toEqual([
      undefined,
      '',
      'z',
    ]);
  });

  it.each([null, undefined, 7, false])('takes nextCursor %j for the end', async (nextCursor) => {
    const server = new WireServer({ ...script, 'tools/list': () => ({ tools: [tool('a')], nextCursor }) });
    const { client } = await connected(server);
    expect(await client.listTools()).toEqual([tool('a')]);
  });

  it.each([
    ['at once', ['x', 'x']],
    ['after a while', ['x', 'y', '', 'x']],
  ])('gives up a list whose cursor comes again %s', async (_when, cursors) => {
    let page = 0;
    const server = new WireServer({
      ...script,
      'tools/list': () => ({ tools: [tool('a')], nextCursor: cursors[page++ % cursors.length] }),
    });
    const { client } = await connected(server);
    await expect(client.listTools()).rejects.toMatchObject({
      code: 'PAGINATION',
      message: 'Cannot read "tools/list" to its end: cursor "x" came twice',
    });
    expect(page).toBe(cursors.length);
  });

  it('gives up a list of more than maxPages pages', async () => {
    let page = 0;
    const server = new WireServer({
      ...script,
      'tools/list': () => ({ tools: [], nextCursor: `${page++}` }),
    });
    const { client } = await connected(server, { maxPages: 4 });
    await expect(client.listTools()).rejects.toMatchObject({
      code: 'PAGINATION',
      message: 'Cannot read "tools/list" to its end: over 4 pages; raise maxPages',
    });
    expect(page).toBe(4);
  });

  it('has one deadline for all pages of a list together', async () => {
    const server = new WireServer({
      ...script,
      'tools/list': ({ id }, wire) => {
        setTimeout(() => wire.result(id, { tools: [], nextCursor: `${id}` }), 10);
        return undefined;
      },
    });
    const { client } = await connected(server);
    await expect(client.listTools({ timeoutMs: 35 })).rejects.toBeInstanceOf(TimeoutError);
    await client.close();
  });

  it('takes a list method that is not known for an empty list, with a warning, whatever was declared', async () => {
    const server = new WireServer({
      ...script,
      'tools/list': ({ id }, wire) => {
        wire.error(id, -32601, 'Method not found');
        return undefined;
      },
    });
    const { client, warnings } = await connected(server);
    expect(client.serverCapabilities.tools).toBeDefined();
    expect(await client.listTools()).toEqual([]);
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      ['NOT_SUPPORTED', '"in-process" does not know "tools/list": taken as an empty list'],
    ]);
  });

  it('fails on any other error to a list, and on a page without a list', async () => {
    const server = new WireServer(script);
    const { client } = await connected(server);
    const refused = client.listTools();
    server.error((await server.next()).id, -32603, 'broken');
    await expect(refused).rejects.toMatchObject({ rpcCode: -32603 });
    const empty = client.listTools();
    server.result((await server.next()).id, { items: [] });
    await expect(empty).rejects.toMatchObject({
      code: 'INVALID_RESULT',
      message: 'Cannot read the result of "tools/list": "tools" is not an array',
    });
  });

  it('leaves out what is no tool, with a warning each, and keeps the rest as it came', async () => {
    const good = tool('good', { description: 'kept', 'x-unknown': [1], annotations: { readOnlyHint: true } });
    const server = new WireServer({
      ...script,
      ...listing(
        null as never,
        tool(7),
        { name: 'no schema' },
        tool('bad schema', { inputSchema: [] }),
        good,
      ),
    });
    const { client, codes } = await connected(server);
    expect(await client.listTools()).toEqual([good]);
    expect(codes()).toEqual(['INVALID_RESULT', 'INVALID_RESULT', 'INVALID_RESULT', 'INVALID_RESULT']);
  });

  it("gives a tool's result as it came, its failure too", async () => {
    const result = {
      content: [{ type: 'text', text: 'x' }],
      isError: true,
      structuredContent: [1],
      extra: null,
    };
    const server = new WireServer({ ...script, 'tools/call': () => result });
    const { client } = await connected(server);
    expect(await client.callTool('t', {})).toEqual(result);
  });

  it('reads a result without content as one with none, and refuses content that is no list', async () => {
    const results: JsonObject[] = [{ structuredContent: 1 }, { content: 'text' }];
    const server = new WireServer({ ...script, 'tools/call': () => results.shift() });
    const { client } = await connected(server);
    expect(await client.callTool('t')).toEqual({ structuredContent: 1, content: [] });
    await expect(client.callTool('t')).rejects.toMatchObject({ code: 'INVALID_RESULT' });
  });

  it('rejects with the error that the server answers', async () => {
    const server = new WireServer(script);
    const { client } = await connected(server);
    const call = client.callTool('t');
    server.error((await server.next()).id, -32602, 'Unknown tool: t', { known: ['u'] });
    const error = await call.catch((thrown) => thrown);
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ rpcCode: -32602, message: 'Unknown tool: t', data: { known: ['u'] } });
  });

  it('delivers all 5,000 progress notifications that precede a result before it', async () => {
    const server = new WireServer({
      ...script,
      'tools/call': ({ params }, wire) => {
        const token = (params as { _meta: JsonObject })._meta.progressToken;
        for (let progress = 1; progress <= 5000; progress++) {
          wire.notify('notifications/progress', { progressToken: token, progress });
        }
        return { content: [] };
      },
    });
    const { client } = await connected(server);
    const seen: number[] = [];
    await client.callTool('t', {}, { onProgress: ({ progress }) => seen.push(progress) });
    expect(seen).toEqual(Array.from({ length: 5000 }, (_item, index) => index + 1));
  });

  it('cancels a call that is aborted or late, and ignores the late answer', async () => {
    const server = new WireServer(script);
    const { client, warnings } = await connected(server);
    const controller = new AbortController();
    const aborted = client.callTool('t', {}, { signal: controller.signal });
    const first = await server.next();
    controller.abort(new Error('changed my mind'));
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED', cause: { message: 'changed my mind' } });
    expect(await server.next()).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: first.id, reason: expect.any(String) },
    });
    const late = client.callTool('t', {}, { timeoutMs: 5 });
    const second = await server.next();
    await expect(late).rejects.toBeInstanceOf(TimeoutError);
    expect(await server.next()).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: second.id },
    });
    server.result(first.id, { content: [] });
    server.error(second.id, -32603, 'cancelled');
    const again = client.callTool('t');
    server.result((await server.next()).id, { content: [] });
    await again;
    expect(warnings).toEqual([]);
  });

  it('starts the deadline anew on progress where that is asked for', async () => {
    const server = new WireServer(script);
    const { client } = await connected(server);
    const call = client.callTool('t', {}, { timeoutMs: 400, resetTimeoutOnProgress: true });
    const { id, params } = await server.next();
    const progressToken = (params as { _meta: JsonObject })._meta.progressToken;
    let progress = 0;
    const ticks = setInterval(() => {
      if (++progress < 30) server.notify('notifications/progress', { progressToken, progress });
      else server.result(id, { content: [] });
    }, 20);
    expect((await call).content).toEqual([]);
    clearInterval(ticks);
  });

  it('sends nothing for a call whose signal was aborted before', async () => {
    const server = new WireServer({ ...script, ...listing() });
    const { client } = await connected(server);
    await expect(client.callTool('t', {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    await client.listTools();
    expect(server.methods).not.toContain('tools/call');
    expect(server.methods).not.toContain('notifications/cancelled');
  });

  it('keeps apart ids that differ by type only', async () => {
    const server = new WireServer(script);
    const { client, codes } = await connected(server);
    const call = client.callTool('t');
    const { id } = await server.next();
    server.result(String(id), { content: [{ type: 'text', text: 'of another request' }] });
    server.result(id, { content: [] });
    expect((await call).content).toEqual([]);
    expect(codes()).toEqual(['UNKNOWN_RESPONSE']);
  });

  it('reports answers to ids it never used, errors without an id and values that are no message', async () => {
    const server = new WireServer({ ...script, ...listing(tool('a')) });
    const { client, codes } = await connected(server);
    server.result(999, {});
    server.result('', {});
    server.error(null, -32700, 'Parse error');
    server.send({ jsonrpc: '2.0', error: { code: -32600, message: 'Invalid request' } });
    server.send({ jsonrpc: '1.0', id: 1, result: {} });
    server.send({ jsonrpc: '2.0' });
    server.send('text');
    server.send(null);
    expect(await client.listTools()).toHaveLength(1);
    expect(codes()).toEqual([
      'UNKNOWN_RESPONSE',
      'UNKNOWN_RESPONSE',
      'RPC_ERROR',
      'RPC_ERROR',
      'INVALID_MESSAGE',
      'INVALID_MESSAGE',
      'INVALID_MESSAGE',
      'INVALID_MESSAGE',
    ]);
  });

  it('hands out every notification, unknown ones too, from the first moment on', async () => {
    const early: string[] = [];
    const server = new WireServer({
      ...script,
      ...listing(),
      'server/discover': (request, wire) => {
        wire.notify('notifications/message', { level: 'info', data: 'starting' });
        return script['server/discover']?.(request, wire);
      },
    });
    const { client } = await connected(server, { onNotification: ({ method }) => early.push(method) });
    const heard: unknown[] = [];
    const stop = client.onNotification((notification) => heard.push(notification));
    server.notify('notifications/tools/list_changed');
    server.notify('com.example/news', { n: 1 });
    await client.listTools();
    stop();
    server.notify('com.example/news', { n: 2 });
    await client.listTools();
    expect(early).toEqual([
      'notifications/message',
      'notifications/tools/list_changed',
      'com.example/news',
      'com.example/news',
    ]);
    expect(heard).toEqual([
      { method: 'notifications/tools/list_changed' },
      { method: 'com.example/news', params: { n: 1 } },
    ]);
  });

  it('reports a listener that throws, and the others hear the notification all the same', async () => {
    const server = new WireServer({ ...script, ...listing() });
    const fail = () => {
      throw new Error('listener broke');
    };
    const { client, codes } = await connected(server, { onNotification: fail });
    const heard: string[] = [];
    client.onNotification(fail);
    client.onNotification(({ method }) => heard.push(method));
    server.notify('com.example/news');
    await client.listTools();
    expect(heard).toEqual(['com.example/news']);
    expect(codes()).toEqual(['HANDLER_FAILED', 'HANDLER_FAILED']);
  });

  it('settles every pending call once when it is closed, and refuses later ones', async () => {
    const server = new WireServer(script);
    const reasons: McpError[] = [];
    const { client } = await connected(server, { onClose: (reason) => reasons.push(reason) });
    const calls = [client.callTool('a'), client.callTool('b'), client.listTools()];
    const settled = Promise.allSettled(calls);
    await client.close();
    await client.close();
    for (const outcome of await settled) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'CLOSED' } });
    }
    await expect(client.callTool('a')).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(client.notify('notifications/roots/list_changed')).rejects.toMatchObject({ code: 'CLOSED' });
    expect(server.closed).toBe(true);
    expect(reasons).toEqual([]);
  });

  it('tells the server of every pending call that nobody waits for it when it closes', async () => {
    const server = new WireServer(script);
    const { client } = await connected(server);
    const calls = [client.callTool('a'), client.callTool('b')].map((call) => call.catch(() => {}));
    await client.close();
    await Promise.all(calls);
    const sent = server.received.filter(({ method }) => method === 'tools/call');
    const cancelled = server.received.filter(({ method }) => method === 'notifications/cancelled');
    expect(cancelled.map(({ params }) => (params as JsonObject).requestId)).toEqual(sent.map(({ id }) => id));
    expect(cancelled).toHaveLength(2);
  });

  it('hears once that the server closed, and settles what is pending with that reason', async () => {
    const server = new WireServer(script);
    const reasons: McpError[] = [];
    const { client } = await connected(server, { onClose: (reason) => reasons.push(reason) });
    const call = client.callTool('a');
    await server.next();
    await server.close();
    await expect(call).rejects.toMatchObject({
      code: 'CLOSED',
      message: 'The other end of "in-process" closed',
    });
    expect(reasons.map(({ code }) => code)).toEqual(['CLOSED']);
    await client.close();
    expect(reasons).toHaveLength(1);
  });
});

describe('requests of a server in the session dialect', () => {
  it('are answered: ping, what has a handler, and -32601 for the rest, by ids of any type', async () => {
    const server = new WireServer({ ...SESSION, ...listing() });
    const { client } = await connected(server, {
      onElicit: (params) => ({ action: 'accept', content: { echo: params.message } }),
      onSample: async () => ({ role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'm' }),
      onListRoots: () => [{ uri: 'file:///tmp' }],
    });
    const ask = (id: unknown, method: string, params?: JsonObject) =>
      server.send({ jsonrpc: '2.0', id, method, ...(params && { params }) });
    ask('s-1', 'ping');
    ask(0, 'elicitation/create', { message: 'Name?', requestedSchema: { type: 'object', properties: {} } });
    ask('', 'sampling/createMessage', { messages: [], maxTokens: 1 });
    ask(1, 'roots/list');
    ask('1', 'no/such');
    await client.listTools();
    const answers = server.received.filter(({ method }) => method === undefined);
    const byId = (id: unknown) => answers.find((answer) => answer.id === id);
    expect(byId('s-1')).toEqual({ jsonrpc: '2.0', id: 's-1', result: {} });
    expect(byId(0)).toMatchObject({ result: { action: 'accept', content: { echo: 'Name?' } } });
    expect(byId('')).toMatchObject({ result: { model: 'm' } });
    expect(byId(1)).toMatchObject({ result: { roots: [{ uri: 'file:///tmp' }] } });
    expect(byId('1')).toEqual({
      jsonrpc: '2.0',
      id: '1',
      error: { code: -32601, message: 'Method not found: no/such' },
    });
    expect(answers).toHaveLength(5);
  });

  it('are answered before initialized too, and what has no handler is refused', async () => {
    const server = new WireServer({
      ...SESSION,
      initialize: (request, wire) => {
        wire.send({ jsonrpc: '2.0', id: 'early', method: 'ping' });
        wire.send({ jsonrpc: '2.0', id: 'roots', method: 'roots/list' });
        wire.notify('notifications/message', { level: 'info', data: 'before initialized' });
        return SESSION.initialize?.(request, wire);
      },
      'notifications/initialized': (_, wire) => {
        wire.notify('notifications/tools/list_changed');
        return undefined;
      },
      ...listing(),
    });
    const heard: string[] = [];
    const { client, warnings } = await connected(server, {
      onNotification: ({ method }) => heard.push(method),
    });
    await client.listTools();
    expect(server.received).toContainEqual({ jsonrpc: '2.0', id: 'early', result: {} });
    expect(server.received).toContainEqual({
      jsonrpc: '2.0',
      id: 'roots',
      error: { code: -32601, message: 'Method not found: roots/list' },
    });
    expect(heard).toEqual(['notifications/message', 'notifications/tools/list_changed']);
    expect(warnings).toEqual([]);
  });

  it('get an internal error without details when a handler throws, and the client hears all of it', async () => {
    const server = new WireServer({ ...SESSION, ...listing() });
    const { client, warnings } = await connected(server, {
      onSample: () => {
        throw new Error('secret of the host');
      },
      onElicit: () => {
        throw new RpcError(-32042, 'not now');
      },
    });
    server.send({ jsonrpc: '2.0', id: 1, method: 'sampling/createMessage', params: {} });
    server.send({ jsonrpc: '2.0', id: 2, method: 'elicitation/create', params: {} });
    await client.listTools();
    await client.listTools();
    expect(server.received).toContainEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32603, message: 'Internal error' },
    });
    expect(server.received).toContainEqual({
      jsonrpc: '2.0',
      id: 2,
      error: { code: -32042, message: 'not now' },
    });
    expect(warnings.map(({ code }) => code)).toEqual(['HANDLER_FAILED']);
    expect(warnings[0]?.message).toBe('The handler of "sampling/createMessage" threw: secret of the host');
  });

  it('abort the handler when the server cancels them, and are not answered then', async () => {
    const server = new WireServer({ ...SESSION, ...listing() });
    let aborted: Promise<unknown> | undefined;
    const { client } = await connected(server, {
      onListRoots: ({ signal }) => {
        aborted = new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));
        return aborted.then(() => []);
      },
    });
    server.send({ jsonrpc: '2.0', id: 'r', method: 'roots/list' });
    server.notify('notifications/cancelled', { requestId: 'r', reason: 'no need' });
    await client.listTools();
    expect(await aborted).toMatchObject({ code: 'ABORTED', message: 'no need' });
    await client.listTools();
    expect(server.received.filter(({ id, method }) => id === 'r' && method === undefined)).toEqual([]);
  });
});

describe('requests of a server in the stateless dialect', () => {
  it('are not answered: it has no right to send any', async () => {
    const server = new WireServer({ ...STATELESS, ...listing() });
    const { client, warnings } = await connected(server, { onListRoots: () => [] });
    server.send({ jsonrpc: '2.0', id: 's', method: 'ping' });
    server.send({ jsonrpc: '2.0', id: 't', method: 'roots/list' });
    await client.listTools();
    expect(server.methods).toEqual(['server/discover', 'tools/list']);
    expect(warnings.map(({ code }) => code)).toEqual(['INVALID_MESSAGE', 'INVALID_MESSAGE']);
  });
});

describe('batches', () => {
  const batch = (...ids: unknown[]) => ids.map((id) => ({ jsonrpc: '2.0', id, result: { content: [] } }));
  const initialized = (protocolVersion: string) => ({
    ...SESSION,
    initialize: () => ({ protocolVersion, capabilities: {}, serverInfo: { name: 's', version: '1' } }),
  });

  it('are read in revision 2025-03-26', async () => {
    const server = new WireServer(initialized('2025-03-26'));
    const { client } = await connected(server);
    const calls = Promise.all([client.callTool('a'), client.callTool('b')]);
    server.send(batch((await server.next()).id, (await server.next()).id));
    expect(await calls).toHaveLength(2);
  });

  it('are reported and not read in any other', async () => {
    const server = new WireServer(initialized('2025-06-18'));
    const { client, warnings } = await connected(server);
    const call = client.callTool('a');
    const { id } = await server.next();
    server.send(batch(id));
    server.error(id, -32000, 'the real answer');
    await expect(call).rejects.toMatchObject({ rpcCode: -32000 });
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      ['INVALID_MESSAGE', '"in-process" sent a batch, which revision 2025-06-18 does not have'],
    ]);
  });
});
