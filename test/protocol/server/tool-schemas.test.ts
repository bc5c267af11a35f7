import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, it } from 'vitest';
import * as z from 'zod';
import type { McpError } from '../../../src/jsonrpc/index.ts';
import { McpServer } from '../../../src/protocol/index.ts';
import { WireClient } from './wire-client.ts';

const INFO = { name: 'test', version: '1' };
const BOTH = ['2026-07-28', '2025-11-25'] as const;
type Text = { content: [{ text: string }]; isError?: boolean };

describe.each(BOTH)('the arguments of a tool, in revision %s,', (revision) => {
  it('are checked against its JSON Schema, and what is wrong is told by place and rule', async () => {
    const server = new McpServer(INFO);
    let calls = 0;
    server.tool(
      {
        name: 'age',
        inputSchema: {
          type: 'object',
          properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
          required: ['name'],
          additionalProperties: false,
        },
      },
      ({ name, age }) => {
        calls++;
        expectTypeOf(name).toEqualTypeOf<string>();
        expectTypeOf(age).toEqualTypeOf<number | undefined>();
        return `${name} ${age}`;
      },
    );
    const client = await WireClient.speak(server, revision);
    const called = (args?: object) =>
      client.result('tools/call', { name: 'age', ...(args && { arguments: args }) });
    expect(await called({ name: 'Ada', age: 36 })).toMatchObject({ content: [{ text: 'Ada 36' }] });
    const faults: [object | undefined, RegExp][] = [
      [{ name: 'Ada', age: -1 }, /\/age must be >= 0 \(minimum\)/],
      [{ name: 'Ada', age: 1.5 }, /\/age must be .*\(type\)/],
      [{ age: 1 }, /"name".*\(required\)/],
      [{ name: 'Ada', x: 1 }, /"x".*\(additionalProperties\)/],
      [undefined, /"name".*\(required\)/],
    ];
    for (const [args, message] of faults) {
      const result = (await called(args)) as Text;
      expect(result.isError).toBe(true);
      expect(result.content[0].text).toMatch(/^Invalid arguments for tool "age": /);
      expect(result.content[0].text).toMatch(message);
    }
    expect(calls).toBe(1);
  });

  it('are none where no schema is given', async () => {
    const server = new McpServer(INFO);
    server.tool({ name: 'plain' }, () => 'x');
    const client = await WireClient.speak(server, revision);
    const inputSchema = { type: 'object', additionalProperties: false };
    expect(await client.result('tools/list')).toMatchObject({ tools: [{ name: 'plain', inputSchema }] });
    expect(await client.result('tools/call', { name: 'plain' })).toMatchObject({ content: [{ text: 'x' }] });
    expect(await client.result('tools/call', { name: 'plain', arguments: { a: 1 } })).toMatchObject({
      isError: true,
    });
  });

  it.each([
    ['zod', z.object({ n: z.number().min(1), unit: z.string().default('m') })],
    [
      'valibot',
      toStandardJsonSchema(
        v.object({ n: v.pipe(v.number(), v.minValue(1)), unit: v.optional(v.string(), 'm') }),
      ),
    ],
    ['arktype', type({ n: 'number >= 1', unit: "string = 'm'" })],
  ])('are described and checked by %s, defaults included', async (_, inputSchema) => {
    const server = new McpServer(INFO);
    server.tool({ name: 'measure', inputSchema }, (args) => `${args.n} ${args.unit}`);
    const client = await WireClient.speak(server, revision);
    expect(await client.result('tools/list')).toMatchObject({
      tools: [
        {
          inputSchema: { type: 'object', properties: { n: { type: 'number', minimum: 1 } }, required: ['n'] },
        },
      ],
    });
    const called = (args: object) => client.result('tools/call', { name: 'measure', arguments: args });
    expect(await called({ n: 2 })).toMatchObject({ content: [{ text: '2 m' }] });
    const fault = (await called({ n: 0 })) as Text;
    expect(fault.isError).toBe(true);
    expect(fault.content[0].text).toContain('/n ');
  });

  it('have the type that a library infers, transformations included, even when it answers later', async () => {
    const server = new McpServer(INFO);
    const inputSchema = z.object({
      when: z.string().transform((text) => new Date(text)),
      id: z.string().refine(async (id) => id !== 'taken', 'is taken'),
    });
    // What is transformed has no JSON Schema, but what comes in has.
    server.tool({ name: 'later', inputSchema }, async ({ when, id }) => {
      expectTypeOf(when).toEqualTypeOf<Date>();
      return `${when.getTime()} ${id}`;
    });
    const client = await WireClient.speak(server, revision);
    const called = (args: object) => client.result('tools/call', { name: 'later', arguments: args });
    expect(await called({ when: '1970-01-01T00:00:01Z', id: 'free' })).toMatchObject({
      content: [{ text: '1000 free' }],
    });
    expect(await called({ when: '1970', id: 'taken' })).toMatchObject({ isError: true });
  });

  it('may be a union of objects, of which the root says that they are objects', async () => {
    const server = new McpServer(INFO);
    const inputSchema = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), a: z.number() }),
      z.object({ kind: z.literal('b'), b: z.string() }),
    ]);
    server.tool({ name: 'either', inputSchema }, (args) => (args.kind === 'a' ? String(args.a) : args.b));
    const client = await WireClient.speak(server, revision);
    const { tools } = (await client.result('tools/list')) as { tools: [{ inputSchema: { type: string } }] };
    expect(tools[0].inputSchema.type).toBe('object');
    expect(
      await client.result('tools/call', { name: 'either', arguments: { kind: 'b', b: 'x' } }),
    ).toMatchObject({
      content: [{ text: 'x' }],
    });
  });
});

