import { describe, expect, it } from 'vitest';
import { McpToolProvider, type ProviderOptions, ToolError, ToolRegistry } from '../../src/bridge/index.ts';
import { type JsonObject, type McpError, RpcError } from '../../src/jsonrpc/index.ts';
import { type ClientOptions, McpClient, type RequestOptions } from '../../src/protocol/index.ts';
import { listing, SESSION, STATELESS, WireServer } from '../protocol/wire-server.ts';

const tool = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  description: `does ${name}`,
  inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
  ...more,
});

async function importFrom(
  server: WireServer,
  options: ProviderOptions = {},
  clientOptions: ClientOptions = {},
) {
  const warnings: McpError[] = [];
  const client = await McpClient.inProcess(server, clientOptions);
  const provider = await McpToolProvider.connect(client, {
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  const registry = new ToolRegistry();
  provider.registerInto(registry);
  const get = (name: string) => {
    const found = registry.get(name);
    if (!found) throw new Error(`no tool ${name}`);
    return found;
  };
  return { client, provider, registry, warnings, get };
}

describe.each([
  ['session', SESSION],
  ['stateless', STATELESS],
])('McpToolProvider in the %s dialect', (dialect, script) => {
  it('B02 discovers the tools of every page at once', async () => {
    const pages: JsonObject = { none: 'one', one: 'two', two: undefined };
    const server = new WireServer({
      ...script,
      'tools/list': ({ params }) => {
        const cursor = String(params?.cursor ?? 'none');
        return { tools: [tool(`on-${cursor}`)], nextCursor: pages[cursor] };
      },
    });
    const { provider } = await importFrom(server);
    expect(provider.tools().map(({ name }) => name)).toEqual(['on-none', 'on-one', 'on-two']);
  });

  it('B04 registers under the prefix, and calls by the name that the server knows', async () => {
    const server = new WireServer({ ...script, ...listing(tool('a'), tool('b')) });
    const { client, registry, get } = await importFrom(server, { prefix: 'files' });
    expect(client.dialect).toBe(dialect);
    expect(registry.names()).toEqual(['files__a', 'files__b']);
    const output = get('files__b').call({ a: 1 });
    const request = await server.next();
    expect(request).toMatchObject({ method: 'tools/call', params: { name: 'b', arguments: { a: 1 } } });
    server.result(request.id, { content: [{ type: 'text', text: 'ok' }] });
    expect(await output).toEqual({ content: 'ok' });
  });

  it('B08 cancels the call at the server at the deadline, and says tool and budget', async () => {
    const server = new WireServer({ ...script, ...listing(tool('slow')) });
    const { get } = await importFrom(server, { prefix: 'p', callTimeoutMs: 20 });
    const output = await get('p__slow').call({});
    expect(output).toMatchObject({
      isError: true,
      content: 'Tool "p__slow" gave no result within 20 ms and was cancelled',
      error: { kind: 'timeout', cause: { code: 'TIMEOUT' } },
    });
    const request = await server.next();
    expect(await server.next()).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: request.id },
    });
  });
});

