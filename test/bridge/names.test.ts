import { describe, expect, it } from 'vitest';
import { McpToolProvider, type ProviderOptions } from '../../src/bridge/index.ts';
import type { McpError } from '../../src/jsonrpc/index.ts';
import { McpClient } from '../../src/protocol/index.ts';
import { SESSION, WireServer } from '../protocol/wire-server.ts';

const SAFE = /^[A-Za-z0-9_-]{1,64}$/;
const LONG = 'x'.repeat(65);
const UNSAFE = ['a.b', 'a/b', 'a b', '', 'größe', '\ud800', '😀', LONG, `${LONG}y`, 'y'.repeat(1_000_000)];

async function namesOf(listed: string[], options: ProviderOptions = {}) {
  const warnings: McpError[] = [];
  const server = new WireServer({
    ...SESSION,
    'tools/list': () => ({ tools: listed.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  });
  const client = await McpClient.inProcess(server);
  const onWarning = (warning: McpError) => warnings.push(warning);
  const provider = await McpToolProvider.connect(client, { onWarning, ...options });
  return { server, provider, warnings, names: provider.tools().map(({ name }) => name) };
}

describe('names of imported tools', () => {
  it('B06 keeps a name that model APIs refuse, with one warning for each such tool', async () => {
    const { names, warnings, provider } = await namesOf(['ok-1_A', 'a.b', LONG, 'x'.repeat(64)]);
    expect(names).toEqual(['ok-1_A', 'a.b', LONG, 'x'.repeat(64)]);
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      [
        'INVALID_NAME',
        expect.stringContaining('Tool "a.b" of "in-process" has a name that model APIs may refuse'),
      ],
      ['INVALID_NAME', expect.stringContaining(LONG)],
    ]);
    await provider.refresh();
    expect(warnings).toHaveLength(2);
  });

  it('B06 warns of a name that only its prefix makes too long', async () => {
    const { warnings } = await namesOf(['x'.repeat(60)], { prefix: 'long' });
    expect(warnings.map(({ code }) => code)).toEqual(['INVALID_NAME']);
  });

  it('B06 makes unsafe names safe and unique, and leaves safe ones alone', async () => {
    const { names, warnings } = await namesOf([...UNSAFE, 'a_b'], { names: 'model-safe' });
    expect(warnings).toEqual([]);
    expect(names).toHaveLength(UNSAFE.length + 1);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(SAFE);
    expect(names.at(-1)).toBe('a_b');
    expect(names[0]).toMatch(/^a_b_.{10}$/);
  });

  it('B06 gives a tool the same safe name whatever else is there, and in whatever order', async () => {
    const { names: forward } = await namesOf(UNSAFE, { names: 'model-safe' });
    const { names: backward } = await namesOf([...UNSAFE].reverse(), { names: 'model-safe' });
    expect(backward.reverse()).toEqual(forward);
    const { names: alone } = await namesOf(['a/b'], { names: 'model-safe' });
    expect(alone).toEqual([forward[1]]);
    // What it was in an earlier version is what a conversation of that time has.
    expect(alone).toEqual(['a_b_9e_6MXcqNo']);
    expect(forward[UNSAFE.indexOf(LONG)]).toBe(`${'x'.repeat(53)}_z6cOjkmIM2`);
  });

  it('B06 calls a tool with a safe name by the name that its server knows', async () => {
    const { provider, server } = await namesOf(['files/read'], { names: 'model-safe', prefix: 'my server' });
    const [tool] = provider.tools();
    expect(tool?.name).toMatch(/^my_server__files_read_.{10}$/);
    void tool?.call({ a: 1 });
    expect(await server.next()).toMatchObject({ params: { name: 'files/read', arguments: { a: 1 } } });
    await server.close();
  });

  it.each([
    [{ names: 'safe' }, 'names must be "keep" or "model-safe", not "safe"'],
    [{ prefix: 7 }, 'prefix must be a string, not 7'],
    [{ audio: 'no' }, 'audio must be "note" or "part", not "no"'],
  ])('refuses %j', async (options, why) => {
    // Sound: it is the point of this test to pass what the type does not allow.
    await expect(namesOf([], options as unknown as ProviderOptions)).rejects.toThrow(new TypeError(why));
  });
});