describe.each(BOTH)('the structured output of a tool, in revision %s,', (revision) => {
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;

  it('is known to the compiler', async () => {
    interface Weather {
      degrees: number;
    }
    const weather: Weather = { degrees: 21 };
    const open: { type: 'object' } = { type: 'object' };
    const server = new McpServer(INFO);
    server.tool({ name: 'plain', outputSchema }, async () => ({ structuredContent: { n: 1 } }));
    // @ts-expect-error: n is a number.
    server.tool({ name: 'wrong', outputSchema }, () => ({ structuredContent: { n: '1' } }));
    // @ts-expect-error: a text alone is no structured content.
    server.tool({ name: 'text', outputSchema }, () => 'text');
    server.tool({ name: 'library', outputSchema: z.object({ n: z.number().default(2) }) }, () => ({
      structuredContent: {},
    }));
    server.tool({ name: 'open', outputSchema: open }, () => ({ structuredContent: weather }));
    server.tool({ name: 'fails', outputSchema }, (_args, { signal }) =>
      signal.aborted ? { structuredContent: { n: 1 } } : { content: [], isError: true },
    );
    server.tool({ name: 'none' }, () => 'text');
    const client = await WireClient.speak(server, revision);
    const failed: string[] = [];
    for (const name of ['plain', 'wrong', 'text', 'library', 'open', 'fails', 'none']) {
      const { isError } = await client.result('tools/call', { name });
      if (isError) failed.push(name);
    }
    expect(failed).toEqual(['wrong', 'text', 'fails']);
  });

  it('is checked against its schema, and a tool that breaks its word fails', async () => {
    const errors: McpError[] = [];
    const server = new McpServer({ ...INFO, onError: (error) => errors.push(error) });
    const returns: { [name: string]: unknown } = {
      good: { structuredContent: { n: 1 } },
      bad: { structuredContent: { n: 'x' } },
      none: 'text alone',
      failed: { content: [{ type: 'text', text: 'sorry' }], isError: true },
    };
    for (const [name, returned] of Object.entries(returns)) {
      // Sound where types hold; the point is what happens when they do not.
      server.tool({ name, outputSchema }, () => returned as { structuredContent: { n: number } });
    }
    const client = await WireClient.speak(server, revision);
    const called = (name: string) => client.result('tools/call', { name });
    expect(await client.result('tools/list')).toMatchObject({ tools: [{ outputSchema }, {}, {}, {}] });
    expect(await called('good')).toMatchObject({
      structuredContent: { n: 1 },
      content: [{ text: '{"n":1}' }],
    });
    expect(await called('failed')).toMatchObject({ isError: true, content: [{ text: 'sorry' }] });
    expect(errors).toEqual([]);
    const bad = (await called('bad')) as Text;
    expect(bad).toMatchObject({ isError: true });
    expect(bad.content[0].text).toMatch(/\/n must be .*\(type\)/);
    expect(bad).not.toHaveProperty('structuredContent');
    expect(await called('none')).toMatchObject({ isError: true });
    expect(errors.map(({ code }) => code)).toEqual(['HANDLER_FAILED', 'HANDLER_FAILED']);
  });

  it('is what a library makes of it', async () => {
    const server = new McpServer(INFO);
    const output = z.object({ n: z.number(), unit: z.string().default('m') });
    server.tool({ name: 'now', outputSchema: output }, () => ({ structuredContent: { n: 1, extra: true } }));
    const later = output.refine(async () => true);
    server.tool({ name: 'later', outputSchema: later }, async () => ({ structuredContent: { n: 1 } }));
    const client = await WireClient.speak(server, revision);
    for (const name of ['now', 'later']) {
      expect(await client.result('tools/call', { name })).toMatchObject({
        structuredContent: { n: 1, unit: 'm' },
        content: [{ text: '{"n":1,"unit":"m"}' }],
      });
    }
  });
});

describe('registering a tool', () => {
  it.each([
    ['an input schema of another type', { inputSchema: { type: 'array' } }],
    ['an input schema without a type', { inputSchema: { properties: {} } }],
    [
      'an input schema that is none',
      { inputSchema: { type: 'object', properties: { a: { type: 'text' } } } },
    ],
    [
      'an external reference',
      { inputSchema: { type: 'object', properties: { a: { $ref: 'https://example.com/a' } } } },
    ],
    ['an output schema that is none', { outputSchema: { type: 'object', required: 'n' } }],
    ['a schema of a library that cannot describe it', { inputSchema: v.object({}) }],
  ])('is refused with %s', (_, schemas) => {
    const server = new McpServer(INFO);
    // Sound where types hold; the point is what happens when they do not.
    expect(() => server.tool({ name: 'x', ...(schemas as object) }, () => 'x')).toThrow(TypeError);
    expect(() => server.tool({ name: 'x' }, () => 'x')).not.toThrow();
  });
});
