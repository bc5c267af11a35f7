import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject, McpError } from '../../../src/jsonrpc/index.ts';
import { type HttpConnectOptions, McpClient, McpServer, serveHttp } from '../../../src/protocol/index.ts';

interface Seen {
  method: string;
  headers: IncomingMessage['headers'];
  body: JsonObject;
}
type Answer =
  | { status?: number; headers?: Record<string, string>; body?: unknown; text?: string }
  | undefined;

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** A server in the hands of a test: what `answer` returns is sent; undefined means that it answers itself. */
async function serve(answer: (seen: Seen, response: ServerResponse) => Answer) {
  const seen: Seen[] = [];
  const http = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const one = {
      method: request.method ?? '',
      headers: request.headers,
      body: text === '' ? {} : JSON.parse(text),
    };
    seen.push(one);
    const reply = answer(one, response);
    if (!reply) return;
    const body = reply.text ?? (reply.body === undefined ? '' : JSON.stringify(reply.body));
    response
      .writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers })
      .end(body);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  cleanups.push(() => {
    http.closeAllConnections();
    http.close();
  });
  const warnings: McpError[] = [];
  const connect = async (options: HttpConnectOptions = {}) => {
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
    const client = await McpClient.http(url, { onWarning: (warning) => warnings.push(warning), ...options });
    cleanups.push(() => client.close());
    return client;
  };
  const methods = () => seen.map(({ method, body }) => body.method ?? method);
  return { seen, methods, connect, warnings };
}

const result = (body: JsonObject, value: object): Answer => ({
  body: { jsonrpc: '2.0', id: body.id, result: value },
});
const error = (body: JsonObject, status: number, code: number, data?: object): Answer => ({
  status,
  body: { jsonrpc: '2.0', id: body.id, error: { code, message: 'no', ...(data && { data }) } },
});
const DISCOVERY = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: {},
  ttlMs: 0,
  cacheScope: 'private',
};
const OPENED = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
  serverInfo: { name: 's', version: '1' },
};

/** What a server of the session dialect answers that has no use for sessions. */
function sessionAnswer({ method, body }: Seen): Answer {
  if (method !== 'POST') return { status: 405 };
  if (body.method === 'initialize') return result(body, OPENED);
  if (body.id === undefined) return { status: 202 };
  return undefined;
}

describe('finding out what a server speaks by HTTP', () => {
  it('takes a discovery for the stateless dialect, and sends the headers that mirror each request', async () => {
    const { seen, connect } = await serve(({ body }) =>
      result(body, body.method === 'server/discover' ? DISCOVERY : { resultType: 'complete', content: [] }),
    );
    const client = await connect();
    await client.callTool('zürich', {});
    expect([client.dialect, client.protocolVersion]).toEqual(['stateless', '2026-07-28']);
    expect(seen[1]?.headers).toMatchObject({
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': '=?base64?esO8cmljaA==?=',
    });
  });

  it.each([
    ['400 with another error', (body: JsonObject) => error(body, 400, -32000)],
    ['400 with an empty body', () => ({ status: 400 })],
    ['404 with a page', () => ({ status: 404, text: '<html>', headers: { 'content-type': 'text/html' } })],
    ['200 with -32601', (body: JsonObject) => error(body, 200, -32601)],
    ['200 with a result that is none', (body: JsonObject) => result(body, {})],
  ])('opens a session behind %s', async (_, refuse) => {
    const { connect, methods } = await serve((seen) =>
      seen.body.method === 'server/discover' ? refuse(seen.body) : sessionAnswer(seen),
    );
    expect((await connect()).dialect).toBe('session');
    expect(methods().slice(0, 3)).toEqual(['server/discover', 'initialize', 'notifications/initialized']);
  });

  it.each([
    ['-32021', -32021, {}],
    ['-32022 that lists what this client speaks', -32022, { supported: ['2026-07-28'] }],
  ])('stays stateless behind 400 with %s', async (_, code, data) => {
    let refusals = 1;
    const { connect } = await serve(({ body }) =>
      refusals-- > 0 ? error(body, 400, code, data) : result(body, DISCOVERY),
    );
    expect((await connect()).dialect).toBe('stateless');
  });

  it.each([
    [401, 'UNAUTHORIZED'],
    [403, 'HTTP_STATUS'],
    [500, 'HTTP_STATUS'],
    [503, 'HTTP_STATUS'],
  ])('reports %d as what it is', async (status, code) => {
    const { connect, methods } = await serve(() => ({ status, text: 'sorry' }));
    await expect(connect()).rejects.toMatchObject({ code, status });
    expect(methods()).toEqual(['server/discover']);
  });

  it('reports a network failure as what it is', async () => {
    await expect(McpClient.http('http://127.0.0.1:1/mcp')).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
    });
  });

  it('goes on to the deprecated transport, and says what was tried when that is not there either', async () => {
    const { connect, methods } = await serve(() => ({ status: 405 }));
    await expect(connect()).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringMatching(/server\/discover: .*405.*initialize: .*405.*older transport: .*405/),
    });
    expect(methods()).toEqual(['server/discover', 'initialize', 'GET']);
  });

  it('opens a session when the first real request learns that there is nothing else', async () => {
    const { connect, methods } = await serve((seen) => {
      const { body } = seen;
      if (body.method === 'server/discover') return result(body, DISCOVERY);
      const { _meta } = (body.params ?? {}) as JsonObject;
      if (_meta) return error(body, 400, -32022, { supported: ['2025-11-25', '2025-06-18'] });
      return sessionAnswer(seen) ?? result(body, { content: [] });
    });
    const client = await connect();
    expect(client.dialect).toBe('stateless');
    await Promise.all([client.callTool('a'), client.callTool('b')]);
    expect(client.dialect).toBe('session');
    expect(methods().filter((method) => method === 'initialize')).toHaveLength(1);
  });
});

