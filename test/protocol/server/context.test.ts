import { describe, expect, it } from 'vitest';
import { type JsonObject, type McpError, RpcError } from '../../../src/jsonrpc/index.ts';
import { McpServer, REVISIONS, type RequestContext, type Revision } from '../../../src/protocol/index.ts';
import { createLinkedPair } from '../../../src/transport/index.ts';
import { statelessMeta, WireClient } from './wire-client.ts';

const ANYTHING = { type: 'object' } as const;
const INFO = { name: 'test', version: '1' };
const ALL = Object.keys(REVISIONS) as Revision[];
const BOTH = ['2026-07-28', '2025-11-25'] as const;

/** A promise in the hands of a test. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe.each(BOTH)('the context of a request, in revision %s,', (revision) => {
  it('says who asks, what and how', async () => {
    const server = new McpServer(INFO);
    let seen: RequestContext | undefined;
    server.tool({ name: 'look', inputSchema: ANYTHING }, (_args, context) => {
      seen = context;
    });
    const [ours, theirs] = createLinkedPair();
    server.connect(theirs, { auth: { sub: 'ada' } });
    const answered = new Promise<void>((resolve) => {
      void ours.start({
        message: (message) => {
          if ((message as JsonObject).id === 'look-1') resolve();
        },
        error: () => {},
        close: () => {},
      });
    });
    const clientInfo = { name: 'wire', version: '0' };
    void ours.send({
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: { roots: {} }, clientInfo },
    });
    const meta = revision === '2026-07-28' ? { _meta: statelessMeta({ roots: {} }) } : {};
    const params = { name: 'look', arguments: { x: 1 }, ...meta };
    void ours.send({ jsonrpc: '2.0', id: 'look-1', method: 'tools/call', params });
    await answered;
    expect(seen).toMatchObject({
      requestId: 'look-1',
      method: 'tools/call',
      params,
      protocolVersion: revision,
      client: { info: clientInfo, capabilities: { roots: {} } },
      auth: { sub: 'ada' },
      headers: {},
      state: undefined,
    });
    expect(seen?.signal.aborted).toBe(false);
  });

  it('carries progress to the token of the request, rising only, and none without a token', async () => {
    const server = new McpServer(INFO);
    const after: RequestContext[] = [];
    server.tool({ name: 'work', inputSchema: ANYTHING }, async (_args, context) => {
      after.push(context);
      context.progress(0, 100);
      context.progress(50, 100, 'half');
      context.progress(50, 100, 'again');
      context.progress(Number.NaN);
      context.progress(10);
      await context.progress(100.5);
      return 'done';
    });
    const client = await WireClient.speak(server, revision);
    await client.result('tools/call', { name: 'work', _meta: { progressToken: 'p-1' } });
    after[0]?.progress(200);
    expect((await client.wire.rest()).map(({ method, params }) => [method, params])).toEqual([
      ['notifications/progress', { progressToken: 'p-1', progress: 0, total: 100 }],
      ['notifications/progress', { progressToken: 'p-1', progress: 50, total: 100, message: 'half' }],
      ['notifications/progress', { progressToken: 'p-1', progress: 100.5 }],
    ]);
    for (const progressToken of [undefined, null, 1.5, {}, true]) {
      await client.result('tools/call', { name: 'work', _meta: { progressToken } });
    }
    expect(await client.wire.rest()).toEqual([]);
    await client.result('tools/call', { name: 'work', _meta: { progressToken: 0 } });
    expect(await client.wire.rest()).toHaveLength(3);
  });

  it('is cancelled by the client: its signal is aborted, no answer comes, and nothing else is sent', async () => {
    const server = new McpServer({ ...INFO, onError: (error) => errors.push(error) });
    const errors: McpError[] = [];
    const started = gate();
    const stopped = gate();
    server.tool({ name: 'work', inputSchema: ANYTHING }, async (_args, context) => {
      started.open();
      await new Promise((_resolve, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason));
      }).catch(() => {});
      context.progress(1);
      context.log('emergency', 'x');
      stopped.open();
      throw new Error('gave up');
    });
    const client = await WireClient.speak(server, revision);
    const params = client.params({ name: 'work', _meta: { progressToken: 1 } });
    client.wire.send({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params });
    await started.opened;
    const cancel = (requestId: unknown) =>
      client.wire.send({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId, reason: 'no need' },
      });
    cancel('y');
    cancel(null);
    cancel('x');
    cancel('x');
    await stopped.opened;
    expect(await client.wire.rest()).toEqual([]);
    expect(errors).toEqual([]);
    expect(await client.result('tools/list')).toMatchObject({ tools: [{ name: 'work' }] });
  });

  it('refuses a log level that is none', async () => {
    const server = new McpServer(INFO);
    server.tool({ name: 'log', inputSchema: ANYTHING }, (_args, context) => {
      // Sound: the type forbids it, callers from JavaScript do not know.
      context.log('loud' as 'info', 'x');
    });
    const client = await WireClient.speak(server, revision);
    expect(await client.result('tools/call', { name: 'log' })).toMatchObject({ isError: true });
  });

  it('drops what a client that is far behind cannot take, and goes on when it can', async () => {
    const server = new McpServer(INFO);
    const flood = gate();
    let sends = 0;
    server.tool({ name: 'flood', inputSchema: ANYTHING }, async (_args, context) => {
      for (let step = 1; step <= 1000; step++) context.progress(step);
      await flood.opened;
      context.progress(2000);
      return 'done';
    });
    const [ours, theirs] = createLinkedPair();
    const room = gate();
    server.connect({
      name: 'slow',
      start: (sink) => theirs.start(sink),
      close: () => theirs.close(),
      send: (message) => {
        sends++;
        void theirs.send(message);
        // There is room for the answer to initialize alone.
        return sends === 1 ? undefined : room.opened;
      },
    });
    const messages: JsonObject[] = [];
    await ours.start({
      message: (message) => messages.push(message as JsonObject),
      error: () => {},
      close: () => {},
    });
    void ours.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25' },
    });
    const meta = revision === '2026-07-28' ? statelessMeta() : {};
    const params = { name: 'flood', _meta: { ...meta, progressToken: 1 } };
    void ours.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    await turn();
    expect(sends).toBe(1 + 256);
    room.open();
    await turn();
    flood.open();
    await turn();
    expect(messages.slice(-2)).toMatchObject([{ params: { progress: 2000 } }, { id: 2, result: {} }]);
  });
});

describe.each(ALL)('progress in revision %s', (revision) => {
  it('has a message where the revision has one', async () => {
    const server = new McpServer(INFO);
    server.tool(
      { name: 'work', inputSchema: ANYTHING },
      (_args, context) => void context.progress(1, 2, 'm'),
    );
    const client = await WireClient.speak(server, revision);
    await client.result('tools/call', { name: 'work', _meta: { progressToken: 1 } });
    const [notification] = await client.wire.rest();
    const message = revision === '2024-11-05' ? {} : { message: 'm' };
    expect(notification?.params).toEqual({ progressToken: 1, progress: 1, total: 2, ...message });
  });
});

describe.each(BOTH)('middleware, in revision %s,', (revision) => {
  it('runs around every request, in order, and may change, replace or refuse', async () => {
    const server = new McpServer(INFO);
    const trail: string[] = [];
    server.tool({ name: 'a', inputSchema: ANYTHING }, () => {
      trail.push('handler');
      return 'original';
    });
    server.use(async (context, next) => {
      trail.push(`one ${context.method}`);
      const result = await next();
      trail.push('one out');
      return result;
    });
    server.use(async (context, next) => {
      trail.push('two');
      if (context.params.name === 'refuse') throw new RpcError(-31000, 'not today', { until: 'noon' });
      if (context.params.name === 'replace') return { content: [{ type: 'text', text: 'replaced' }] };
      const result = await next();
      return { ...result, _meta: { seen: true } };
    });
    const client = await WireClient.speak(server, revision);
    trail.length = 0;
    expect(await client.result('tools/call', { name: 'a' })).toMatchObject({
      content: [{ text: 'original' }],
      _meta: { seen: true },
    });
    expect(trail).toEqual(['one tools/call', 'two', 'handler', 'one out']);
    expect(await client.result('tools/call', { name: 'replace' })).toMatchObject({
      content: [{ text: 'replaced' }],
    });
    expect(await client.error('tools/call', { name: 'refuse' })).toEqual({
      code: -31000,
      message: 'not today',
      data: { until: 'noon' },
    });
    trail.length = 0;
    await client.result('tools/list');
    expect(trail[0]).toBe('one tools/list');
  });

  it('that fails, or forgets to answer, is an internal error without details, which the server hears in full', async () => {
    const errors: McpError[] = [];
    const server = new McpServer({ ...INFO, onError: (error) => errors.push(error) });
    server.tool({ name: 'a', inputSchema: ANYTHING }, () => 'x');
    server.use(async (context, next) => {
      if (context.params.name === 'throw') throw new Error('secret detail');
      const result = await next();
      // Sound: the type forbids it, callers from JavaScript do not know.
      return context.params.name === 'forget' ? (undefined as unknown as JsonObject) : result;
    });
    server.tool({ name: 'forget', inputSchema: ANYTHING }, () => 'x');
    const client = await WireClient.speak(server, revision);
    for (const name of ['throw', 'forget']) {
      expect(await client.error('tools/call', { name })).toEqual({ code: -32603, message: 'Internal error' });
    }
    expect(errors.map(({ code }) => code)).toEqual(['HANDLER_FAILED', 'HANDLER_FAILED']);
    expect(errors[0]).toMatchObject({ cause: { message: 'secret detail' } });
  });

  it('may leave the answer of the handler alone, even when that fails', async () => {
    const server = new McpServer(INFO);
    server.prompt({ name: 'fails' }, () => Promise.reject(new Error('unheard')));
    server.use((context, next) => {
      const answer = next();
      return context.method === 'prompts/get' ? { messages: [] } : answer;
    });
    const client = await WireClient.speak(server, revision);
    expect(await client.result('prompts/get', { name: 'fails' })).toMatchObject({ messages: [] });
    // An unhandled rejection would fail the test run.
    expect(await client.wire.rest()).toEqual([]);
  });

  it('that is slow lets a cancelled request never start', async () => {
    const server = new McpServer(INFO);
    let calls = 0;
    const entered = gate();
    const hold = gate();
    server.tool({ name: 'a', inputSchema: ANYTHING }, () => void calls++);
    server.use(async (context, next) => {
      if (context.method !== 'tools/call') return next();
      entered.open();
      await hold.opened;
      return next();
    });
    const client = await WireClient.speak(server, revision);
    client.wire.send({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: client.params({ name: 'a' }) });
    await entered.opened;
    client.wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'x' } });
    await client.wire.rest();
    hold.open();
    expect(await client.wire.rest()).toEqual([]);
    expect(calls).toBe(0);
  });
});
