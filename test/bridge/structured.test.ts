import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  MAX_RAW_BYTES,
  McpToolProvider,
  type ProviderOptions,
  ToolRegistry,
} from '../../src/bridge/index.ts';
import type { JsonObject, McpError } from '../../src/jsonrpc/index.ts';
import { McpClient } from '../../src/protocol/index.ts';
import { SESSION, STATELESS, WireServer } from '../protocol/wire-server.ts';
import { deceptiveSchema } from './deceptive-schema.ts';

const OBJECT = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const text = (value: string) => ({ type: 'text', text: value });

/** A tool with this output schema, whose server answers calls with what `answer` gives. */
async function importTool(outputSchema: unknown, answer: () => JsonObject, options: ProviderOptions = {}) {
  const warnings: McpError[] = [];
  const listed = { outputSchema };
  const server = new WireServer({
    ...STATELESS,
    'tools/list': () => ({ tools: [{ name: 't', inputSchema: { type: 'object' }, ...listed }] }),
    'tools/call': answer,
  });
  const onWarning = (warning: McpError) => warnings.push(warning);
  const client = await McpClient.inProcess(server);
  const provider = await McpToolProvider.connect(client, { onWarning, ...options });
  const registry = new ToolRegistry();
  provider.registerInto(registry);
  const [tool] = provider.tools();
  if (!tool) throw new Error('The tool was not listed');
  return { provider, registry, tool, warnings, listed };
}

async function outputOf(outputSchema: unknown, answer: JsonObject, options: ProviderOptions = {}) {
  const { tool, warnings } = await importTool(outputSchema, () => answer, options);
  return { output: await tool.call({}), warnings };
}

