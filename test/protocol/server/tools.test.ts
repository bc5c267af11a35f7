import { describe, expect, it } from 'vitest';
import { type JsonObject, type McpError, RpcError } from '../../../src/jsonrpc/index.ts';
import { McpServer, type ToolReturn } from '../../../src/protocol/index.ts';
import { WireClient } from './wire-client.ts';

const ANYTHING = { type: 'object' } as const;
const INFO = { name: 'test', version: '1' };
const BOTH = ['2026-07-28', '2025-11-25'] as const;

const text = (content: string) => ({ type: 'text' as const, text: content });

describe.each(BOTH)('a tool, in revision %s,', (revision) => {
  it.each<[string, ToolReturn, object]>([
    ['a string', 'hello', { content: [text('hello')] }],
    ['an empty string', '', { content: [text('')] }],
    ['content blocks', [text('a'), text('b')], { content: [text('a'), text('b')] }],
    ['nothing', undefined, { content: [] }],
    ['a result', { content: [text('a')], isError: true }, { content: [text('a')], isError: true }],
    [
      'structured content alone',
      { structuredContent: { a: [1] } },
      { content: [text('{"a":[1]}')], structuredContent: { a: [1] } },
    ],
    [
      'structured content beside content',
      { content: [text('one')], structuredContent: { a: 1 } },
      { content: [text('one')], structuredContent: { a: 1 } },
    ],
    ['an object without content', { isError: true }, { content: [], isError: true }],
  ])('may return %s, at once or later', async (_, returned, expected) => {
    const server = new McpServer(INFO);
    server.tool({ name: 'now', inputSchema: ANYTHING }, () => returned);
    server.tool({ name: 'later', inputSchema: ANYTHING }, async () => returned);
    const client = await WireClient.speak(server, revision);
    for (const name of ['now', 'later']) {
      const { resultType, _meta, ...result } = await client.result('tools/call', { name });
      expect(result).toEqual(expected);
      expect(resultType).toBe(revision === '2026-07-28' ? 'complete' : undefined);
    }
  });

  it.each([
    [5],
    [true],
    [null],
    [{ content: 'text' }],
    [{ isError: 'yes' }],
    [{ temperature: 20 }],
    [new Map([['a', 1]])],
    [['a', 'b']],
    [[null]],
    [[{ type: 'text' }]],
    [[{ type: 'image', data: 5, mimeType: 'image/png' }]],
    [[{ type: 'resource', resource: 'r' }]],
    [{ content: [{ type: 'toString' }] }],
  ])('that returns %j fails, and the server hears why', async (returned) => {
    const errors: McpError[] = [];
    const server = new McpServer({ ...INFO, onError: (error) => errors.push(error) });
    // Sound: the type forbids it, callers from JavaScript do not know.
    server.tool({ name: 'odd', inputSchema: ANYTHING }, () => returned as unknown as string);
    const client = await WireClient.speak(server, revision);
    expect(await client.result('tools/call', { name: 'odd' })).toMatchObject({ isError: true });
    expect(errors).toMatchObject([{ code: 'HANDLER_FAILED' }]);
  });

  it('that breaks its output schema is reported in one sentence', async () => {
    const errors: McpError[] = [];
    const server = new McpServer({ ...INFO, onError: (error) => errors.push(error) });
    const outputSchema = { type: 'object', properties: { n: { type: 'number' } } } as const;
    // Sound: it is the point of this test to break what the schema promises.
    server.tool({ name: 'odd', outputSchema }, () => ({
      structuredContent: { n: 'x' as unknown as number },
    }));
    const client = await WireClient.speak(server, revision);
    expect(await client.result('tools/call', { name: 'odd' })).toMatchObject({ isError: true });
    expect(errors).toMatchObject([
      { code: 'HANDLER_FAILED', message: expect.stringMatching(/^Tool "odd" returned what breaks/) },
    ]);
  });

  it('that throws is a result with its message, and the server hears all of it', async () => {
    const errors: McpError[] = [];
    const server = new McpServer({ ...INFO, onError: (error) => errors.push(error) });
    const failure = new Error('disk full');
    const thrown = [failure, 'a string', undefined];
    thrown.forEach((error, index) => {
      server.tool({ name: `now-${index}`, inputSchema: ANYTHING }, () => {
        throw error;
      });
      server.tool({ name: `later-${index}`, inputSchema: ANYTHING }, () => Promise.reject(error));
    });
    const client = await WireClient.speak(server, revision);
    for (const when of ['now', 'later']) {
      const results = [];
      for (const index of thrown.keys())
        results.push(await client.result('tools/call', { name: `${when}-${index}` }));
      expect(results).toMatchObject(
        ['disk full', 'a string', 'undefined'].map((message) => ({
          isError: true,
          content: [text(message)],
        })),
      );
    }
    expect(errors).toHaveLength(6);
    expect(errors[0]).toMatchObject({
      code: 'HANDLER_FAILED',
      cause: failure,
      message: expect.stringContaining('"now-0"'),
    });
  });

  it('that throws an RpcError has it travel as it is', async () => {
    const server = new McpServer(INFO);
    server.tool({ name: 'refuse', inputSchema: ANYTHING }, async () => {
      throw new RpcError(4711, 'not you', { why: 1 });
    });
    const client = await WireClient.speak(server, revision);
    expect(await client.error('tools/call', { name: 'refuse' })).toEqual({
      code: 4711,
      message: 'not you',
      data: { why: 1 },
    });
  });

  it('is called with the arguments as they came, an empty object for none', async () => {
    const server = new McpServer(INFO);
    server.tool({ name: 'echo', inputSchema: ANYTHING }, (args) => JSON.stringify(args));
    const client = await WireClient.speak(server, revision);
    const echoed = async (args: JsonObject) => {
      const { content } = await client.result('tools/call', { name: 'echo', ...args });
      return (content as { text: string }[])[0]?.text;
    };
    expect(await echoed({})).toBe('{}');
    expect(await echoed({ arguments: { b: null, a: [{}] } })).toBe('{"b":null,"a":[{}]}');
    for (const args of [null, [], 'x', 1]) {
      expect(await client.error('tools/call', { name: 'echo', arguments: args })).toMatchObject({
        code: -32602,
      });
    }
  });

  it('that does not exist is refused with -32602', async () => {
    const server = new McpServer(INFO);
    const remove = server.tool({ name: 'gone', inputSchema: ANYTHING }, () => 'x');
    remove();
    remove();
    const client = await WireClient.speak(server, revision);
    for (const name of ['gone', 'toString', '__proto__', '']) {
      expect(await client.error('tools/call', { name })).toEqual({
        code: -32602,
        message: `Unknown tool: ${name}`,
      });
    }
    for (const name of [undefined, null, 7]) {
      expect(await client.error('tools/call', { name })).toMatchObject({ code: -32602 });
    }
  });

  it('may come from a source that is asked on every list and call', async () => {
    const server = new McpServer(INFO);
    server.tool({ name: 'fixed', inputSchema: ANYTHING }, () => 'fixed');
    const names = ['one', 'fixed'];
    const calls: unknown[] = [];
    const remove = server.toolSource({
      list: async () => names.map((name) => ({ name, inputSchema: ANYTHING })),
      call: (name, args) => {
        calls.push(args);
        if (!names.includes(name)) throw new RpcError(-32601, `No tool ${name}; there are ${names}`);
        if (name === 'fails') throw new Error('soft');
        return `live ${name}`;
      },
    });
    expect(() => server.toolSource({ list: () => [], call: () => 'x' })).toThrow(TypeError);
    const client = await WireClient.speak(server, revision);
    const listed = async () =>
      ((await client.result('tools/list')).tools as { name: string }[]).map(({ name }) => name);
    expect(await listed()).toEqual(['fixed', 'one']);
    names.push('fails');
    expect(await listed()).toEqual(['fixed', 'one', 'fails']);
    expect(await client.result('tools/call', { name: 'fixed' })).toMatchObject({ content: [text('fixed')] });
    expect(await client.result('tools/call', { name: 'one', arguments: { a: 1 } })).toMatchObject({
      content: [text('live one')],
    });
    expect(await client.result('tools/call', { name: 'fails' })).toMatchObject({
      isError: true,
      content: [text('soft')],
    });
    expect(await client.error('tools/call', { name: 'two' })).toMatchObject({ code: -32601 });
    expect(calls).toEqual([{ a: 1 }, undefined, undefined]);
    remove();
    expect(await listed()).toEqual(['fixed']);
    expect(await client.error('tools/call', { name: 'one' })).toMatchObject({ code: -32602 });
  });

  it('is listed in the order of registration, in pages where that is asked for', async () => {
    const server = new McpServer({ ...INFO, pageSize: 2 });
    const names = ['b', 'a', 'd', 'c', 'e'];
    const removals = names.map((name) => server.tool({ name, inputSchema: ANYTHING }, () => 'x'));
    const client = await WireClient.speak(server, revision);
    const page = async (cursor?: unknown) => {
      const { tools, nextCursor } = await client.result('tools/list', cursor === undefined ? {} : { cursor });
      return { names: (tools as { name: string }[]).map(({ name }) => name), nextCursor };
    };
    const first = await page();
    const second = await page(first.nextCursor);
    const third = await page(second.nextCursor);
    expect([first.names, second.names, third]).toEqual([
      ['b', 'a'],
      ['d', 'c'],
      { names: ['e'], nextCursor: undefined },
    ]);
    removals[0]?.();
    expect((await page(first.nextCursor)).names).toEqual(['d', 'c']);
    removals[1]?.();
    const bad = [
      first.nextCursor,
      '',
      'x',
      7,
      null,
      `${second.nextCursor}x`,
      Buffer.from('["prompts/list","d"]').toString('base64url'),
    ];
    for (const cursor of bad) {
      expect(await client.error('tools/list', { cursor })).toMatchObject({ code: -32602 });
    }
  });
});

describe('registering a tool', () => {
  it('is refused for a name that is taken or none', () => {
    const server = new McpServer(INFO);
    server.tool({ name: 'a', inputSchema: ANYTHING }, () => 'x');
    expect(() => server.tool({ name: 'a', inputSchema: ANYTHING }, () => 'x')).toThrow(TypeError);
    expect(() => server.tool({ name: '', inputSchema: ANYTHING }, () => 'x')).toThrow(TypeError);
    // Sound: the type forbids it, callers from JavaScript do not know.
    expect(() => server.tool({ inputSchema: ANYTHING } as never, () => 'x')).toThrow(TypeError);
  });

  it('is possible again after the tool was removed, and an old removal leaves the new one alone', async () => {
    const server = new McpServer(INFO);
    const remove = server.tool({ name: 'a', inputSchema: ANYTHING }, () => 'old');
    remove();
    server.tool({ name: 'a', inputSchema: ANYTHING }, () => 'new');
    remove();
    const client = await WireClient.speak(server, '2026-07-28');
    expect(await client.result('tools/call', { name: 'a' })).toMatchObject({ content: [text('new')] });
  });
});