describe('McpToolProvider', () => {
  it('B04 gives the names as they are where there is no prefix', async () => {
    const server = new WireServer({ ...SESSION, ...listing(tool('constructor'), tool('__proto__')) });
    const { registry, provider } = await importFrom(server);
    expect(registry.names()).toEqual(['constructor', '__proto__']);
    expect(provider.prefix).toBe('');
  });

  it('B05 keeps the first of two tools of one name, with one warning', async () => {
    const server = new WireServer({
      ...SESSION,
      ...listing(tool('a', { description: 'first' }), tool('a', { description: 'second' }), tool('b')),
    });
    const { registry, warnings } = await importFrom(server, { prefix: 'p' });
    expect(registry.names()).toEqual(['p__a', 'p__b']);
    expect(registry.get('p__a')?.description).toBe('first');
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      [
        'DUPLICATE_TOOL',
        'Left out tool "p__a" of "in-process": the server lists another tool of that name before it',
      ],
    ]);
  });

  it('B03 leaves a tool alone that the registry holds under the same name, with one warning', async () => {
    const server = new WireServer({ ...SESSION, ...listing(tool('a'), tool('b')) });
    const { provider, registry, warnings } = await importFrom(server);
    const before = registry.get('a');
    registry.remove('b');
    expect(provider.registerInto(registry)).toEqual(['b']);
    expect(registry.get('a')).toBe(before);
    expect(warnings).toHaveLength(1);
  });

  it('hands out the description, the schemas and the title', async () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'number' } } };
    const server = new WireServer({
      ...SESSION,
      ...listing(
        tool('full', { title: 'Full', outputSchema }),
        { name: 'bare', inputSchema: { type: 'object' }, annotations: { title: 'Bare' } },
        {
          name: 'odd',
          inputSchema: { type: 'object' },
          description: 7,
          title: [],
          outputSchema: 'no',
          annotations: 0,
        },
      ),
    });
    const { get, registry } = await importFrom(server);
    expect(get('full')).toMatchObject({ title: 'Full', description: 'does full', outputSchema });
    expect(get('bare')).toMatchObject({ title: 'Bare', description: '', outputSchema: undefined });
    expect(get('odd')).toMatchObject({ title: undefined, description: '', outputSchema: undefined });
    expect(registry.schemas()[0]).toEqual({
      name: 'full',
      description: 'does full',
      inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
    });
  });

  it.each<[string, JsonObject | undefined, boolean[]]>([
    ['no annotations', undefined, [false, true, false, true]],
    ['readOnlyHint', { readOnlyHint: true, destructiveHint: false }, [true, false, false, true]],
    ['destructiveHint: false', { destructiveHint: false }, [false, false, false, true]],
    ['idempotent and closed', { idempotentHint: true, openWorldHint: false }, [false, true, true, false]],
    [
      'hints of a wrong type',
      { readOnlyHint: 'yes', destructiveHint: 0, idempotentHint: 1 },
      [false, true, false, true],
    ],
  ])(
    'B11 reads the flags off %s, and claims never that calls may run at once',
    async (_, annotations, flags) => {
      const server = new WireServer({ ...SESSION, ...listing(tool('t', { annotations })) });
      const { get } = await importFrom(server);
      const { isReadOnly, isDestructive, isIdempotent, isOpenWorld, isConcurrencySafe } = get('t');
      expect([isReadOnly, isDestructive, isIdempotent, isOpenWorld]).toEqual(flags);
      expect(isConcurrencySafe).toBe(false);
    },
  );

  it.each([undefined, null, 'text', 7, [1], true])('B27 sends no arguments for %j', async (args) => {
    const server = new WireServer({ ...SESSION, ...listing(tool('t')) });
    const { get } = await importFrom(server);
    void get('t').call(args);
    const request = await server.next();
    expect(request.params).not.toHaveProperty('arguments');
    expect(request).toMatchObject({ params: { name: 't' } });
  });

  it('B27 sends an empty object as empty arguments', async () => {
    const server = new WireServer({ ...SESSION, ...listing(tool('t')) });
    const { get } = await importFrom(server);
    void get('t').call({});
    expect(await server.next()).toMatchObject({ params: { arguments: {} } });
  });

  it.each<[string, JsonObject, unknown]>([
    ['its text', { content: [{ type: 'text', text: 'no such file' }] }, 'no such file'],
    [
      'all its parts',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    ],
  ])('B13 makes a soft error of isError, with %s', async (_, result, content) => {
    const server = new WireServer({
      ...SESSION,
      ...listing(tool('t')),
      'tools/call': () => ({ ...result, isError: true }),
    });
    const { get } = await importFrom(server);
    const output = await get('t').call({});
    expect(output).toMatchObject({
      isError: true,
      content,
      error: { kind: 'execution', code: 'TOOL_FAILED' },
    });
    expect(output.isError && output.error.message).toContain('Tool "t" failed');
  });

  it('B13 keeps all of a long error as the content, and its beginning as the message', async () => {
    const text = 'x'.repeat(100_000);
    const server = new WireServer({
      ...SESSION,
      ...listing(tool('t')),
      'tools/call': () => ({ content: [{ type: 'text', text }], isError: true }),
    });
    const { get } = await importFrom(server);
    const message = `Tool "t" failed: ${'x'.repeat(500)}`;
    expect(await get('t').call({})).toMatchObject({ content: text, error: { message } });
  });

  it.each([{ content: [] }, {}])('B14 names the tool where an error is %j', async (result) => {
    const server = new WireServer({
      ...SESSION,
      ...listing(tool('t')),
      'tools/call': () => ({ ...result, isError: true }),
    });
    const { get } = await importFrom(server);
    const message = 'Tool "t" failed and gave no reason';
    expect(await get('t').call({})).toMatchObject({
      isError: true,
      content: message,
      error: { kind: 'execution', message },
    });
  });

  it('B09 never claims that calls may run at once', async () => {
    const server = new WireServer({
      ...SESSION,
      ...listing(
        tool('a'),
        tool('b', { annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false } }),
      ),
    });
    const { provider } = await importFrom(server);
    expect(provider.tools().map(({ isConcurrencySafe }) => isConcurrencySafe)).toEqual([false, false]);
  });

  it('B10 takes a tool for read-only where the server says so, and only there', async () => {
    const server = new WireServer({
      ...SESSION,
      ...listing(
        tool('a', { annotations: { readOnlyHint: true } }),
        tool('b', { annotations: { readOnlyHint: false } }),
        tool('c', { annotations: { destructiveHint: false } }),
      ),
    });
    const { provider } = await importFrom(server);
    expect(provider.tools().map(({ isReadOnly }) => isReadOnly)).toEqual([true, false, false]);
  });

  it('B12 makes a soft error of an error that the server answers with, its cause attached', async () => {
    const server = new WireServer({
      ...SESSION,
      ...listing(tool('t')),
      'tools/call': ({ id }, wire) => {
        wire.error(id, -32602, 'Unknown tool: t');
        return undefined;
      },
    });
    const { get } = await importFrom(server);
    const output = await get('t').call({});
    expect(output).toMatchObject({ isError: true, content: 'Tool "t" failed: Unknown tool: t' });
    expect(output.isError && output.error).toBeInstanceOf(ToolError);
    expect(output.isError && output.error.cause).toBeInstanceOf(RpcError);
    expect(output).toMatchObject({ error: { kind: 'execution', cause: { rpcCode: -32602 } } });
  });

  it('B12 makes a soft error of a connection that closes during the call, and of one that is closed', async () => {
    const server = new WireServer({ ...SESSION, ...listing(tool('t')) });
    const { get } = await importFrom(server);
    const pending = get('t').call({});
    await server.next();
    await server.close();
    const closed = { isError: true, error: { kind: 'execution', cause: { code: 'CLOSED' } } };
    expect(await pending).toMatchObject(closed);
    expect(await get('t').call({})).toMatchObject(closed);
  });

  it('B12 makes a soft error of a result of an unknown type', async () => {
    const server = new WireServer({
      ...STATELESS,
      ...listing(tool('t')),
      'tools/call': () => ({ resultType: 'maybe' }),
    });
    const { get } = await importFrom(server);
    expect(await get('t').call({})).toMatchObject({
      isError: true,
      error: { cause: { code: 'INVALID_RESULT' } },
    });
  });

  it('B26 makes one soft error of a server that asks for input nobody can give', async () => {
    const server = new WireServer({
      ...STATELESS,
      ...listing(tool('t')),
      'tools/call': () => ({
        resultType: 'input_required',
        inputRequests: { who: { method: 'elicitation/create', params: { message: 'Who?' } } },
      }),
    });
    const { get } = await importFrom(server);
    expect(await get('t').call({})).toMatchObject({
      isError: true,
      error: { cause: { code: 'INPUT_REQUIRED' } },
    });
    expect(server.methods.filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it('B26 makes one soft error of a server that never stops asking', async () => {
    const server = new WireServer({
      ...STATELESS,
      ...listing(tool('t')),
      'tools/call': () => ({ resultType: 'input_required', requestState: 'again' }),
    });
    const { get } = await importFrom(server, {}, { maxRounds: 3 });
    const output = await get('t').call({});
    expect(output).toMatchObject({ isError: true, error: { cause: { code: 'ROUNDS_EXCEEDED' } } });
    expect(server.methods.filter((method) => method === 'tools/call')).toHaveLength(4);
  });

  it('ends as cancelled when the caller gives up, and cancels at the server', async () => {
    const server = new WireServer({ ...SESSION, ...listing(tool('t')) });
    const { get } = await importFrom(server);
    const controller = new AbortController();
    const output = get('t').call({}, { signal: controller.signal });
    const request = await server.next();
    controller.abort();
    expect(await output).toMatchObject({ isError: true, error: { kind: 'cancelled' } });
    expect(await server.next()).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: request.id },
    });
  });

  it('passes progress on', async () => {
    const server = new WireServer({
      ...SESSION,
      ...listing(tool('t')),
      'tools/call': ({ params }, wire) => {
        const token = (params as { _meta: JsonObject })._meta.progressToken;
        wire.notify('notifications/progress', {
          progressToken: token,
          progress: 1,
          total: 2,
          message: 'half',
        });
        return { content: [] };
      },
    });
    const { get } = await importFrom(server);
    const seen: unknown[] = [];
    await get('t').call({}, { onProgress: (progress) => seen.push(progress) });
    expect(seen).toEqual([{ progress: 1, total: 2, message: 'half' }]);
  });

  it('B07 gives each call 60 s by default, and 10 min in spite of progress', async () => {
    const client = await McpClient.inProcess(new WireServer({ ...SESSION, ...listing(tool('t')) }));
    const given: RequestOptions[] = [];
    client.callTool = (_name, _args, options = {}) => {
      given.push(options);
      return Promise.resolve({ content: [] });
    };
    const provider = await McpToolProvider.connect(client);
    await provider.tools()[0]?.call({});
    await provider.withCallTimeout(700_000).tools()[0]?.call({});
    expect(given).toEqual([
      { timeoutMs: 60_000, maxTimeoutMs: 600_000, resetTimeoutOnProgress: true },
      { timeoutMs: 700_000, maxTimeoutMs: 700_000, resetTimeoutOnProgress: true },
    ]);
  });

  it('B07 changes the deadline of tools that are registered already, and of those that come later', async () => {
    const names = ['t'];
    const server = new WireServer({
      ...SESSION,
      'tools/list': () => ({ tools: names.map((name) => tool(name)) }),
    });
    const { provider, registry, get } = await importFrom(server);
    expect(provider.withCallTimeout(10)).toBe(provider);
    names.push('later');
    await provider.syncInto(registry);
    for (const name of names) {
      expect(await get(name).call({})).toMatchObject({
        error: { kind: 'timeout', message: `Tool "${name}" gave no result within 10 ms and was cancelled` },
      });
    }
  });

  it('B08 ends a call at the hard maximum in spite of progress', async () => {
    const server = new WireServer({ ...SESSION, ...listing(tool('t')) });
    const { get } = await importFrom(server, { callTimeoutMs: 500, maxCallTimeoutMs: 600 });
    const output = get('t').call({});
    const { params } = await server.next();
    const token = ((params as JsonObject)._meta as JsonObject).progressToken;
    let progress = 0;
    const ticks = setInterval(
      () => server.notify('notifications/progress', { progressToken: token, progress: ++progress }),
      20,
    );
    const ended = await output;
    clearInterval(ticks);
    expect(ended).toMatchObject({ isError: true, error: { kind: 'timeout' } });
    expect(progress).toBeGreaterThan(1);
  });

  it('B08 ends a call at the hard maximum where its deadline would be later', async () => {
    const server = new WireServer({ ...SESSION, ...listing(tool('t')) });
    const { get, provider } = await importFrom(server, { maxCallTimeoutMs: 20 });
    const message = 'Tool "t" gave no result within 20 ms and was cancelled';
    expect(await get('t').call({})).toMatchObject({ error: { kind: 'timeout', message } });
    provider.withCallTimeout(700_000);
    expect(await get('t').call({})).toMatchObject({ error: { kind: 'timeout', message } });
  });

  it('B08 lets a call live past its deadline as long as progress comes', async () => {
    const server = new WireServer({ ...SESSION, ...listing(tool('t')) });
    const { get } = await importFrom(server, { callTimeoutMs: 300 });
    const output = get('t').call({});
    const { id, params } = await server.next();
    const token = ((params as JsonObject)._meta as JsonObject).progressToken;
    let progress = 0;
    await new Promise<void>((resolve) => {
      const ticks = setInterval(() => {
        server.notify('notifications/progress', { progressToken: token, progress: ++progress });
        if (progress < 20) return;
        clearInterval(ticks);
        resolve();
      }, 20);
    });
    server.result(id, { content: [{ type: 'text', text: 'done' }] });
    expect(await output).toEqual({ content: 'done' });
  });

  it('B26 drives the rounds with the handlers of the client', async () => {
    const server = new WireServer({
      ...STATELESS,
      ...listing(tool('t')),
      'tools/call': ({ params }) => {
        const { inputResponses } = params as JsonObject;
        if (inputResponses) return { content: [{ type: 'text', text: JSON.stringify(inputResponses) }] };
        const asked = { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
        return {
          resultType: 'input_required',
          inputRequests: { who: { method: 'elicitation/create', params: asked } },
        };
      },
    });
    const onElicit = () => ({ action: 'accept' as const, content: { name: 'Ada' } });
    const { get } = await importFrom(server, {}, { onElicit });
    expect(await get('t').call({})).toEqual({
      content: '{"who":{"action":"accept","content":{"name":"Ada"}}}',
    });
  });

  it.each([0, -1, Number.NaN])('refuses a deadline of %d ms', async (callTimeoutMs) => {
    const client = await McpClient.inProcess(new WireServer({ ...SESSION, ...listing() }));
    await expect(McpToolProvider.connect(client, { callTimeoutMs })).rejects.toThrow(TypeError);
    // Sound: it is the point of this test to pass what the type does not allow.
    await expect(McpToolProvider.connect(undefined as unknown as McpClient)).rejects.toThrow(
      new TypeError('client must be an McpClient that is connected, not undefined'),
    );
    const provider = await McpToolProvider.connect(client);
    expect(() => provider.withCallTimeout(callTimeoutMs)).toThrow(/callTimeoutMs must be a positive number/);
  });

  it('fails when the list cannot be read', async () => {
    const client = await McpClient.inProcess(
      new WireServer({ ...SESSION, 'tools/list': () => ({ tools: [], nextCursor: 'same' }) }),
    );
    await expect(McpToolProvider.connect(client)).rejects.toMatchObject({ code: 'PAGINATION' });
  });
});