describe('structured content', () => {
  it.each([
    ['2020-12 by default', { type: 'array', prefixItems: [{ type: 'integer' }] }],
    [
      '2020-12',
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'array',
        prefixItems: [{ type: 'integer' }],
      },
    ],
    [
      '2019-09',
      {
        $schema: 'https://json-schema.org/draft/2019-09/schema',
        type: 'array',
        items: [{ type: 'integer' }],
      },
    ],
    [
      'draft-07',
      { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [{ type: 'integer' }] },
    ],
    [
      'draft-06',
      { $schema: 'http://json-schema.org/draft-06/schema#', type: 'array', items: [{ type: 'integer' }] },
    ],
  ])('B30 is checked by a schema of %s', async (_, schema) => {
    const right = await outputOf(schema, { content: [text('one')], structuredContent: [1] });
    expect(right.output).toEqual({ content: [text('one'), text('[\n  1\n]')], displayHint: 'json' });
    expect(right.warnings).toEqual([]);
    const wrong = await outputOf(schema, { content: [text('one')], structuredContent: ['1'] });
    expect(wrong.output).toMatchObject({ isError: true, error: { kind: 'validation' } });
  });

  it('B30 stands, when it is valid, as indented JSON behind all other parts', async () => {
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
    const answer = { content: [text('{"n":1}'), image], structuredContent: { n: 1 } };
    const { output } = await outputOf(OBJECT, answer);
    expect(output).toEqual({
      content: [text('{"n":1}'), image, text('{\n  "n": 1\n}')],
      displayHint: 'json',
    });
  });

  it('B30 is the whole text where there is no content beside it', async () => {
    const { output } = await outputOf(OBJECT, { structuredContent: { n: 1 } });
    expect(output).toEqual({ content: '{\n  "n": 1\n}', displayHint: 'json' });
  });

  it('B31 is a soft error when it is invalid, naming keyword and path, with what the server sent', async () => {
    const schema = { type: 'object', properties: { list: { type: 'array', items: { type: 'integer' } } } };
    const answer = { content: [text('fine')], structuredContent: { list: [1, 'two'] } };
    const { output, warnings } = await outputOf(schema, answer);
    const message =
      'Tool "t" gave structured content that breaks "type" of its output schema at "/list/1": /list/1 must be integer, not string';
    expect(output).toMatchObject({
      isError: true,
      content: `${message}\n{"list":[1,"two"]}`,
      error: { kind: 'validation', code: 'TOOL_FAILED', message },
    });
    expect(warnings).toEqual([]);
  });

  it('B31 names the root where the value itself is wrong', async () => {
    const { output } = await outputOf(OBJECT, { content: [], structuredContent: {} });
    expect(output).toMatchObject({
      content: expect.stringContaining('breaks "required" of its output schema at its root'),
    });
  });

  it('B31 names the beginning of a path that has no end', async () => {
    const name = 'n'.repeat(10_000);
    const schema = { additionalProperties: { type: 'integer' } };
    const { output } = await outputOf(schema, { content: [], structuredContent: { [name]: 'x' } });
    expect(output).toMatchObject({
      content: expect.stringContaining(`of its output schema at "/${name.slice(0, 199)}": `),
    });
    expect(output.isError && output.error.message.length).toBeLessThan(1000);
  });

  it.each([
    ['letters', 'x', 1],
    ['characters of four bytes', '😀', 4],
    ['characters of three bytes', '€', 3],
  ])('B31 keeps at most 2 KiB of what the server sent, of %s', async (_, character, size) => {
    const sent = character.repeat(100_000);
    const { output } = await outputOf({ type: 'integer' }, { content: [], structuredContent: sent });
    const [, raw = '', note] = String(output.content).split('\n');
    expect(raw).toBe(`"${character.repeat(Math.floor((MAX_RAW_BYTES - 1) / size))}`);
    expect(note).toBe('[cut to 2048 bytes]');
  });

  it('B31 keeps all of what is exactly 2 KiB', async () => {
    const sent = 'x'.repeat(MAX_RAW_BYTES - 2);
    const { output } = await outputOf({ type: 'integer' }, { content: [], structuredContent: sent });
    expect(String(output.content).split('\n')[1]).toBe(`"${sent}"`);
  });

  it('B32 passes with a warning under the policy "lenient"', async () => {
    const answer = { content: [text('fine')], structuredContent: { n: 'one' } };
    const { output, warnings } = await outputOf(OBJECT, answer, { structuredContent: 'lenient' });
    expect(output).toEqual({ content: [text('fine'), text('{\n  "n": "one"\n}')], displayHint: 'json' });
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      ['INVALID_RESULT', expect.stringContaining('breaks "type" of its output schema at "/n"')],
    ]);
  });

  it('B33 may be absent though a schema is declared: the text alone', async () => {
    const { output, warnings } = await outputOf(OBJECT, { content: [text('fine')] });
    expect(output).toEqual({ content: 'fine' });
    expect(warnings).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['a keyword of a wrong shape', { type: 'object', required: 'n' }],
    ['a dialect that is not known', { $schema: 'https://example.com/mine', type: 'object' }],
    ['a reference to nowhere', { $ref: '#/$defs/none' }],
    ['no object', 'string'],
    ['null', null],
  ])('B34 is not checked by a schema with %s, which is left out with a warning', async (_, schema) => {
    const answer = { content: [text('fine')], structuredContent: { n: 'any' } };
    const { tool, warnings, provider } = await importTool(schema, () => answer);
    expect(tool.outputSchema).toBeUndefined();
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      [
        'INVALID_SCHEMA',
        expect.stringContaining('Left out the output schema of tool "t", whose results are not checked'),
      ],
    ]);
    expect(await tool.call({})).toEqual({ content: [text('fine'), text('{"n":"any"}')] });
    await provider.refresh();
    expect(warnings).toHaveLength(1);
  });

  it('B34 is not checked by a schema that turns out to be of no use, which costs a warning', async () => {
    const answer = { content: [], structuredContent: { n: 1 } };
    const { tool, warnings } = await importTool(deceptiveSchema(), () => answer);
    expect(warnings).toEqual([]);
    for (let call = 0; call < 2; call++) expect(await tool.call({})).toEqual({ content: '{"n":1}' });
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      [
        'INVALID_SCHEMA',
        expect.stringMatching(/^The results of tool "t" are not checked: .*too many meanings$/),
      ],
    ]);
  });

  it('B35 fails by default; another policy reaches registered tools with the next sync', async () => {
    const answer = { content: [], structuredContent: { n: 'one' } };
    const { provider, registry, tool } = await importTool(OBJECT, () => answer);
    expect(await tool.call({})).toMatchObject({ isError: true });
    expect(provider.withStructuredPolicy('lenient')).toBe(provider);
    expect(await tool.call({})).toMatchObject({ isError: true });
    expect(await provider.syncInto(registry)).toEqual({
      added: [],
      removed: [],
      untouched: [],
      refreshed: ['t'],
    });
    expect(registry.get('t')).toBe(tool);
    expect(await tool.call({})).toMatchObject({ displayHint: 'json' });
    expect(await provider.syncInto(registry)).toMatchObject({ untouched: ['t'], refreshed: [] });
    provider.withStructuredPolicy('error');
    expect(await provider.syncInto(registry)).toMatchObject({ refreshed: ['t'] });
    expect(await tool.call({})).toMatchObject({ isError: true });
  });

  it('B35 reaches tools that are registered later without a sync', async () => {
    const answer = { content: [], structuredContent: { n: 'one' } };
    const { provider } = await importTool(OBJECT, () => answer);
    const registry = new ToolRegistry();
    provider.withStructuredPolicy('lenient').registerInto(registry);
    expect(await registry.get('t')?.call({})).toMatchObject({ displayHint: 'json' });
  });

  it('B35 makes no difference to a tool without a schema', async () => {
    const { provider, registry, tool } = await importTool(undefined, () => ({ content: [] }));
    provider.withStructuredPolicy('lenient');
    expect(provider.tools()[0]).toBe(tool);
    expect(await provider.syncInto(registry)).toMatchObject({ untouched: ['t'], refreshed: [] });
  });

  it('B35 knows two policies', async () => {
    const { provider } = await importTool(OBJECT, () => ({ content: [] }));
    const refusal = 'structuredContent must be "error" or "lenient"';
    // Sound: it is the point of this test to pass what the type does not allow.
    const none = 'none' as unknown as 'error';
    expect(() => provider.withStructuredPolicy(none)).toThrow(refusal);
    await expect(importTool(OBJECT, () => ({}), { structuredContent: none })).rejects.toThrow(refusal);
  });

  it.each<[unknown, string]>([
    [{ b: 1, a: ['é', '\u2028', 1e21] }, '{"b":1,"a":["é","\u2028",1e+21]}'],
    [null, 'null'],
    ['text', '"text"'],
  ])('B36 is one text part byte for byte where there is no schema: %j', async (structuredContent, json) => {
    expect((await outputOf(undefined, { content: [], structuredContent })).output).toEqual({ content: json });
    expect((await outputOf(undefined, { content: [text('beside')], structuredContent })).output).toEqual({
      content: [text('beside'), text(json)],
    });
  });

  it.each(['{"a":1,"b":[true]}', '{\n  "a": 1,\n  "b": [true]\n}'])(
    'B36 is not said twice: %j',
    async (said) => {
      const answer = { content: [text(said)], structuredContent: { a: 1, b: [true] } };
      expect((await outputOf(undefined, answer)).output).toEqual({ content: said });
    },
  );

  it('B37 is never checked in an error', async () => {
    const answer = { content: [text('no')], structuredContent: { wrong: true }, isError: true };
    const { output } = await outputOf(OBJECT, answer);
    expect(output).toMatchObject({
      isError: true,
      content: [text('no'), text('{"wrong":true}')],
      error: { kind: 'execution' },
    });
  });

  it.each([null, false, 0, '', [], [null], {}])(
    'B37 may be any JSON value: %j',
    async (structuredContent) => {
      const answer = { content: [text('beside')], structuredContent };
      const { output } = await outputOf({ description: 'anything' }, answer);
      expect(output).toEqual({
        content: [text('beside'), text(JSON.stringify(structuredContent, undefined, 2))],
        displayHint: 'json',
      });
      const { output: wrong } = await outputOf({ const: 'else' }, answer);
      expect(wrong).toMatchObject({ isError: true, error: { kind: 'validation' } });
    },
  );

  it('B38 never makes a schema be fetched', async () => {
    const asked: unknown[] = [];
    const http = createServer((request, response) => {
      asked.push(request.url);
      response.end('{}');
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(http.address() as AddressInfo).port}/schema.json`;
    try {
      const answer = { content: [], structuredContent: { n: 1 } };
      const { output, warnings } = await outputOf({ $ref: address }, answer);
      expect(output).toEqual({ content: '{"n":1}' });
      expect(warnings.map(({ code, message }) => [code, message])).toEqual([
        ['INVALID_SCHEMA', expect.stringContaining('$ref')],
      ]);
    } finally {
      await new Promise((resolve) => http.close(resolve));
    }
    expect(asked).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['depth', nested(1000)],
    [
      'subschemas',
      { properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`p${n}`, {}])) },
    ],
  ])('B38 is not checked by a schema of unbounded %s', async (_, schema) => {
    const { output, warnings } = await outputOf(schema, { content: [text('fine')], structuredContent: 'x' });
    expect(output).toMatchObject({ content: [text('fine'), text('"x"')] });
    expect(warnings).toHaveLength(1);
  });

  it('B38 is checked by a pattern that is meant to take for ever', async () => {
    const structuredContent = `${'a'.repeat(10_000)}b`;
    const { output } = await outputOf({ pattern: '^(a+)+$' }, { content: [], structuredContent });
    expect(output).toMatchObject({ isError: true, error: { kind: 'validation' } });
  });

  it('B38 ignores formats and keywords that are not known', async () => {
    const schema = { type: 'object', properties: { a: { format: 'colour', 'x-mine': [] } } };
    const { output, warnings } = await outputOf(schema, { content: [], structuredContent: { a: 'red' } });
    expect(output).toMatchObject({ displayHint: 'json' });
    expect(warnings).toEqual([]);
  });

  it('is shown as a note where it nests too deeply to be written', async () => {
    const deep = nested(1000);
    const { tool } = await importTool({}, () => ({ content: [], structuredContent: deep }));
    expect(await tool.call({})).toEqual({ content: '[structured content: nested deeper than 512 levels]' });
  });
});

describe('a session', () => {
  it('B30 has its structured content checked as well', async () => {
    const server = new WireServer({
      ...SESSION,
      'tools/list': () => ({ tools: [{ name: 't', inputSchema: { type: 'object' }, outputSchema: OBJECT }] }),
      'tools/call': () => ({ content: [], structuredContent: { n: 1 } }),
    });
    const provider = await McpToolProvider.connect(await McpClient.inProcess(server));
    expect(await provider.tools()[0]?.call({})).toEqual({ content: '{\n  "n": 1\n}', displayHint: 'json' });
  });
});

function nested(levels: number): JsonObject {
  let value: JsonObject = {};
  for (let level = 0; level < levels; level++) value = { not: value };
  return value;
}
