import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createTool, ToolError, type ToolSpec, textOf, toolFailure } from '../../src/bridge/index.ts';
import { McpError } from '../../src/jsonrpc/index.ts';

describe('createTool', () => {
  it('claims nothing where flags are absent', () => {
    const tool = createTool({ name: 't', call: () => 'done' });
    expect(tool).toMatchObject({
      description: '',
      inputSchema: { type: 'object' },
      isReadOnly: false,
      isDestructive: true,
      isIdempotent: false,
      isOpenWorld: true,
      isConcurrencySafe: false,
    });
  });

  it('takes a read-only tool for one that destroys nothing', () => {
    expect(createTool({ name: 't', isReadOnly: true, call: () => '' }).isDestructive).toBe(false);
  });

  it('hands over arguments and context, and takes a string for plain text', async () => {
    const signal = new AbortController().signal;
    const tool = createTool({
      name: 't',
      call: (args, context) => `${JSON.stringify(args)} ${context.signal === signal}`,
    });
    expect(await tool.call({ a: 1 }, { signal })).toEqual({ content: '{"a":1} true' });
  });

  it('turns what the tool throws into a failure with the cause', async () => {
    const cause = new Error('no disk');
    const tool = createTool({
      name: 'save',
      call: () => {
        throw cause;
      },
    });
    const output = await tool.call({});
    expect(output).toMatchObject({ isError: true, content: 'Tool "save" failed: no disk' });
    expect(output.isError && output.error).toMatchObject({ kind: 'execution', cause });
  });

  it.each([undefined, null, 7, {}, { content: 7 }, { text: 'x' }])(
    'turns %j, which is no output, into a failure',
    async (output) => {
      // Sound: it is the point of this test to give what the type does not allow.
      const tool = createTool({ name: 't', call: () => output as unknown as string });
      expect(await tool.call({})).toMatchObject({
        isError: true,
        content: 'Tool "t" failed: it gave neither a text nor an object with content',
        error: { kind: 'execution' },
      });
    },
  );

  it('refuses to be made without a name or a function', () => {
    const make = (spec: unknown) => () => createTool(spec as ToolSpec);
    expect(make(undefined)).toThrow(new TypeError('Cannot create a tool: its name must be a string'));
    expect(make({ call: () => '' })).toThrow(
      new TypeError('Cannot create a tool: its name must be a string'),
    );
    expect(make({ name: 't' })).toThrow(
      new TypeError('Cannot create a tool: the call of "t" must be a function'),
    );
  });

  it('keeps a ToolError that the tool throws', async () => {
    const error = new ToolError('validation', 'path must be a string');
    const tool = createTool({ name: 't', call: () => Promise.reject(error) });
    expect(await tool.call({})).toEqual({ isError: true, content: 'path must be a string', error });
  });

  it('says cancelled when the tool throws after its signal was aborted', async () => {
    const tool = createTool({ name: 't', call: (_, { signal }) => Promise.reject(signal?.reason) });
    const output = await tool.call({}, { signal: AbortSignal.abort() });
    expect(output).toMatchObject({ isError: true, error: { kind: 'cancelled' } });
  });
});

describe('a tool with a schema of a library', () => {
  const inputSchema = z.object({ to: z.number().default(3) });
  const tool = createTool({
    name: 't',
    inputSchema,
    outputSchema: z.number(),
    call: ({ to }) => `to ${to.toFixed(1)}`,
  });

  it('shows its JSON Schema', () => {
    expect(tool.inputSchema).toMatchObject({ type: 'object', properties: { to: { type: 'number' } } });
    expect(tool.outputSchema).toEqual({ type: 'number' });
  });

  it('is given what the library made of the arguments', async () => {
    expect(await tool.call({})).toEqual({ content: 'to 3.0' });
  });

  it('fails where the library refuses them', async () => {
    expect(await tool.call({ to: 'x' })).toMatchObject({
      isError: true,
      content: expect.stringMatching(/^Invalid arguments for tool "t": .*to.*\(zod\)$/),
      error: { kind: 'validation' },
    });
  });

  it.each<[unknown, string]>([
    [z.string(), 'inputSchema of tool "t" must be the schema of an object, not one of type string'],
    ['object', 'inputSchema of tool "t" must be an object, not a string'],
  ])('refuses one that describes no object', (schema, why) => {
    // Sound: it is the point of this test to give what the type does not allow.
    const spec = { name: 't', inputSchema: schema, call: () => '' } as unknown as ToolSpec;
    expect(() => createTool(spec)).toThrow(new TypeError(why));
  });
});

describe('ToolError', () => {
  it('is part of the one hierarchy', () => {
    const error = new ToolError('timeout', 'late');
    expect(error).toBeInstanceOf(McpError);
    expect(error).toMatchObject({ code: 'TOOL_FAILED', kind: 'timeout', name: 'ToolError' });
  });
});

describe('textOf', () => {
  it('joins the text parts and names the others', () => {
    expect(textOf({ content: 'plain' })).toBe('plain');
    expect(
      textOf({
        content: [
          { type: 'text', text: 'a' },
          { type: 'image', data: 'AA==', mimeType: 'image/png' },
          { type: 'text', text: 'b' },
        ],
      }),
    ).toBe('a\n[image image/png]\nb');
    expect(textOf(toolFailure(new ToolError('execution', 'broken')))).toBe('broken');
  });
});
