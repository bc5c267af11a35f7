import { describe, expect, it } from 'vitest';
import { type McpError, RpcError } from '../../../src/jsonrpc/index.ts';
import { McpServer, type PromptReturn } from '../../../src/protocol/index.ts';
import { WireClient } from './wire-client.ts';

const INFO = { name: 'test', version: '1' };
const BOTH = ['2026-07-28', '2025-11-25'] as const;

describe.each(BOTH)('a prompt, in revision %s,', (revision) => {
  it('is listed with its arguments', async () => {
    const server = new McpServer(INFO);
    const definition = {
      name: 'review',
      title: 'Review',
      description: 'Reviews code',
      arguments: [{ name: 'code', title: 'Code', description: 'c', required: true }, { name: 'style' }],
    };
    server.prompt(definition, () => 'x');
    const client = await WireClient.speak(server, revision);
    expect((await client.result('prompts/list')).prompts).toEqual([definition]);
  });

  it('is got with its arguments, whose types follow from its definition', async () => {
    const server = new McpServer(INFO);
    server.prompt(
      { name: 'p', arguments: [{ name: 'code', required: true }, { name: 'style' }] },
      ({ code, style }) => {
        const whole: string = code;
        const maybe: string | undefined = style;
        return `${whole} ${maybe}`;
      },
    );
    const client = await WireClient.speak(server, revision);
    const got = async (args: object) =>
      (await client.result('prompts/get', { name: 'p', arguments: args })).messages;
    expect(await got({ code: 'x' })).toEqual([
      { role: 'user', content: { type: 'text', text: 'x undefined' } },
    ]);
    expect(await got({ code: '', style: 'y', other: 'z' })).toEqual([
      { role: 'user', content: { type: 'text', text: ' y' } },
    ]);
    for (const args of [
      undefined,
      {},
      { style: 'y' },
      { code: 1 },
      { code: 'x', style: null },
      { code: 'x', other: {} },
      [],
    ]) {
      expect(
        await client.error('prompts/get', { name: 'p', ...(args && { arguments: args }) }),
      ).toMatchObject({ code: -32602 });
    }
  });

  it.each<[string, Exclude<PromptReturn, string>]>([
    ['messages', [{ role: 'assistant', content: { type: 'text', text: 'x' } }]],
    ['a result', { description: 'd', messages: [] }],
  ])('may return %s, at once or later', async (_, returned) => {
    const server = new McpServer(INFO);
    server.prompt({ name: 'now' }, () => returned);
    server.prompt({ name: 'later' }, async () => returned);
    const client = await WireClient.speak(server, revision);
    for (const name of ['now', 'later']) {
      const expected = Array.isArray(returned) ? { messages: returned } : returned;
      expect(await client.result('prompts/get', { name })).toMatchObject(expected);
    }
  });

  it('that does not exist is refused with -32602', async () => {
    const server = new McpServer(INFO);
    server.prompt({ name: 'p' }, () => 'x');
    const client = await WireClient.speak(server, revision);
    expect(await client.error('prompts/get', { name: 'q' })).toEqual({
      code: -32602,
      message: 'Unknown prompt: q',
    });
    expect(await client.error('prompts/get', {})).toMatchObject({ code: -32602 });
  });

  it('that fails is an internal error without details, unless it throws an RpcError', async () => {
    const errors: McpError[] = [];
    const server = new McpServer({ ...INFO, onError: (error) => errors.push(error) });
    server.prompt({ name: 'throws' }, () => {
      throw new Error('secret');
    });
    server.prompt({ name: 'rejects' }, () => Promise.reject(new Error('secret')));
    // Sound: the type forbids it, callers from JavaScript do not know.
    server.prompt({ name: 'odd' }, () => 5 as unknown as string);
    server.prompt({ name: 'refuses' }, () => {
      throw new RpcError(-31000, 'no', 1);
    });
    const client = await WireClient.speak(server, revision);
    for (const name of ['throws', 'rejects', 'odd']) {
      expect(await client.error('prompts/get', { name })).toEqual({
        code: -32603,
        message: 'Internal error',
      });
    }
    expect(errors.map(({ code }) => code)).toEqual(['HANDLER_FAILED', 'HANDLER_FAILED', 'HANDLER_FAILED']);
    expect(await client.error('prompts/get', { name: 'refuses' })).toEqual({
      code: -31000,
      message: 'no',
      data: 1,
    });
  });

  it('is listed in pages where that is asked for', async () => {
    const server = new McpServer({ ...INFO, pageSize: 1 });
    for (const name of ['b', 'a']) server.prompt({ name }, () => 'x');
    const client = await WireClient.speak(server, revision);
    const first = await client.result('prompts/list');
    const second = await client.result('prompts/list', { cursor: first.nextCursor });
    expect([first.prompts, second.prompts, second.nextCursor]).toEqual([
      [{ name: 'b' }],
      [{ name: 'a' }],
      undefined,
    ]);
  });
});

