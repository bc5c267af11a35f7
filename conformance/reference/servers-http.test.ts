import { afterEach, describe, expect, it } from 'vitest';
import { type HttpConnectOptions, McpClient } from '../../src/protocol/index.ts';
import { type HttpProcess, startEverything, startSdks, startWire } from './http-server.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function running(server: Promise<HttpProcess>): Promise<HttpProcess> {
  const { origin, port, stop } = await server;
  cleanups.push(stop);
  return { origin, port, stop };
}

async function connect(url: string, options?: HttpConnectOptions): Promise<McpClient> {
  const client = await McpClient.http(url, options);
  cleanups.push(() => client.close());
  return client;
}

async function textOf(client: McpClient, tool: string, args = {}): Promise<string> {
  const [block] = (await client.callTool(tool, args)).content;
  return block?.type === 'text' ? block.text : '';
}

describe.each([
  ['streamableHttp', '/mcp'],
  ['sse', '/sse'],
] as const)('the reference server everything by %s', (mode, path) => {
  it('is spoken to in the session dialect', async () => {
    const { origin } = await running(startEverything(mode));
    const client = await connect(origin + path);
    expect(client).toMatchObject({ dialect: 'session', protocolVersion: '2025-11-25' });
    expect((await client.listTools()).length).toBeGreaterThan(10);
    expect(await textOf(client, 'get-sum', { a: 2, b: 3 })).toContain('5');
    const [resource] = await client.listResources();
    expect((await client.readResource(resource?.uri ?? '')).contents).toHaveLength(1);
    expect((await client.listPrompts()).length).toBeGreaterThan(0);
  });
});

describe('a server of the official SDK, version 1, with sessions and an event store', () => {
  it('goes on with a call whose connection broke', async () => {
    const wire = await startWire((await running(startSdks())).origin);
    cleanups.push(wire.stop);
    const client = await connect(`${wire.origin}/v1`);
    const steps: number[] = [];
    const result = await client.callTool(
      'work',
      { steps: 60 },
      {
        onProgress: ({ progress }) => {
          steps.push(progress);
          if (progress === 10) wire.cut();
        },
      },
    );
    expect(result.content).toEqual([{ type: 'text', text: 'done' }]);
    expect(steps).toEqual(Array.from({ length: 60 }, (_, n) => n + 1));
    expect(JSON.parse(await textOf(client, 'counts'))).toEqual({ initialize: 1, work: 1 });
  });

  it('that was started again gets one session for all callers, and no call twice', async () => {
    const first = await running(startSdks());
    const client = await connect(`${first.origin}/v1`);
    const subscription = await client.listen({ toolsListChanged: true });
    const missed = subscription[Symbol.asyncIterator]().next();
    let begun = () => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const call = client.callTool('work', { steps: 1000 }, { onProgress: begun });
    const failed = expect(call).rejects.toMatchObject({ code: 'TRANSPORT_FAILED' });
    await hasBegun;
    await first.stop();
    await running(startSdks(first.port));
    await failed;
    // Nothing was called since: whoever listens is told that something may have changed.
    expect((await missed).value).toEqual({ type: 'toolsListChanged' });
    const texts = Array.from({ length: 100 }, (_, n) => String(n));
    expect(await Promise.all(texts.map((text) => textOf(client, 'echo', { text })))).toEqual(texts);
    expect(JSON.parse(await textOf(client, 'counts'))).toEqual({ initialize: 1, work: 0 });
  });
});

describe.each([
  ['auto', 'stateless', '2026-07-28'],
  ['session', 'session', '2025-11-25'],
] as const)('a handler of the official SDK, version 2, asked with "%s"', (wanted, dialect, revision) => {
  it('is recognised, answers many at once, asks, and acknowledges listeners', async () => {
    const { origin } = await running(startSdks());
    const client = await connect(`${origin}/v2`, {
      dialect: wanted,
      onElicit: ({ message }) => ({ action: 'accept', content: { name: `my ${message}` } }),
    });
    expect(client).toMatchObject({ dialect, protocolVersion: revision, serverInfo: { name: 'sdk-v2' } });
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['echo', 'greet']);
    const texts = Array.from({ length: 50 }, (_, n) => `ü ${n}`);
    expect(await Promise.all(texts.map((text) => textOf(client, 'echo', { text })))).toEqual(texts);
    if (dialect === 'stateless') expect(await textOf(client, 'greet')).toBe('my first my last');
    expect((await client.listen({ toolsListChanged: true })).filter).toEqual({ toolsListChanged: true });
  });
});
