import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { McpToolProvider, ToolRegistry, textOf } from '../../src/bridge/index.ts';
import { McpClient, type Progress, type StdioOptions } from '../../src/protocol/index.ts';
import { processesIn } from '../../test/left-behind.ts';
import { REFERENCE_SERVERS, type ReferenceCall, type ReferenceServer } from './reference-calls.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** A folder of its own for each test, where its server runs: what is left of it is found there. */
let scratch: string;
let clients: McpClient[];
beforeEach(() => {
  scratch = realpathSync(mkdtempSync(join(tmpdir(), 'mcpwire-reference-')));
  clients = [];
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  expect(processesIn(scratch)).toEqual([]);
  rmSync(scratch, { recursive: true, force: true });
});

async function start(args: string[], options: StdioOptions = {}, env: Record<string, string> = {}) {
  const stderr = new Lines();
  const client = await McpClient.stdio(
    { command: process.execPath, args, env, cwd: scratch },
    { stderr: (line) => stderr.push(line), ...options },
  );
  clients.push(client);
  return { client, stderr };
}

function startReference(name: string, { args, env = {}, files = {} }: ReferenceServer) {
  const fill = (text: string) => text.replaceAll('{scratch}', scratch);
  for (const [file, contents] of Object.entries(files)) writeFileSync(join(scratch, file), contents);
  const entry = path(`../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
  const filledEnv = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, fill(value)]));
  return start([entry, ...args.map(fill)], {}, filledEnv);
}

/** Lines that come one by one, and may be waited for. */
class Lines {
  readonly #lines: string[] = [];
  #waiting: (() => void) | undefined;

  push(line: string): void {
    this.#lines.push(line);
    this.#waiting?.();
  }

  async line(wanted: string): Promise<void> {
    while (!this.#lines.includes(wanted)) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
  }
}

describe.each(Object.entries(REFERENCE_SERVERS))('the reference server %s', (name, server) => {
  const fill = <Value>(value: Value): Value =>
    JSON.parse(JSON.stringify(value).replaceAll('{scratch}', scratch)) as Value;

  it('is spoken to in the session dialect and lists its tools', async () => {
    const { client } = await startReference(name, server);
    expect(client).toMatchObject({ dialect: 'session', protocolVersion: '2025-11-25' });
    expect(client.serverInfo).toMatchObject({ name: expect.any(String), version: expect.any(String) });
    expect((await client.listTools()).map((tool) => tool.name)).toEqual(server.tools);
  });

  it('gives the known results', async () => {
    const { client } = await startReference(name, server);
    for (const { tool, args, isError, text, textStartsWith, structuredContent } of fill(server.calls)) {
      const result = await client.callTool(tool, args);
      const [block] = result.content;
      const got = block?.type === 'text' ? block.text : undefined;
      expect(result.isError ?? false, tool).toBe(isError);
      if (text !== undefined) expect(got).toBe(text);
      if (textStartsWith !== undefined) expect(got?.startsWith(textStartsWith), got).toBe(true);
      expect(result.structuredContent).toEqual(structuredContent);
    }
  });

  it('gives them through a registry too', async () => {
    const { client } = await startReference(name, server);
    const registry = new ToolRegistry();
    const provider = await McpToolProvider.connect(client, { prefix: 'ref' });
    expect(provider.registerInto(registry)).toEqual(server.tools.map((tool) => `ref__${tool}`));
    const known = (call: ReferenceCall) => registry.has(`ref__${call.tool}`);
    for (const call of fill(server.calls).filter(known)) {
      const { tool, args, isError, text, textStartsWith, structuredContent } = call;
      const output = await registry.get(`ref__${tool}`)?.call(args);
      expect(output?.isError ?? false, tool).toBe(isError);
      const got = output && textOf(output);
      const json = JSON.stringify(structuredContent, undefined, 2);
      if (text !== undefined) expect(got).toBe(json === undefined ? text : `${text}\n${json}`);
      if (textStartsWith !== undefined) expect(got?.startsWith(textStartsWith), got).toBe(true);
    }
  });
});

describe('the reference server everything', () => {
  const everything = (options: StdioOptions = {}) =>
    start([path('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js')], options);

  it('reports progress before the result', async () => {
    const { client } = await everything();
    const seen: Progress[] = [];
    const result = await client.callTool(
      'trigger-long-running-operation',
      { duration: 1, steps: 2 },
      { onProgress: (progress) => seen.push(progress) },
    );
    expect(seen).toEqual([
      { progress: 1, total: 2 },
      { progress: 2, total: 2 },
    ]);
    expect(result.content).toEqual([
      { type: 'text', text: 'Long running operation completed. Duration: 1 seconds, Steps: 2.' },
    ]);
  });

  it('answers on after a call was aborted, and after one was late', async () => {
    const { client } = await everything();
    const provider = await McpToolProvider.connect(client, { callTimeoutMs: 200 });
    const slow = provider.tools().find((tool) => tool.name === 'trigger-long-running-operation');
    expect(await slow?.call({ duration: 60, steps: 1 })).toMatchObject({
      isError: true,
      content: 'Tool "trigger-long-running-operation" gave no result within 200 ms and was cancelled',
    });
    const controller = new AbortController();
    const aborted = client.callTool(
      'trigger-long-running-operation',
      { duration: 60, steps: 60 },
      { signal: controller.signal, onProgress: () => controller.abort() },
    );
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
    expect((await client.callTool('echo', { message: 'still here' })).content).toEqual([
      { type: 'text', text: 'Echo: still here' },
    ]);
  });

  it('gives an image as a part, between the texts around it', async () => {
    const { client } = await everything();
    const provider = await McpToolProvider.connect(client);
    const output = await provider
      .tools()
      .find((tool) => tool.name === 'get-tiny-image')
      ?.call({});
    expect(output?.content).toEqual([
      { type: 'text', text: expect.any(String) },
      { type: 'image', data: expect.stringMatching(/^[A-Za-z0-9+/]+=*$/), mimeType: 'image/png' },
      { type: 'text', text: expect.any(String) },
    ]);
  });

  it('offers more to a client that has roots, sampling and elicitation, and is answered when it asks', async () => {
    const { client } = await everything({
      roots: [{ uri: 'file:///somewhere', name: 'somewhere' }],
      onSample: () => ({ role: 'assistant', content: { type: 'text', text: 'sampled' }, model: 'none' }),
      onElicit: () => ({ action: 'decline' }),
    });
    await expect.poll(async () => (await client.listTools({ fresh: true })).length).toBe(16);
    const { content } = await client.callTool('trigger-sampling-request', { prompt: 'Hi', maxTokens: 5 });
    expect(JSON.stringify(content)).toContain('sampled');
  });

  it('may be closed in the middle of a call, which then fails', async () => {
    const { client } = await everything();
    const call = client.callTool('trigger-long-running-operation', { duration: 60, steps: 1 });
    const failed = expect(call).rejects.toMatchObject({ code: 'CLOSED' });
    await client.ping();
    await client.close();
    await failed;
    expect(processesIn(scratch)).toEqual([]);
  });
});

describe.each([
  ['version 1', 'sdk-v1', 'session', '2025-11-25'],
  ['version 2 in the session dialect', 'sdk-v2', 'session', '2025-11-25'],
  ['version 2 in the stateless dialect', 'sdk-v2', 'stateless', '2026-07-28'],
] as const)('a server of the official SDK, %s', (_, name, dialect, revision) => {
  const startSdk = (options: StdioOptions = {}) =>
    // `auto` finds the newest dialect by itself; the other one has to be asked for.
    start(
      [path(`servers/${name}.mjs`)],
      dialect === 'session' && name === 'sdk-v2' ? { dialect, ...options } : options,
    );

  it('is recognised', async () => {
    const { client } = await startSdk();
    expect(client).toMatchObject({
      dialect,
      protocolVersion: revision,
      serverInfo: { name, version: expect.any(String) },
      instructions: 'For tests',
    });
    expect(client.serverCapabilities.tools).toBeDefined();
    await client.ping();
  });

  it('is imported: names, schemas, flags, results and failures', async () => {
    const { client } = await startSdk();
    const registry = new ToolRegistry();
    (await McpToolProvider.connect(client, { prefix: 'sdk' })).registerInto(registry);
    expect(registry.names()).toEqual(
      ['echo', 'add', 'fail', 'work', 'wait', 'greet', 'grow'].map((tool) => `sdk__${tool}`),
    );
    const add = registry.get('sdk__add');
    expect(add).toMatchObject({
      title: 'Add',
      description: 'Adds two numbers',
      inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
      outputSchema: { type: 'object', properties: { sum: { type: 'number' } } },
      isReadOnly: true,
      isOpenWorld: false,
    });
    expect(await add?.call({ a: 2, b: 3 })).toEqual({
      content: [
        { type: 'text', text: '{"sum":5}' },
        { type: 'text', text: '{\n  "sum": 5\n}' },
      ],
      displayHint: 'json',
    });
    expect(await registry.get('sdk__echo')?.call({ text: 'ünï 🎉\u2028' })).toMatchObject({
      content: 'ünï 🎉\u2028',
    });
    expect(await registry.get('sdk__fail')?.call({})).toMatchObject({
      isError: true,
      content: expect.stringContaining('this tool always fails'),
    });
    expect(await add?.call({ a: 'two' })).toMatchObject({ isError: true, error: { kind: 'execution' } });
    expect(await client.callTool('add', { a: 1, b: 1 })).toMatchObject({ structuredContent: { sum: 2 } });
  });

  it('B23 is followed as its tools come and go', async () => {
    const { client } = await startSdk();
    const registry = new ToolRegistry();
    const provider = await McpToolProvider.connect(client);
    const following = await provider.follow(registry);
    expect(following.active).toBe(true);
    const echo = registry.get('echo');
    const grow = registry.get('grow');
    expect(await grow?.call({})).toEqual({ content: 'grown' });
    await expect.poll(() => registry.has('grown')).toBe(true);
    expect(await registry.get('grown')?.call({})).toEqual({ content: 'new' });
    expect(await grow?.call({})).toEqual({ content: 'shrunk' });
    await expect.poll(() => registry.has('grown')).toBe(false);
    expect(registry.get('echo')).toBe(echo);
    await following.close();
  });

  it('reports all its progress before the result', async () => {
    const { client } = await startSdk();
    const seen: Progress[] = [];
    const result = await client.callTool(
      'work',
      { steps: 200 },
      { onProgress: (progress) => seen.push(progress) },
    );
    expect(result.content).toEqual([{ type: 'text', text: '200 steps' }]);
    expect(seen).toHaveLength(200);
    expect(seen.at(-1)).toEqual({ progress: 200, total: 200, message: 'step 200' });
  });

  it('hears that a call was given up, by its caller or at the deadline, and answers on', async () => {
    const { client, stderr } = await startSdk();
    const controller = new AbortController();
    const aborted = client.callTool('wait', {}, { signal: controller.signal });
    aborted.catch(() => {});
    await stderr.line('waiting');
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
    await stderr.line('cancelled');
    await expect(client.callTool('wait', {}, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect((await client.callTool('echo', { text: 'on' })).content).toEqual([{ type: 'text', text: 'on' }]);
  });

  it('is answered when it asks the person', async () => {
    const { client } = await startSdk({
      onElicit: (params) => ({ action: 'accept', content: { name: `Ada, asked "${params.message}"` } }),
    });
    expect((await client.callTool('greet', {})).content).toEqual([
      { type: 'text', text: 'Hello, Ada, asked "Who are you?" (asked)' },
    ]);
  });

  it('makes a failed call of a question that nobody can answer', async () => {
    const { client } = await startSdk();
    const provider = await McpToolProvider.connect(client);
    expect(
      await provider
        .tools()
        .find((tool) => tool.name === 'greet')
        ?.call({}),
    ).toMatchObject({ isError: true });
  });
});
