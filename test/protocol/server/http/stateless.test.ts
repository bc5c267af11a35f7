import { afterEach, describe, expect, it } from 'vitest';
import { RpcError } from '../../../../src/jsonrpc/index.ts';
import { McpServer, type ServeHttpOptions, serveHttp } from '../../../../src/protocol/index.ts';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

async function serve(options: ServeHttpOptions = {}) {
  const server = new McpServer({ name: 's', version: '1' });
  const aborted = new Promise<void>((resolve) => {
    server.tool({ name: 'hang', inputSchema: { type: 'object' } }, (_args, { signal }) => {
      signal.addEventListener('abort', () => resolve());
      return new Promise(() => {});
    });
  });
  server.tool({ name: 'echo', inputSchema: { type: 'object' } }, (args) => JSON.stringify(args));
  server.tool(
    {
      name: 'mirror',
      inputSchema: {
        type: 'object',
        properties: {
          region: { type: 'string', 'x-mcp-header': 'Region' },
          count: { type: 'integer', 'x-mcp-header': 'Count' },
        },
      },
    },
    (args) => JSON.stringify(args),
  );
  server.tool({ name: 'progress', inputSchema: { type: 'object' } }, async (_args, context) => {
    await context.progress(1, 2);
    return 'done';
  });
  const listening = await serveHttp(server, options);
  cleanups.push(() => listening.close());
  const { url } = listening;
  const post = (
    method: string,
    params: object = {},
    headers: Record<string, string | undefined> = {},
    signal?: AbortSignal,
  ) => {
    const name = (params as { name?: string }).name;
    const all = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
      ...headers,
    };
    const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'a', method, params: { _meta: META, ...params } });
    return fetch(url, { method: 'POST', headers: Object.fromEntries(sent), body, ...(signal && { signal }) });
  };
  return { server, url, post, aborted, close: () => listening.close() };
}

async function refusal(reply: Response): Promise<unknown[]> {
  const { id, error } = (await reply.json()) as { id: unknown; error: { code: number } };
  return [reply.status, error.code, id];
}