describe('sessions by HTTP, seen from the client', () => {
  /** Opens sessions s1, s2, …; only the newest one is known. */
  function sessions(status: number, call: (body: JsonObject) => Answer) {
    let newest = 0;
    return {
      forget: () => newest++,
      answer: (seen: Seen): Answer => {
        const { body, headers, method } = seen;
        if (body.method === 'server/discover') return { status: 400 };
        if (body.method === 'initialize')
          return { ...result(body, OPENED), headers: { 'mcp-session-id': `s${++newest}` } };
        if (headers['mcp-session-id'] !== `s${newest}`) return { status };
        if (method !== 'POST') return { status: 405 };
        return body.id === undefined ? { status: 202 } : call(body);
      },
    };
  }

  it('name the session and the version on every request, and end it on close', async () => {
    const { answer } = sessions(404, (body) => result(body, { content: [] }));
    const { seen, connect } = await serve(answer);
    const client = await connect();
    await client.callTool('t');
    await client.close();
    const call = seen.find(({ body }) => body.method === 'tools/call');
    expect(call?.headers).toMatchObject({ 'mcp-session-id': 's1', 'mcp-protocol-version': '2025-11-25' });
    expect(seen.find(({ body }) => body.method === 'initialize')?.headers).not.toHaveProperty(
      'mcp-session-id',
    );
    expect(seen.at(-1)).toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': 's1' } });
  });

  it.each([404, 400])('are opened anew once for all calls that find them lost with %d', async (status) => {
    const { answer, forget } = sessions(status, (body) => result(body, { content: [] }));
    const { methods, connect } = await serve(answer);
    const client = await connect();
    forget();
    await Promise.all([client.callTool('a'), client.callTool('b'), client.callTool('c')]);
    expect(methods().filter((method) => method === 'initialize')).toHaveLength(2);
    expect(methods().filter((method) => method === 'notifications/initialized')).toHaveLength(2);
  });

  it('are given up when the new one is lost at once', async () => {
    const { answer, forget } = sessions(404, (body) => {
      forget();
      return error(body, 404, -32000);
    });
    const { methods, connect } = await serve(answer);
    const client = await connect();
    forget();
    await expect(client.callTool('a')).rejects.toThrow();
    expect(methods().filter((method) => method === 'initialize')).toHaveLength(2);
    expect(methods().filter((method) => method === 'tools/call')).toHaveLength(2);
  });

  it('keep the level of log messages when they are opened anew', async () => {
    const { answer, forget } = sessions(404, (body) => result(body, { content: [] }));
    const { seen, connect } = await serve(answer);
    const client = await connect();
    await client.setLogLevel('error');
    forget();
    await client.callTool('a');
    while (seen.filter(({ body }) => body.method === 'logging/setLevel').length < 2)
      await new Promise(setImmediate);
  });

  it('are opened anew when nobody but a listener is there, who may have missed something', async () => {
    let stream: ServerResponse | undefined;
    const { answer, forget } = sessions(404, () => undefined);
    const { methods, connect } = await serve((seen, response) => {
      const answered = answer(seen);
      if (seen.method !== 'GET' || answered?.status === 404) return answered;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 1\n\n');
      stream = response;
      return undefined;
    });
    const client = await connect();
    const subscription = await client.listen({ toolsListChanged: true });
    const next = subscription[Symbol.asyncIterator]().next();
    forget();
    stream?.end();
    expect(await next).toMatchObject({ value: { type: 'toolsListChanged' } });
    expect(methods().filter((method) => method === 'initialize')).toHaveLength(2);
  });

  it('are opened anew for a subscription and for a notification', async () => {
    const { answer, forget } = sessions(404, (body) => result(body, {}));
    const { methods, connect } = await serve(answer);
    const client = await connect({ roots: [] });
    const count = (wanted: string) => methods().filter((method) => method === wanted).length;
    forget();
    await client.listen({ resourceSubscriptions: ['file:///a'] });
    expect([count('initialize'), count('resources/subscribe')]).toEqual([2, 2]);
    forget();
    await client.setRoots([{ uri: 'file:///b' }]);
    expect([count('initialize'), count('notifications/roots/list_changed')]).toEqual([3, 2]);
  });

  it('are opened anew without a second call where the server had taken the first', async () => {
    const { answer, forget } = sessions(404, (body) => result(body, { content: [] }));
    const { methods, connect } = await serve((seen, response) => {
      if (seen.body.method !== 'tools/call' || (seen.body.params as JsonObject).name !== 'pay') {
        return answer(seen);
      }
      forget();
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: 1\nretry: 1\ndata:\n\n');
      return undefined;
    });
    const client = await connect();
    await expect(Promise.all([client.callTool('pay'), client.callTool('pay')])).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
    });
    await client.callTool('after');
    expect(methods().filter((method) => method === 'initialize')).toHaveLength(2);
    expect(methods().filter((method) => method === 'tools/call')).toHaveLength(3);
  });

  it('cancel by notification', async () => {
    let onCancelled: (body: JsonObject) => void = () => {};
    const cancelled = new Promise<JsonObject>((resolve) => {
      onCancelled = resolve;
    });
    const { answer } = sessions(404, () => undefined);
    const { connect } = await serve((seen) => {
      if (seen.body.method === 'notifications/cancelled') onCancelled(seen.body);
      return answer(seen);
    });
    const client = await connect();
    await expect(client.callTool('slow', {}, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(await cancelled).toMatchObject({ params: { requestId: expect.anything() } });
  });
});

