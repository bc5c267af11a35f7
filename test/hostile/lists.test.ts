import { describe, expect, it } from 'vitest';
import { McpToolProvider, ToolRegistry } from '../../src/bridge/index.ts';
import { startPeer, watchForLeftovers } from './start-peer.ts';

watchForLeftovers();

describe('a list', () => {
  it('whose cursors go round is given up when one comes twice, and nothing of it is registered', async () => {
    const { client, stderr } = await startPeer('loops-cursor');
    await expect(McpToolProvider.connect(client)).rejects.toMatchObject({
      code: 'PAGINATION',
      message: 'Cannot read "tools/list" to its end: cursor "a" came twice',
    });
    expect(stderr).toEqual(['page undefined', 'page a', 'page b', 'page c']);
  });

  it('without an end is given up after maxPages', async () => {
    const { client } = await startPeer('endless-pages', [], { maxPages: 50 });
    await expect(client.listTools()).rejects.toMatchObject({
      code: 'PAGINATION',
      message: 'Cannot read "tools/list" to its end: over 50 pages; raise maxPages',
    });
  });

  it('without an end is given up at the deadline, which is one for all pages', async () => {
    const { client } = await startPeer('endless-pages', [], { maxPages: Number.POSITIVE_INFINITY });
    await expect(client.listTools({ timeoutMs: 300 })).rejects.toMatchObject({ code: 'TIMEOUT' });
  });

  it('may have the empty string for a cursor', async () => {
    const { client } = await startPeer('empty-cursor');
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['first', 'second']);
  });

  it('that was declared and is not known is empty, with a warning', async () => {
    const { client, codes } = await startPeer('knows-no-lists');
    expect(await client.listTools()).toEqual([]);
    expect(await client.listPrompts()).toEqual([]);
    expect(await client.listResources()).toEqual([]);
    expect(await client.listResourceTemplates()).toEqual([]);
    expect(codes()).toEqual(['NOT_SUPPORTED', 'NOT_SUPPORTED', 'NOT_SUPPORTED', 'NOT_SUPPORTED']);
  });

  it('of nonsense loses only the nonsense', async () => {
    const { client, codes } = await startPeer('lists-nonsense');
    const warnings: string[] = [];
    const provider = await McpToolProvider.connect(client, {
      onWarning: ({ code }) => warnings.push(code),
    });
    const registry = new ToolRegistry();
    provider.registerInto(registry);
    expect(registry.names()).toEqual(['twice', '__proto__']);
    expect(registry.get('twice')?.description).toBe('first');
    expect(registry.get('__proto__')).toMatchObject({
      description: '',
      outputSchema: undefined,
      isDestructive: true,
    });
    expect(codes()).toEqual(Array(6).fill('INVALID_RESULT'));
    // The output schema that is a number, and the second tool of one name.
    expect(warnings).toEqual(['INVALID_SCHEMA', 'DUPLICATE_TOOL']);
  });
});
