import { describe, expect, it } from 'vitest';
import {
  createTool,
  exportOutput,
  exportTool,
  MAX_STRUCTURED_DEPTH,
  ToolError,
  type ToolOutput,
  toolFailure,
} from '../../src/bridge/index.ts';
import type { McpError } from '../../src/jsonrpc/index.ts';

const SCHEMA = { type: 'object' } as const;

function exported(output: unknown) {
  const warnings: McpError[] = [];
  // Sound: it is the point of some of these tests to give what no type allows.
  const result = exportOutput('t', output as ToolOutput, (warning) => warnings.push(warning));
  return { result, warnings: warnings.map(({ message }) => message) };
}

describe('exportTool', () => {
  const tool = (more: object) => createTool({ name: 't', call: () => '', ...more });

  it('B43 takes the name verbatim, from whoever lists it', () => {
    expect(exportTool(tool({}), 'other name ✓', undefined)).toEqual({
      name: 'other name ✓',
      inputSchema: SCHEMA,
    });
  });

  it('B43 leaves an empty description out, and keeps any other', () => {
    expect(exportTool(tool({ description: '' }), 't', undefined)).not.toHaveProperty('description');
    expect(exportTool(tool({ description: ' ' }), 't', undefined)).toMatchObject({ description: ' ' });
  });

  it('B43 gives annotations to a read-only tool alone, and nothing of display hints or other flags', () => {
    const flags = { isIdempotent: true, isOpenWorld: false, isConcurrencySafe: true, isDestructive: false };
    expect(exportTool(tool(flags), 't', undefined)).toEqual({ name: 't', inputSchema: SCHEMA });
    expect(exportTool(tool({ ...flags, isReadOnly: true }), 't', undefined)).toEqual({
      name: 't',
      inputSchema: SCHEMA,
      annotations: { readOnlyHint: true, destructiveHint: false },
    });
  });

  it('B43 leaves out a title and a description that are no text', () => {
    expect(exportTool(tool({ title: 7, description: ['does'] }), 't', undefined)).toEqual({
      name: 't',
      inputSchema: SCHEMA,
    });
  });

  it('takes the title, and the output schema that it is given', () => {
    const outputSchema = { type: 'array' };
    const titled = tool({ title: 'Tool', outputSchema: { type: 'string' } });
    expect(exportTool(titled, 't', outputSchema)).toEqual({
      name: 't',
      title: 'Tool',
      inputSchema: SCHEMA,
      outputSchema,
    });
  });
});

describe('exportOutput', () => {
  it.each(['', 'text', '{"a":1}'])('makes one text block of the text %j', (content) => {
    expect(exported({ content })).toEqual({
      result: { content: [{ type: 'text', text: content }] },
      warnings: [],
    });
  });

  it('makes a block of each part, in order, with the members it needs and no others', () => {
    const content = [
      { type: 'text', text: 'a', extra: 1 },
      { type: 'image', data: 'AAAA', mimeType: 'image/png', extra: 1 },
      { type: 'audio', data: 'BBBB', mimeType: 'audio/wav', extra: 1 },
      { type: 'text', text: 'b' },
    ];
    expect(exported({ content }).result.content).toEqual([
      { type: 'text', text: 'a' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'audio', data: 'BBBB', mimeType: 'audio/wav' },
      { type: 'text', text: 'b' },
    ]);
    expect(exported({ content: [] }).result).toEqual({ content: [] });
  });

  it('names what cannot be sent, and loses nothing in silence', () => {
    const content = [7, null, { type: 'text' }, { type: 'image', data: 'A' }, { type: 'video' }, {}];
    expect(exported({ content }).result.content).toEqual(
      [
        '[malformed content: no object]',
        '[malformed content: no object]',
        '[malformed text]',
        '[malformed image]',
        '[content of type "video"]',
        '[content of type unknown]',
      ].map((text) => ({ type: 'text', text })),
    );
  });

  it('B55 marks a failure, and keeps its content', () => {
    const failure = toolFailure(new ToolError('execution', 'shown'));
    expect(exported(failure).result).toEqual({ content: [{ type: 'text', text: 'shown' }], isError: true });
    expect(exported({ ...failure, content: [] }).result).toEqual({ content: [], isError: true });
  });

  it.each(['null', '0', 'false', '""', '[]', '{}', '{"__proto__":1}'])(
    'B58 takes %s for structured content',
    (content) => {
      const { result, warnings } = exported({ content, displayHint: 'json' });
      expect(JSON.stringify(result.structuredContent)).toBe(content);
      expect(warnings).toEqual([]);
    },
  );

  it.each(['', 'undefined', '{"a":1', '{} {}', "{'a':1}"])(
    'B59 keeps %j as text, with a warning',
    (content) => {
      expect(exported({ content, displayHint: 'json' })).toEqual({
        result: { content: [{ type: 'text', text: content }] },
        warnings: [
          'The output of tool "t" is marked as JSON and sent as text alone: its last text is no JSON',
        ],
      });
    },
  );

  it('B58 takes JSON of the greatest depth that can be written again, and nothing deeper', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    const within = exported({ content: nested(MAX_STRUCTURED_DEPTH), displayHint: 'json' });
    expect(JSON.stringify(within.result.structuredContent)).toBe(nested(MAX_STRUCTURED_DEPTH));
    const beyond = exported({ content: nested(MAX_STRUCTURED_DEPTH + 1), displayHint: 'json' });
    expect(beyond.result).not.toHaveProperty('structuredContent');
    expect(beyond.warnings).toHaveLength(1);
  });
});
