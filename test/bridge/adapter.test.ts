import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type AdapterOptions,
  createTool,
  McpServerAdapter,
  type RegistryEvent,
  type Tool,
  type ToolContext,
  ToolError,
  type ToolOutput,
  ToolRegistry,
  type ToolSpec,
  toolFailure,
} from '../../src/bridge/index.ts';
import { type JsonObject, type McpError, RpcError } from '../../src/jsonrpc/index.ts';
import { type JsonSchema, McpClient, type Revision } from '../../src/protocol/index.ts';
import { type SpeakingClient, STATELESS, statelessMeta, WireClient } from '../protocol/server/wire-client.ts';
import { deceptiveSchema } from './deceptive-schema.ts';

const REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
const DIALECTS = [
  ['stateless', '2026-07-28'],
  ['session', '2025-11-25'],
] as const;

const NUMBER = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

function tool(name: string, call: ToolSpec['call'] = () => 'ok', more: Partial<ToolSpec> = {}): Tool {
  return createTool({ name, call, ...more });
}

/** An adapter over these tools, and what it warned of. */
function adapt(tools: readonly Tool[], options: Partial<AdapterOptions> = {}) {
  const registry = new ToolRegistry();
  for (const each of tools) registry.register(each);
  const warnings: McpError[] = [];
  const adapter = new McpServerAdapter({
    registry,
    name: 'adapted',
    version: '1.2.3',
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  open.push(adapter);
  return { adapter, registry, warnings };
}

async function speak(adapter: McpServerAdapter, revision: Revision): Promise<SpeakingClient> {
  const client = await WireClient.speak(adapter.server, revision);
  open.push(client.wire);
  return client;
}

async function namesOf(client: SpeakingClient): Promise<string[]> {
  const { tools } = (await client.result('tools/list')) as { tools: { name: string }[] };
  return tools.map(({ name }) => name);
}

/** The members that every result of the stateless dialect has are of no interest here. */
function bare({ _meta, resultType, ttlMs, cacheScope, ...result }: JsonObject): JsonObject {
  return result;
}

const call = async (client: SpeakingClient, name: string, args?: unknown) =>
  bare(await client.result('tools/call', { name, ...(args !== undefined && { arguments: args }) }));

const textResult = (value: string) => ({ content: [{ type: 'text', text: value }] });

describe.each(DIALECTS)('McpServerAdapter in the %s dialect', (dialect, revision) => {
  it('B50 reads the registry on every list and every call', async () => {
    const { adapter, registry } = adapt([tool('a')]);
    expect(adapter.registry).toBe(registry);
    const client = await speak(adapter, revision);
    expect(await namesOf(client)).toEqual(['a']);
    registry.register(tool('b', () => 'new'));
    expect(await call(client, 'b')).toEqual(textResult('new'));
    expect(await namesOf(client)).toEqual(['a', 'b']);
    registry.remove('b');
    registry.register(tool('b', () => 'newer'));
    registry.remove('a');
    expect(await call(client, 'b')).toEqual(textResult('newer'));
    expect(await namesOf(client)).toEqual(['b']);
    expect(await client.error('tools/call', { name: 'a' })).toMatchObject({ code: -32601 });
  });

  it('B43 gives name, title, description and schemas, and annotations only to what is read-only', async () => {
    const { adapter } = adapt([
      tool('weird name/ü', undefined, { title: 'Weird', description: 'does', inputSchema: NUMBER }),
      tool('safe', undefined, {
        isReadOnly: true,
        isIdempotent: true,
        isOpenWorld: false,
        outputSchema: NUMBER,
      }),
      tool('gentle', undefined, { isDestructive: false, isIdempotent: true, isConcurrencySafe: true }),
    ]);
    const client = await speak(adapter, revision);
    expect(bare(await client.result('tools/list'))).toEqual({
      tools: [
        { name: 'weird name/ü', title: 'Weird', description: 'does', inputSchema: NUMBER },
        {
          name: 'safe',
          inputSchema: { type: 'object' },
          outputSchema: NUMBER,
          annotations: { readOnlyHint: true, destructiveHint: false },
        },
        { name: 'gentle', inputSchema: { type: 'object' } },
      ],
    });
  });

  it.each<[string, unknown, RegExp]>([
    ['no object at its root', { type: 'string' }, /must have "type": "object" at its root/],
    ['no type at its root', {}, /must have "type": "object" at its root/],
    ['a reference to elsewhere', { type: 'object', $ref: 'http://127.0.0.1:9/x' }, /\$ref/],
    ['a keyword of the wrong shape', { type: 'object', properties: 7 }, /properties/],
    ['an unknown schema dialect', { type: 'object', $schema: 'urn:none' }, /urn:none/],
    ['no schema at all', undefined, /left out tool "bad": its input schema/i],
  ])('B52 leaves out a tool whose input schema has %s, with one warning', async (_, schema, reason) => {
    const bad = { ...tool('bad'), inputSchema: schema as JsonSchema };
    const { adapter, warnings } = adapt([tool('before'), bad, tool('after')]);
    const client = await speak(adapter, revision);
    expect(await namesOf(client)).toEqual(['before', 'after']);
    expect(await namesOf(client)).toEqual(['before', 'after']);
    expect(warnings).toMatchObject([{ code: 'INVALID_SCHEMA' }]);
    expect(warnings[0]?.message).toMatch(/^Left out tool "bad": its input schema /);
    expect(warnings[0]?.message).toMatch(reason);
    expect(await client.error('tools/call', { name: 'bad' })).toEqual({
      code: -32601,
      message: 'Tool "bad" is not offered: its input schema cannot be used',
    });
  });

  it('B52 costs no I/O: a schema elsewhere is not fetched', async () => {
    const requests: unknown[] = [];
    const http = createServer((request, response) => {
      requests.push(request.url);
      response.end('{}');
    }).listen(0, '127.0.0.1');
    open.push(http);
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    const remote = { type: 'object', properties: { a: { $ref: `http://127.0.0.1:${port}/schema.json` } } };
    const { adapter } = adapt([tool('remote', undefined, { inputSchema: remote }), tool('near')]);
    const client = await speak(adapter, revision);
    expect(await namesOf(client)).toEqual(['near']);
    expect(await client.error('tools/call', { name: 'remote' })).toMatchObject({ code: -32601 });
    expect(requests).toEqual([]);
  });

  it('B52 leaves out a tool whose input schema turns out to be of no use, once that is known', async () => {
    const deceptive = tool('deceptive', undefined, { inputSchema: deceptiveSchema() });
    const { adapter, warnings } = adapt([deceptive, tool('honest')]);
    const client = await speak(adapter, revision);
    for (let round = 0; round < 2; round++) {
      expect(await client.error('tools/call', { name: 'deceptive' })).toMatchObject({
        code: -32601,
        message: 'Tool "deceptive" is not offered: its input schema cannot be used',
      });
      expect(await namesOf(client)).toEqual(['honest']);
    }
    expect(warnings.map(({ message }) => message)).toEqual([
      'Left out tool "deceptive": its input schema has dynamic references with too many meanings',
    ]);
  });

  it('B52 lists a tool again whose schema was mended, and warns anew of another fault', async () => {
    const changing = { ...tool('changing'), inputSchema: { type: 'string' } as JsonSchema };
    const { adapter, warnings } = adapt([changing]);
    const client = await speak(adapter, revision);
    expect(await namesOf(client)).toEqual([]);
    changing.inputSchema = { type: 'object' };
    expect(await namesOf(client)).toEqual(['changing']);
    changing.inputSchema = { type: 'object', required: 'a' };
    expect(await namesOf(client)).toEqual([]);
    expect(warnings).toHaveLength(2);
  });

  it.each<[string, unknown]>([
    ['a reference to elsewhere', { $ref: 'http://127.0.0.1:9/x' }],
    ['a keyword of the wrong shape', { type: 'object', required: 'a' }],
    ['the form of a boolean', true],
    ['no form at all', null],
  ])('B53 lists a tool without an output schema that has %s, with one warning', async (_, schema) => {
    // Sound: it is the point of some of these to give what no type allows.
    const outputSchema = schema as JsonSchema;
    const { adapter, warnings } = adapt([tool('t', undefined, { outputSchema })]);
    const client = await speak(adapter, revision);
    for (let round = 0; round < 2; round++) {
      expect(bare(await client.result('tools/list'))).toEqual({
        tools: [{ name: 't', inputSchema: { type: 'object' } }],
      });
    }
    expect(warnings.map(({ code }) => code)).toEqual(['INVALID_SCHEMA']);
    expect(warnings[0]?.message).toMatch(/^Listed tool "t" without its output schema, which /);
    expect(await call(client, 't')).toEqual(textResult('ok'));
  });

  it('B54 refuses an unknown tool with -32601, naming it and those there are', async () => {
    const { adapter } = adapt([tool('a'), tool('b')]);
    const client = await speak(adapter, revision);
    expect(await client.error('tools/call', { name: 'c' })).toEqual({
      code: -32601,
      message: 'Unknown tool "c": there are "a", "b"',
    });
  });

  it('B54 bounds what the refusal says', async () => {
    const long = 'x'.repeat(10_000);
    const tools = Array.from({ length: 30 }, (_, n) => tool(`${n}${long}`));
    const client = await speak(adapt(tools).adapter, revision);
    const { message } = await client.error('tools/call', { name: long });
    expect(message).toContain(`Unknown tool "${'x'.repeat(64)}…": there are "0xxx`);
    expect(message).toMatch(/"19x+…", … \(30 in all\)$/);
    expect(String(message).length).toBeLessThan(2000);
  });

  it('B54 says so when there are no tools at all', async () => {
    const client = await speak(adapt([]).adapter, revision);
    expect(await namesOf(client)).toEqual([]);
    expect(await client.error('tools/call', { name: 'toString' })).toEqual({
      code: -32601,
      message: 'Unknown tool "toString": there are no tools',
    });
  });

  it('B54 gives -32602 where that was asked for', async () => {
    const { adapter } = adapt([tool('a')], { unknownTool: 'invalid-params' });
    const client = await speak(adapter, revision);
    expect(await client.error('tools/call', { name: 'b' })).toEqual({
      code: -32602,
      message: 'Unknown tool "b": there are "a"',
    });
  });

  it('B55 makes a result with isError of a soft error, with its content', async () => {
    const content = [
      { type: 'text', text: 'broken' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    ] as const;
    const { adapter } = adapt([
      tool('soft', () => toolFailure(new ToolError('execution', 'not shown'), content)),
    ]);
    const client = await speak(adapter, revision);
    expect(await call(client, 'soft')).toEqual({ content, isError: true });
  });

  it.each<[string, unknown, string]>([
    ['an Error', new Error('no luck'), 'Tool "t" failed: no luck'],
    ['a ToolError', new ToolError('execution', 'said so'), 'said so'],
    ['an RpcError', new RpcError(-32603, 'deep down'), 'Tool "t" failed: deep down'],
    ['no Error', 'a string', 'Tool "t" failed: a string'],
    ['undefined', undefined, 'Tool "t" failed: undefined'],
    ['an AbortError', new DOMException('given up', 'AbortError'), 'Tool "t" failed: given up'],
  ])('B55 makes a result with isError of %s that a tool throws', async (_, thrown, message) => {
    const throwing = { ...tool('t'), call: () => Promise.reject(thrown) };
    const atOnce = {
      ...tool('u'),
      call: () => {
        throw thrown;
      },
    };
    const client = await speak(adapt([throwing, atOnce]).adapter, revision);
    expect(await call(client, 't')).toEqual({ ...textResult(message), isError: true });
    expect(await call(client, 'u')).toEqual({
      ...textResult(message.replace('"t"', '"u"')),
      isError: true,
    });
  });

  it('B55 makes a result with isError of a call that the host gave up', async () => {
    const controller = new AbortController();
    const waiting = tool(
      'wait',
      (_args, { signal }) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason));
          controller.abort();
        }),
    );
    const { adapter } = adapt([waiting], { context: { signal: controller.signal } });
    const client = await speak(adapter, revision);
    const cancelled = { ...textResult('Tool "wait" was cancelled'), isError: true };
    expect(await call(client, 'wait')).toEqual(cancelled);
    expect(await call(client, 'wait')).toEqual(cancelled);
  });

  it.each([undefined, null, 7, {}, { content: 7 }])(
    'B55 makes a result with isError of %j instead of an output, with a warning',
    async (output) => {
      const odd = { ...tool('odd'), call: async () => output as unknown as ToolOutput };
      const { adapter, warnings } = adapt([odd]);
      const client = await speak(adapter, revision);
      expect(await call(client, 'odd')).toEqual({
        ...textResult('Tool "odd" gave no output that could be read'),
        isError: true,
      });
      expect(warnings).toMatchObject([{ code: 'HANDLER_FAILED' }]);
    },
  );

  it('B56 aborts the signal of a tool whose call is cancelled, and sends no answer', async () => {
    const seen: unknown[] = [];
    let started = () => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const waiting = tool('wait', async (_args, { signal }) => {
      started();
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
      seen.push(signal?.aborted);
      return 'too late';
    });
    const client = await speak(adapt([waiting, tool('on')]).adapter, revision);
    client.wire.send({
      jsonrpc: '2.0',
      id: 'w',
      method: 'tools/call',
      params: client.params({ name: 'wait' }),
    });
    await running;
    client.wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'w' } });
    expect(await call(client, 'on')).toEqual(textResult('ok'));
    expect(seen).toEqual([true]);
    expect(await client.wire.rest()).toEqual([]);
  });

  it('B56 aborts the signal of a tool also where the host has one of its own', async () => {
    const { signal: own } = new AbortController();
    let aborted = () => {};
    const heard = new Promise<void>((resolve) => {
      aborted = resolve;
    });
    let started = () => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const waiting = tool('wait', async (_args, { signal }) => {
      signal?.addEventListener('abort', aborted);
      started();
      await heard;
      return 'too late';
    });
    const client = await speak(adapt([waiting], { context: { signal: own } }).adapter, revision);
    const params = client.params({ name: 'wait' });
    client.wire.send({ jsonrpc: '2.0', id: 'w', method: 'tools/call', params });
    await running;
    client.wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'w' } });
    await heard;
    expect(own.aborted).toBe(false);
  });

  it('B56 leaves no trace of a call with the signal of the host', async () => {
    const { signal } = new AbortController();
    const client = await speak(adapt([tool('t')], { context: { signal } }).adapter, revision);
    for (let n = 0; n < 3; n++) expect(await call(client, 't')).toEqual(textResult('ok'));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    // What a signal knows of others that `AbortSignal.any` made of it shows only here.
    const kept = Object.getOwnPropertySymbols(signal).map((name) => Reflect.get(signal, name)?.size ?? 0);
    expect(Math.max(0, ...kept)).toBe(0);
  });

  it('B56 never starts a tool whose call is cancelled right behind its request', async () => {
    let started = 0;
    const counting = tool('count', () => {
      started++;
      return 'ran';
    });
    const client = await speak(adapt([counting]).adapter, revision);
    client.wire.send(
      { jsonrpc: '2.0', id: 'c', method: 'tools/call', params: client.params({ name: 'count' }) },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } },
    );
    expect(await client.wire.rest()).toEqual([]);
    expect(started).toBe(0);
    expect(await call(client, 'count')).toEqual(textResult('ran'));
  });

  it('B57 hands absent arguments to the tool as null', async () => {
    const client = await speak(adapt([tool('t', (args) => JSON.stringify(args))]).adapter, revision);
    expect(await call(client, 't')).toEqual(textResult('null'));
    expect(await call(client, 't', {})).toEqual(textResult('{}'));
    expect(await call(client, 't', { a: [1] })).toEqual(textResult('{"a":[1]}'));
  });

  it('B57 hands them over as an object of its own each time where that was asked for', async () => {
    const seen: unknown[] = [];
    const remembering = tool('t', (args) => {
      seen.push(args);
      return JSON.stringify(args);
    });
    const client = await speak(adapt([remembering], { emptyArguments: 'object' }).adapter, revision);
    expect(await call(client, 't')).toEqual(textResult('{}'));
    expect(await call(client, 't')).toEqual(textResult('{}'));
    expect(seen[0]).not.toBe(seen[1]);
  });

  it.each<[string, unknown, string]>([
    ['a wrong type', { n: 'one' }, '/n must be number, not string (keyword "type")'],
    ['a missing member', {}, 'the value must have property "n" (keyword "required")'],
    ['no arguments, which count as {}', undefined, 'the value must have property "n" (keyword "required")'],
  ])(
    'B57 answers %s with a soft error that names path and rule, and does not call',
    async (_, args, what) => {
      let started = 0;
      const strict = tool('strict', () => String(++started), { inputSchema: NUMBER });
      const client = await speak(adapt([strict]).adapter, revision);
      expect(await call(client, 'strict', args)).toEqual({
        ...textResult(`The arguments of tool "strict" do not fit its input schema: ${what}`),
        isError: true,
      });
      expect(await call(client, 'strict', { n: 1 })).toEqual(textResult('1'));
    },
  );

  it.each([null, [], 'text', 7])(
    'B57 refuses arguments that are %j, as the protocol has it',
    async (args) => {
      const client = await speak(adapt([tool('t')]).adapter, revision);
      expect(await client.error('tools/call', { name: 't', arguments: args })).toMatchObject({
        code: -32602,
      });
    },
  );

  it('B58 sends the object of the last text of an output marked as JSON beside the text', async () => {
    const { adapter, warnings } = adapt([
      tool('plain', () => ({ content: ' {"a": [1]} ', displayHint: 'json' })),
      tool('parts', () => ({
        content: [
          { type: 'text', text: 'first' },
          { type: 'text', text: '{"last":true}' },
          { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        ],
        displayHint: 'json',
      })),
      tool('unmarked', () => ({ content: '{"a":1}' })),
    ]);
    const client = await speak(adapter, revision);
    expect(await call(client, 'plain')).toEqual({
      ...textResult(' {"a": [1]} '),
      structuredContent: { a: [1] },
    });
    expect(await call(client, 'parts')).toMatchObject({
      content: [{ text: 'first' }, { text: '{"last":true}' }, { type: 'image' }],
      structuredContent: { last: true },
    });
    expect(await call(client, 'unmarked')).toEqual(textResult('{"a":1}'));
    expect(warnings).toEqual([]);
  });

  it.each<[string, ToolOutput, unknown, string]>([
    [
      'no structured content',
      { content: 'seven' },
      undefined,
      'it has no structured content; mark an output whose last text is JSON with displayHint: "json"',
    ],
    [
      'what breaks it',
      { content: '{"n":"seven"}', displayHint: 'json' },
      { n: 'seven' },
      '/n must be number, not string (keyword "type")',
    ],
  ])(
    'B58 sends output of a tool with an output schema as it is where it holds %s, with a warning',
    async (_, output, structuredContent, why) => {
      const { adapter, warnings } = adapt([tool('promises', () => output, { outputSchema: NUMBER })]);
      const client = await speak(adapter, revision);
      expect(await call(client, 'promises')).toEqual({
        content: [{ type: 'text', text: output.content }],
        ...(structuredContent !== undefined && { structuredContent }),
      });
      expect(warnings.map(({ code, message }) => [code, message])).toEqual([
        [
          'HANDLER_FAILED',
          `The output of tool "promises" does not keep to its output schema, and clients may refuse it: ${why}`,
        ],
      ]);
    },
  );

  it('B58 has nothing to say of output that fits, of errors, and of a schema that was not listed', async () => {
    const fits = tool('fits', () => ({ content: '{"n":7}', displayHint: 'json' }), { outputSchema: NUMBER });
    const fails = tool('fails', () => Promise.reject(new Error('no')), { outputSchema: NUMBER });
    const free = tool('free', () => 'text', { outputSchema: { type: 'nonsense' } });
    const { adapter, warnings } = adapt([fits, fails, free]);
    const client = await speak(adapter, revision);
    for (const { name } of [fits, fails, free]) await call(client, name);
    expect(warnings).toEqual([]);
  });

  it.each<[string, ToolOutput['content'], string]>([
    ['no JSON', 'no {json}', 'its last text is no JSON'],
    ['no text', [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }], 'it has no text'],
    [
      'JSON only in an earlier text',
      [
        { type: 'text', text: '{}' },
        { type: 'text', text: 'x' },
      ],
      'its last text is no JSON',
    ],
    ['JSON of 100000 levels', '['.repeat(100_000) + ']'.repeat(100_000), 'it nests deeper than 512 levels'],
  ])(
    'B59 keeps the text of an output marked as JSON that holds %s, with a warning',
    async (_, content, why) => {
      const { adapter, warnings } = adapt([tool('lies', () => ({ content, displayHint: 'json' }))]);
      const client = await speak(adapter, revision);
      expect(await call(client, 'lies')).toEqual({
        content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
      });
      expect(warnings.map(({ message }) => message)).toEqual([
        `The output of tool "lies" is marked as JSON and sent as text alone: ${why}`,
      ]);
    },
  );

  it('B58 sends no structured content with an error', async () => {
    const failing = { ...tool('t'), call: async () => ({ ...FAILURE, displayHint: 'json' }) as ToolOutput };
    const client = await speak(adapt([failing]).adapter, revision);
    expect(await call(client, 't')).toEqual({ ...textResult('{"a":1}'), isError: true });
  });

  it('B60 says the name and version it was given', async () => {
    const { adapter } = adapt([tool('t')], { title: 'Adapted', instructions: 'Use t' });
    const client = await McpClient.inProcess(adapter, { dialect });
    open.push(client);
    expect(client.serverInfo).toEqual({ name: 'adapted', version: '1.2.3', title: 'Adapted' });
    expect(client.instructions).toBe('Use t');
    expect(client.serverCapabilities.tools).toEqual({ listChanged: true });
  });

  it('declares what else the host has it declare', async () => {
    const capabilities = { experimental: { mine: {} }, tools: { listChanged: false } };
    const client = await McpClient.inProcess(adapt([], { capabilities }).adapter, { dialect });
    open.push(client);
    expect(client.serverCapabilities).toMatchObject({
      experimental: { mine: {} },
      tools: { listChanged: true },
    });
  });

  it('hands the context of the host, the signal and the progress to the tool', async () => {
    let seen: ToolContext = {};
    const curious = tool('t', (_args, context) => {
      seen = context;
      context.onProgress?.({ progress: 1, total: 2, message: 'half' });
      return 'ok';
    });
    const { adapter } = adapt([curious], { context: { user: 'ada' } });
    const client = await speak(adapter, revision);
    await client.result('tools/call', { name: 't', _meta: { progressToken: 'p' } });
    expect(seen).toMatchObject({ user: 'ada', signal: expect.any(AbortSignal) });
    expect(client.wire.received).toContainEqual({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 'p', progress: 1, total: 2, message: 'half' },
    });
    await client.result('tools/call', { name: 't' });
    expect(seen.onProgress).toBeUndefined();
  });
});

