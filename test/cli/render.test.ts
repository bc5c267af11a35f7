import { describe, expect, it } from 'vitest';
import { renderProgress, renderResult, renderTools } from '../../src/cli/render.ts';
import type { ContentBlock, ToolDefinition } from '../../src/protocol/index.ts';

const tool = (name: string, description: string, properties: object = {}, required: string[] = []) =>
  ({ name, description, inputSchema: { type: 'object', properties, required } }) as ToolDefinition;

describe('renderTools', () => {
  it('says so when there are none', () => {
    expect(renderTools([], 80)).toBe('The server has no tools');
  });

  it('aligns the columns and cuts a line at the width of the terminal', () => {
    const tools = [
      tool(
        'add',
        'Adds\ttwo  numbers\nand more',
        { a: { type: 'number' }, b: { type: ['number', 'null'] } },
        ['a'],
      ),
      tool('x', '', { any: {} }),
    ];
    expect(renderTools(tools, Number.POSITIVE_INFINITY).split('\n')).toEqual([
      'NAME  ARGUMENTS                   DESCRIPTION',
      'add   a: number, b?: number|null  Adds two numbers',
      'x     any?: any',
    ]);
    expect(renderTools(tools, 20).split('\n')[1]).toBe('add   a: number, b?…');
  });

  it('does not let one long cell push all others away', () => {
    const lines = renderTools(
      [tool('n'.repeat(200), 'long'), tool('x', 'short')],
      Number.POSITIVE_INFINITY,
    ).split('\n');
    expect(lines[1]).toContain(`${'n'.repeat(200)}  `);
    expect(lines[2]?.indexOf('short')).toBeLessThan(70);
  });

  it('survives schemas that are no schemas', () => {
    const odd = [
      { name: 'a', inputSchema: { type: 'object', properties: [], required: 'x' } },
      { name: 'b', description: 7, inputSchema: { type: 'object', properties: { p: null, q: { type: 5 } } } },
    ] as unknown as ToolDefinition[];
    expect(renderTools(odd, 80)).toContain('p?: any, q?: any');
  });
});

describe('renderResult', () => {
  it('is the text, with what is no text named', () => {
    const content: ContentBlock[] = [
      { type: 'text', text: 'a' },
      { type: 'image', data: 'AA==', mimeType: 'image/png' },
      { type: 'resource_link', uri: 'file:///x', name: 'x' },
    ];
    expect(renderResult({ content })).toBe('a\n[image image/png]\n[resource link: "x", file:///x]');
  });

  it('is the structured content where there is nothing else', () => {
    expect(renderResult({ content: [], structuredContent: [1] })).toBe('[\n  1\n]');
    expect(renderResult({ content: [] })).toBe('');
  });
});

describe('renderProgress', () => {
  it('names what the server gave', () => {
    expect(renderProgress({ progress: 1 })).toBe('Progress: 1');
    expect(renderProgress({ progress: 1, total: 2, message: 'half' })).toBe('Progress: 1 of 2, half');
  });
});