describe.each(BOTH)('completion, in revision %s,', (revision) => {
  const languages = ['python', 'pytorch', 'pyside', 'ruby'];
  const serverWithCompletion = () => {
    const server = new McpServer(INFO);
    server.prompt(
      { name: 'p', arguments: [{ name: 'language' }, { name: 'framework' }, { name: 'many' }] },
      () => 'x',
      {
        complete: {
          language: (value) => languages.filter((language) => language.startsWith(value)),
          framework: async (value, args) => [`${args.language}/${value}`],
          many: () => Array.from({ length: 250 }, (_, index) => String(index)),
          page: () => ({ values: ['a'], total: 9, hasMore: true }),
        },
      },
    );
    return server;
  };
  const complete = (name: string, value: string, context?: object) => ({
    ref: { type: 'ref/prompt', name: 'p' },
    argument: { name, value },
    ...(context && { context }),
  });

  it('suggests what fits, with what is settled already', async () => {
    const client = await WireClient.speak(serverWithCompletion(), revision);
    const completion = async (params: ReturnType<typeof complete>) =>
      (await client.result('completion/complete', params)).completion;
    expect(await completion(complete('language', 'py'))).toEqual({
      values: ['python', 'pytorch', 'pyside'],
      total: 3,
      hasMore: false,
    });
    expect(
      await completion(complete('framework', 'f', { arguments: { language: 'ruby', other: 5 } })),
    ).toMatchObject({
      values: ['ruby/f'],
    });
    expect(await completion(complete('framework', 'f', { arguments: null }))).toMatchObject({
      values: ['undefined/f'],
    });
    expect(await completion(complete('unknown', ''))).toEqual({ values: [], hasMore: false });
    expect(await completion(complete('toString', ''))).toEqual({ values: [], hasMore: false });
    expect(await completion(complete('page', ''))).toEqual({ values: ['a'], total: 9, hasMore: true });
  });

  it('gives no more than a hundred values, and says how many there are', async () => {
    const client = await WireClient.speak(serverWithCompletion(), revision);
    const { completion } = await client.result('completion/complete', complete('many', ''));
    expect(completion).toMatchObject({ total: 250, hasMore: true });
    expect((completion as { values: string[] }).values).toHaveLength(100);
  });

  it('is refused with -32602 for what does not exist or is malformed', async () => {
    const client = await WireClient.speak(serverWithCompletion(), revision);
    const good = complete('language', 'py');
    const bad = [
      {},
      { ...good, ref: { type: 'ref/prompt', name: 'q' } },
      { ...good, ref: { type: 'ref/prompt' } },
      { ...good, ref: { type: 'ref/tool', name: 'p' } },
      { ...good, ref: { type: 'ref/resource', uri: 'test:none' } },
      { ...good, argument: { name: 'language' } },
      { ...good, argument: { value: 'x' } },
      { ref: good.ref },
    ];
    for (const params of bad) {
      expect(await client.error('completion/complete', params)).toMatchObject({ code: -32602 });
    }
  });

  it('is not offered where nothing completes', async () => {
    const server = new McpServer(INFO);
    server.prompt({ name: 'p' }, () => 'x');
    const client = await WireClient.speak(server, revision);
    expect(await client.error('completion/complete', complete('a', ''))).toMatchObject({ code: -32601 });
  });
});