const FAILURE = toolFailure(new ToolError('execution', 'x'), '{"a":1}');

describe('McpServerAdapter', () => {
  it.each(REVISIONS)(
    'B58 sends any JSON value only to clients of the newest revision: %s',
    async (revision) => {
      const values = ['{"a":1}', '[1]', 'null', '"s"', '7'];
      const { adapter } = adapt([
        tool('json', (args) => {
          const { at } = args as { at: number };
          return { content: values[at] ?? '', displayHint: 'json' };
        }),
      ]);
      const client = await speak(adapter, revision);
      const got: unknown[] = [];
      for (const at of values.keys()) {
        const result = await call(client, 'json', { at });
        expect(result.content).toEqual([{ type: 'text', text: values[at] }]);
        got.push('structuredContent' in result ? result.structuredContent : 'absent');
      }
      const kept = revision === '2026-07-28' ? 5 : revision >= '2025-06-18' ? 1 : 0;
      const all = values.map((value) => JSON.parse(value));
      expect(got).toEqual(all.map((value, at) => (at < kept ? value : 'absent')));
    },
  );

  it('B51 tells a session of changes of the registry, once for several in one turn', async () => {
    const { adapter, registry } = adapt([]);
    const client = await speak(adapter, '2025-11-25');
    await client.wire.rest();
    registry.register(tool('a'));
    registry.register(tool('b'));
    registry.remove('a');
    expect(await client.wire.takeCalled('notifications/tools/list_changed')).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tools/list_changed',
    });
    expect(await client.wire.rest()).toEqual([]);
    const kept = tool('kept');
    registry.register(kept);
    await client.wire.takeCalled('notifications/tools/list_changed');
    registry.refreshed(kept);
    await client.wire.takeCalled('notifications/tools/list_changed');
  });

  it('B51 tells those clients of the stateless dialect that listen', async () => {
    const { adapter, registry } = adapt([]);
    const client = await speak(adapter, STATELESS);
    registry.register(tool('unheard'));
    const params = { notifications: { toolsListChanged: true }, _meta: statelessMeta() };
    client.wire.send({ jsonrpc: '2.0', id: 'l', method: 'subscriptions/listen', params });
    const acknowledged = await client.wire.take();
    expect(acknowledged).toMatchObject({ params: { notifications: { toolsListChanged: true } } });
    registry.register(tool('a'));
    expect(await client.wire.take()).toMatchObject({ method: 'notifications/tools/list_changed' });
  });

  it('B51 says and sends nothing of changes where that is off', async () => {
    const { adapter, registry } = adapt([], { listChanged: false });
    const client = await speak(adapter, '2025-11-25');
    expect(client.opened).toMatchObject({ result: { capabilities: { tools: { listChanged: false } } } });
    const stateless = await speak(adapter, STATELESS);
    const params = { notifications: { toolsListChanged: true }, _meta: statelessMeta() };
    stateless.wire.send({ jsonrpc: '2.0', id: 'l', method: 'subscriptions/listen', params });
    expect(await stateless.wire.take()).toMatchObject({ params: { notifications: {} } });
    registry.register(tool('a'));
    expect(await client.wire.rest()).toEqual([]);
    expect(await stateless.wire.rest()).toEqual([]);
    expect(await namesOf(client)).toEqual(['a']);
  });

  it('lets go of the registry when it is closed', async () => {
    let listeners = 0;
    class Watched extends ToolRegistry {
      override onChange(listener: (event: RegistryEvent) => void) {
        const stop = super.onChange(listener);
        listeners++;
        return () => {
          listeners--;
          stop();
        };
      }
    }
    const { adapter } = adapt([], { registry: new Watched() });
    const client = await speak(adapter, '2025-11-25');
    expect(listeners).toBe(1);
    await adapter.close();
    expect(client.wire.closed).toBe(true);
    expect(listeners).toBe(0);
    await adapter.close();
  });

  it('refuses to be made without a registry, or without a name', () => {
    const registry = undefined as unknown as ToolRegistry;
    expect(() => new McpServerAdapter({ registry, name: 'a', version: '1' })).toThrow(
      new TypeError('registry must be a ToolRegistry, not undefined'),
    );
    expect(() => new McpServerAdapter({ registry: new ToolRegistry(), name: '', version: '1' })).toThrow(
      /^name must be/,
    );
  });

  it.each([{ unknownTool: -32602 }, { emptyArguments: 'none' }])('refuses %j', (options) => {
    // Sound: it is the point of this test to pass what the type does not allow.
    expect(() => adapt([], options as Partial<AdapterOptions>)).toThrow(
      /^(unknownTool|emptyArguments) must be "/,
    );
  });

  it('runs several calls of one tool at a time, one that claims not to bear that too', async () => {
    let running = 0;
    let both = () => {};
    const met = new Promise<void>((resolve) => {
      both = resolve;
    });
    const meeting = tool(
      'meet',
      async () => {
        if (++running === 2) both();
        await met;
        return 'met';
      },
      { isConcurrencySafe: false },
    );
    const client = await speak(adapt([meeting]).adapter, STATELESS);
    const calls = [call(client, 'meet'), call(client, 'meet')];
    expect(await Promise.all(calls)).toEqual([textResult('met'), textResult('met')]);
  });

  it('serves clients of both dialects on standard streams', async () => {
    const { adapter } = adapt([tool('t', (args) => JSON.stringify(args))]);
    const input = new PassThrough();
    const output = new PassThrough();
    const stdio = adapter.serveStdio({ input, output, redirectConsole: false });
    const request = (id: number, params: object, method = 'tools/call') =>
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    request(1, { name: 't', arguments: { a: 1 }, _meta: statelessMeta() });
    request(
      2,
      { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
      'initialize',
    );
    request(3, { name: 't' });
    input.end();
    await stdio.waiting();
    const answers = (await text(output))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const byId = new Map(answers.map((answer) => [answer.id, answer.result]));
    expect(byId.get(1)).toMatchObject(textResult('{"a":1}'));
    expect(byId.get(2)).toMatchObject({ serverInfo: { name: 'adapted' } });
    expect(byId.get(3)).toMatchObject(textResult('null'));
  });

  it.each(DIALECTS)('serves clients of the %s dialect by HTTP, and stops with close', async (dialect) => {
    const { adapter, registry } = adapt([tool('t', (args) => JSON.stringify(args))]);
    const { url } = await adapter.serveHttp();
    const client = await McpClient.http(url, { dialect });
    open.push(client);
    expect(client.dialect).toBe(dialect);
    expect(await client.callTool('t', { a: 1 })).toMatchObject(textResult('{"a":1}'));
    registry.register(tool('new', () => 'ok'));
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['t', 'new']);
    await expect(client.callTool('none')).rejects.toMatchObject({
      rpcCode: -32601,
      message: 'Unknown tool "none": there are "t", "new"',
    });
    await adapter.close();
    await expect(fetch(url)).rejects.toThrow();
  });

  it('checks headers that mirror arguments against the schema in the registry', async () => {
    const inputSchema = {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    };
    const { adapter } = adapt([tool('t', (args) => JSON.stringify(args), { inputSchema })]);
    const { url } = await adapter.serveHttp();
    const client = await McpClient.http(url);
    open.push(client);
    await client.listTools();
    expect(await client.callTool('t', { region: 'eu' })).toMatchObject(textResult('{"region":"eu"}'));
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': STATELESS,
        'mcp-method': 'tools/call',
        'mcp-name': 't',
        'mcp-param-region': 'us',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 't', arguments: { region: 'eu' }, _meta: statelessMeta() },
      }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: -32020 } });
  });

  it('is mounted on node:http and answers web-standard requests', async () => {
    const { adapter } = adapt([tool('t', () => 'mounted')]);
    const http = createServer(adapter.toNodeHandler()).listen(0, '127.0.0.1');
    open.push(http);
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    const client = await McpClient.http(`http://127.0.0.1:${port}/`);
    open.push(client);
    expect(await client.callTool('t')).toMatchObject(textResult('mounted'));

    const answer = await adapter.toFetchHandler()(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': STATELESS,
          'mcp-method': 'tools/call',
          'mcp-name': 't',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 't', _meta: statelessMeta() },
        }),
      }),
    );
    expect(await answer.json()).toMatchObject({ result: textResult('mounted') });
  });
});