describe('arguments in headers, seen from the client', () => {
  const tool = (header: string) => ({
    name: 'sql',
    inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': header } } },
  });

  it('are mirrored by the list that was read; a tool with invalid annotations is left out with a warning', async () => {
    const { seen, connect, warnings } = await serve(({ body }) => {
      if (body.method === 'server/discover') return result(body, DISCOVERY);
      if (body.method === 'tools/list')
        return result(body, { tools: [tool('Region'), { ...tool('no header'), name: 'bad' }] });
      return result(body, { content: [] });
    });
    const client = await connect();
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['sql']);
    await client.callTool('sql', { region: ' eu ' });
    expect(seen.at(-1)?.headers['mcp-param-region']).toBe('=?base64?IGV1IA==?=');
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringContaining('"bad"')]);
  });

  it('are learnt again, once, when the server refuses the headers', async () => {
    let header = 'Old';
    const { methods, connect } = await serve(({ body, headers }) => {
      if (body.method === 'server/discover') return result(body, DISCOVERY);
      if (body.method === 'tools/list') return result(body, { tools: [tool(header)] });
      return headers['mcp-param-new'] === 'eu' ? result(body, { content: [] }) : error(body, 400, -32020);
    });
    const client = await connect();
    await client.listTools();
    header = 'New';
    await client.callTool('sql', { region: 'eu' });
    header = 'Newer';
    await client.listTools();
    await expect(client.callTool('sql', { region: 'eu' })).rejects.toMatchObject({ rpcCode: -32020 });
    expect(methods().filter((method) => method === 'tools/call')).toHaveLength(4);
  });
});

