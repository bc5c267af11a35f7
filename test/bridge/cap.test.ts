import { describe, expect, it } from 'vitest';
import { McpToolProvider, type ToolOutput } from '../../src/bridge/index.ts';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { McpClient } from '../../src/protocol/index.ts';
import { listing, STATELESS, WireServer } from '../protocol/wire-server.ts';

const text = (value: string) => ({ type: 'text', text: value });
const image = (chars: number) => ({ type: 'image', data: 'A'.repeat(chars), mimeType: 'image/png' });

async function call(answer: JsonObject, maxResultChars?: number, more: JsonObject = {}): Promise<ToolOutput> {
  const server = new WireServer({
    ...STATELESS,
    ...listing({ name: 't', inputSchema: { type: 'object' }, ...more }),
    'tools/call': () => answer,
  });
  const client = await McpClient.inProcess(server);
  const options = maxResultChars === undefined ? {} : { maxResultChars };
  const [tool] = (await McpToolProvider.connect(client, options)).tools();
  if (!tool) throw new Error('The tool was not listed');
  return tool.call({});
}

describe('the cap on results', () => {
  it('B42 is none by default', async () => {
    const long = 'x'.repeat(1_000_000);
    expect(await call({ content: [text(long)] })).toEqual({ content: long });
  });

  it('B42 cuts a text, with a note that says so, and leaves what fits alone', async () => {
    const answer = { content: [text('0123456789')] };
    expect(await call(answer, 10)).toEqual({ content: '0123456789' });
    expect(await call(answer, 9)).toEqual({ content: '012345678\n[cut: 9 of 10 characters kept]' });
  });

  it('B42 keeps what fits of several parts, media whole or not at all', async () => {
    const content = [text('0123'), image(4), text('456789')];
    const kept = content.slice(0, 2);
    expect(await call({ content }, 14)).toEqual({ content });
    expect(await call({ content }, 10)).toEqual({
      content: [...kept, text('45'), text('[cut: 10 of 14 characters kept]')],
    });
    expect(await call({ content }, 8)).toEqual({
      content: [...kept, text('[cut: 8 of 14 characters kept]')],
    });
    expect(await call({ content }, 7)).toEqual({
      content: [text('0123'), text('[cut: 4 of 14 characters kept]')],
    });
    expect(await call({ content: [image(100)] }, 7)).toEqual({
      content: [text('[cut: 0 of 100 characters kept]')],
    });
  });

  it('B42 does not cut a character in two', async () => {
    expect(await call({ content: [text('😀😀')] }, 3)).toEqual({
      content: '😀\n[cut: 2 of 4 characters kept]',
    });
    expect(await call({ content: [text('😀😀')] }, 1)).toEqual({ content: '[cut: 0 of 4 characters kept]' });
  });

  it('B42 cuts an error too, which stays one', async () => {
    const output = await call({ content: [text('0123456789')], isError: true }, 4);
    expect(output).toMatchObject({ isError: true, content: '0123\n[cut: 4 of 10 characters kept]' });
    expect(output.isError && output.error.kind).toBe('execution');
  });

  it('B42 leaves no mark of JSON on what was cut', async () => {
    const answer = { content: [], structuredContent: ['0123456789'] };
    const output = await call(answer, 5, { outputSchema: { type: 'array' } });
    expect(output).toEqual({ content: '[\n  "\n[cut: 5 of 18 characters kept]' });
  });

  it.each([0, -1, Number.NaN])('refuses a cap of %d characters', async (maxResultChars) => {
    await expect(call({ content: [] }, maxResultChars)).rejects.toThrow(
      'maxResultChars must be a positive number of characters',
    );
  });
});