describe('the stateless dialect by HTTP', () => {
  it('answers with JSON, and with a stream once something comes before the answer', async () => {
    const { post } = await serve();
    const plain = await post('tools/call', { name: 'echo', arguments: { a: 1 } });
    expect(plain.headers.get('content-type')).toBe('application/json');
    expect(await plain.json()).toMatchObject({
      id: 'a',
      result: { resultType: 'complete', content: [{ text: '{"a":1}' }] },
    });
    const streamed = await post('tools/call', { name: 'progress', _meta: { ...META, progressToken: 1 } });
    expect(streamed.headers.get('content-type')).toBe('text/event-stream');
    const messages = [...(await streamed.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) =>
      JSON.parse(data ?? ''),
    );
    expect(messages).toMatchObject([
      { method: 'notifications/progress', params: { progress: 1 } },
      { id: 'a', result: {} },
    ]);
  });

  it('refuses headers that are missing or say something else, with 400 and -32020', async () => {
    const { post } = await serve();
    const mismatch = [400, -32020, 'a'];
    const echo = { name: 'echo', arguments: {} };
    expect(await refusal(await post('tools/call', echo, { 'mcp-protocol-version': undefined }))).toEqual(
      mismatch,
    );
    expect(await refusal(await post('tools/call', echo, { 'mcp-protocol-version': '1900-01-01' }))).toEqual(
      mismatch,
    );
    expect(await refusal(await post('tools/call', echo, { 'mcp-protocol-version': '2025-11-25' }))).toEqual(
      mismatch,
    );
    expect(await refusal(await post('tools/call', echo, { 'mcp-method': undefined }))).toEqual(mismatch);
    expect(await refusal(await post('tools/call', echo, { 'mcp-method': 'Tools/Call' }))).toEqual(mismatch);
    expect(await refusal(await post('tools/call', echo, { 'mcp-name': undefined }))).toEqual(mismatch);
    expect(await refusal(await post('tools/call', echo, { 'mcp-name': 'other' }))).toEqual(mismatch);
    expect(await refusal(await post('tools/call', echo, { 'mcp-name': '=?base64?ZWNobw=?=' }))).toEqual(
      mismatch,
    );
    expect((await post('tools/call', echo, { 'mcp-name': '=?base64?ZWNobw==?=' })).status).toBe(200);
  });

  it('compares mirrored arguments, integers as numbers', async () => {
    const { post } = await serve();
    const call = (args: object, headers: Record<string, string>) =>
      post('tools/call', { name: 'mirror', arguments: args }, headers);
    expect(
      (await call({ region: 'eu', count: 42 }, { 'mcp-param-region': 'eu', 'mcp-param-count': '42.0' }))
        .status,
    ).toBe(200);
    expect((await call({ region: null }, {})).status).toBe(200);
    const mismatch = [400, -32020, 'a'];
    expect(await refusal(await call({ region: 'eu' }, {}))).toEqual(mismatch);
    expect(await refusal(await call({ region: 'eu' }, { 'mcp-param-region': 'us' }))).toEqual(mismatch);
    expect(await refusal(await call({}, { 'mcp-param-region': 'eu' }))).toEqual(mismatch);
    expect(await refusal(await call({ count: 42 }, { 'mcp-param-count': '' }))).toEqual(mismatch);
    expect(await refusal(await call({ region: 'é' }, { 'mcp-param-region': '\u00e9' }))).toEqual(mismatch);
  });

  it('says what is wrong with a request by status and code', async () => {
    const { post } = await serve();
    expect(await refusal(await post('no/such'))).toEqual([404, -32601, 'a']);
    expect(await refusal(await post('initialize'))).toEqual([404, -32601, 'a']);
    expect(await refusal(await post('tools/list', { _meta: {} }))).toEqual([400, -32602, 'a']);
    const unknown = { ...META, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    expect(
      await refusal(await post('tools/list', { _meta: unknown }, { 'mcp-protocol-version': '2099-01-01' })),
    ).toEqual([400, -32022, 'a']);
    expect(await refusal(await post('tools/call', { name: 'nobody' }))).toEqual([200, -32602, 'a']);
  });

  it('gives 200 to a call that a handler refuses with the code of an unknown method: the method itself is there', async () => {
    const { server, post } = await serve();
    const refuse = () => {
      throw new RpcError(-32601, 'no such thing');
    };
    server.tool({ name: 'at once', inputSchema: { type: 'object' } }, refuse);
    server.tool({ name: 'later', inputSchema: { type: 'object' } }, async () => refuse());
    expect(await refusal(await post('tools/call', { name: 'at once' }))).toEqual([200, -32601, 'a']);
    expect(await refusal(await post('tools/call', { name: 'later' }))).toEqual([200, -32601, 'a']);
  });

  it('has no sessions, no GET and no DELETE', async () => {
    const { url, post } = await serve();
    const version = {
      'mcp-protocol-version': '2026-07-28',
      accept: 'text/event-stream',
      'mcp-session-id': 'x',
    };
    expect((await fetch(url, { headers: version })).status).toBe(405);
    expect((await fetch(url, { method: 'DELETE', headers: version })).status).toBe(405);
    const reply = await post('tools/call', { name: 'echo', arguments: {} }, { 'mcp-session-id': 'x' });
    expect([reply.status, reply.headers.get('mcp-session-id')]).toEqual([200, null]);
  });

  it('refuses bodies that are no single request, and accepts notifications', async () => {
    const { url } = await serve();
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
    };
    const send = (body: unknown) => fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    expect((await send({ jsonrpc: '2.0', method: 'notifications/whatever' })).status).toBe(202);
    expect(await refusal(await send([]))).toEqual([400, -32600, undefined]);
    expect(await refusal(await send({ jsonrpc: '2.0', id: 4, result: {} }))).toEqual([
      400,
      -32600,
      undefined,
    ]);
    expect(await refusal(await send({ jsonrpc: '1.0', id: 4, method: 'x' }))).toEqual([400, -32600, 4]);
  });

  it('cancels the request when the client goes away', async () => {
    const { post, aborted } = await serve();
    const abort = new AbortController();
    const reply = post('tools/call', { name: 'hang' }, {}, abort.signal);
    const gone = expect(reply).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 50));
    abort.abort();
    await gone;
    await aborted;
  });

  it('ends subscriptions in good order when it closes', async () => {
    const { post, close, server } = await serve();
    const reply = await post('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const reading = reply.text();
    server.notifyToolsChanged();
    await new Promise(setImmediate);
    await close();
    const messages = [...(await reading).matchAll(/^data: (.*)$/gm)].map(([, data]) =>
      JSON.parse(data ?? ''),
    );
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 'a' };
    expect(messages).toMatchObject([
      {
        method: 'notifications/subscriptions/acknowledged',
        params: { _meta, notifications: { toolsListChanged: true } },
      },
      { method: 'notifications/tools/list_changed', params: { _meta } },
      { id: 'a', result: { resultType: 'complete', _meta } },
    ]);
  });
});