describe.each(['stateless', 'session'] as const)('client and server by HTTP in the %s dialect', (dialect) => {
  it('work together: progress, questions, subscriptions, cancellation', async () => {
    const server = new McpServer({ name: 's', version: '1' });
    const object = { type: 'object' } as const;
    server.tool({ name: 'ask', inputSchema: object }, async (_args, context) => {
      await context.progress(1, 2);
      return (await context.elicit({ message: 'Name?', requestedSchema: { type: 'object', properties: {} } }))
        .action;
    });
    const aborted = new Promise<void>((resolve) => {
      server.tool({ name: 'hang', inputSchema: object }, (_args, { signal }) => {
        signal.addEventListener('abort', () => resolve());
        return new Promise(() => {});
      });
    });
    const listening = await serveHttp(server);
    cleanups.push(() => listening.close());
    const client = await McpClient.http(listening.url, {
      dialect,
      onElicit: () => ({ action: 'accept', content: {} }),
    });
    cleanups.push(() => client.close());
    const progress: number[] = [];
    const answer = await client.callTool(
      'ask',
      {},
      { onProgress: ({ progress: value }) => progress.push(value) },
    );
    expect(answer.content).toEqual([{ type: 'text', text: 'accept' }]);
    expect(progress[0]).toBe(1);
    const subscription = await client.listen({ toolsListChanged: true });
    const next = subscription[Symbol.asyncIterator]().next();
    const remove = server.tool({ name: 'new', inputSchema: object }, () => 'new');
    expect((await next).value).toEqual({ type: 'toolsListChanged' });
    remove();
    await expect(client.callTool('hang', {}, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    await aborted;
  });
});

describe.each(['stateless', 'session'] as const)(
  'a server by HTTP that is down, in the %s dialect,',
  (dialect) => {
    /** A client of a server that ended, and how often a request was about to be sent since. */
    async function abandoned(
      options: HttpConnectOptions,
      onAttempt: (attempt: number) => unknown = () => {},
    ) {
      const listen = (port = 0) => {
        const server = new McpServer({ name: 's', version: '1' });
        server.tool({ name: 'echo', inputSchema: { type: 'object' } }, () => 'heard');
        return serveHttp(server, { port });
      };
      const first = await listen();
      const state = { attempts: -1, start: () => listen(first.port) };
      const authorize = async () => {
        if (state.attempts >= 0) await onAttempt(++state.attempts);
        return undefined;
      };
      const authorizer = { authorize, challenge: () => false };
      const client = await McpClient.http(first.url, { dialect, authorizer, ...options });
      cleanups.push(() => client.close());
      await first.close();
      return { client, state };
    }
    const refused = { code: 'TRANSPORT_FAILED', cause: { code: 'ECONNREFUSED' } };
    const call = (client: McpClient, options = {}) => client.callTool('echo', {}, options);

    it('is waited for with autoReconnect, and then asked', async () => {
      let start = async () => {};
      const { client, state } = await abandoned({ autoReconnect: { baseDelayMs: 1 } }, (attempt) =>
        attempt === 3 ? start() : undefined,
      );
      start = async () => {
        const listening = await state.start();
        cleanups.push(() => listening.close());
      };
      state.attempts = 0;
      expect(await call(client)).toMatchObject({ content: [{ text: 'heard' }] });
      expect(state.attempts).toBeGreaterThanOrEqual(3);
    });

    it('is waited for no more than maxRetries times, and not at all without autoReconnect', async () => {
      const waiting = await abandoned({ autoReconnect: { baseDelayMs: 1, maxRetries: 2 } });
      waiting.state.attempts = 0;
      await expect(call(waiting.client)).rejects.toMatchObject(refused);
      expect(waiting.state.attempts).toBeGreaterThanOrEqual(3);
      const other = await abandoned({});
      await expect(call(other.client)).rejects.toMatchObject(refused);
    });

    it('is waited for within the deadline of the request, and while its caller wants it', async () => {
      const autoReconnect = { baseDelayMs: 600_000, maxDelayMs: 600_000, jitter: false };
      const { client } = await abandoned({ autoReconnect });
      await expect(call(client, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT' });
      const signal = AbortSignal.timeout(50);
      await expect(call(client, { signal })).rejects.toMatchObject({ code: 'ABORTED' });
      const pending = call(client);
      const closed = expect(pending).rejects.toMatchObject({ code: 'CLOSED' });
      await client.close();
      await closed;
    });
  },
);
