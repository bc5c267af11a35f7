// Clients that nobody here wrote, over standard streams, against our server: the official SDKs in every way they can speak.

import { fileURLToPath } from 'node:url';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as TransportV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, it } from 'vitest';

const SERVER = {
  command: process.execPath,
  args: [fileURLToPath(new URL('./servers/mcpwire-stdio.mjs', import.meta.url))],
};
const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };
const ELICITED = { action: 'accept' as const, content: { name: 'Ada' } };
const SAMPLED = { role: 'assistant' as const, content: { type: 'text' as const, text: 'Paris' }, model: 'm' };
const ROOTS = [{ uri: 'file:///r' }];
const ASKED = JSON.stringify(['Ada', SAMPLED.content, 1]);
const CHANGES = ['tools', 'prompts', 'resources'] as const;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** Resolves once every name was heard. */
function hearing(names: readonly string[]) {
  const waiting = new Set(names);
  let done = () => {};
  const all = new Promise<void>((resolve) => {
    done = resolve;
  });
  const hear = (name: string) => {
    waiting.delete(name);
    if (waiting.size === 0) done();
  };
  return { hear, all };
}

const COUNTS = 40;
const PROGRESS_SENT = 3 * COUNTS;

/** How often progress was heard of. Where it comes in one read with the result none is: a busy machine may lose some. */
async function countProgress(count: (onProgress: () => void) => Promise<unknown>): Promise<number> {
  let seen = 0;
  for (let calls = 0; calls < COUNTS; calls++) await count(() => seen++);
  return seen;
}

describe('SDK v1 over standard streams', () => {
  async function connect() {
    const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities: CAPABILITIES });
    client.setRequestHandler(ElicitRequestSchema, () => ELICITED);
    client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLED);
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: ROOTS }));
    // The SDK's transport does not fit its own interface under exactOptionalPropertyTypes.
    await client.connect(new TransportV1(SERVER) as Parameters<typeof client.connect>[0]);
    cleanups.push(() => client.close());
    return client;
  }

  it('lists, calls, reads, fills in and completes', async () => {
    const client = await connect();
    expect(client.getServerVersion()).toEqual({ name: 'fixture', version: '1.0.0' });
    expect(client.getInstructions()).toBe('Be kind');
    await client.ping();
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
    const echoed = await client.callTool({ name: 'echo', arguments: { a: 1 } });
    expect(echoed.content).toEqual([{ type: 'text', text: '{"a":1}' }]);
    // The SDK checks it against the output schema.
    const added = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
    expect(added.structuredContent).toEqual({ sum: 3 });
    expect(await client.callTool({ name: 'add', arguments: { a: 'x' } })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: 'fail' })).toMatchObject({ isError: true });
    await expect(client.callTool({ name: 'nobody' })).rejects.toMatchObject({ code: -32602 });
    expect((await client.listResources()).resources).toMatchObject([{ uri: 'test://a' }]);
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([{ name: 't' }]);
    expect((await client.readResource({ uri: 'test://a' })).contents).toMatchObject([
      { text: 'content of a' },
    ]);
    expect((await client.readResource({ uri: 'test://t/7' })).contents).toMatchObject([{ text: 'number 7' }]);
    await expect(client.readResource({ uri: 'test://none' })).rejects.toMatchObject({ code: -32002 });
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: 'greet' }]);
    expect((await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })).messages).toHaveLength(1);
    const prompt = { type: 'ref/prompt', name: 'greet' } as const;
    const named = await client.complete({ ref: prompt, argument: { name: 'name', value: 'Al' } });
    expect(named.completion.values).toEqual(['Alan']);
    const template = { type: 'ref/resource', uri: 'test://t/{id}' } as const;
    const numbered = await client.complete({ ref: template, argument: { name: 'id', value: '7' } });
    expect(numbered.completion.values).toEqual(['70']);
  });

  it('gets progress and log messages, and is asked', async () => {
    const client = await connect();
    const heard: unknown[] = [];
    client.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void heard.push(params.data),
    );
    await client.setLoggingLevel('info');
    const progress: unknown[] = [];
    await client.callTool({ name: 'work' }, undefined, {
      onprogress: ({ progress: value, total, message }) => {
        progress.push([value, total, message]);
        void client.callTool({ name: 'proceed' });
      },
    });
    expect(progress).toEqual([1, 2, 3].map((step) => [step, 3, `step ${step}`]));
    expect(heard).toEqual(['step 1', 'step 2', 'step 3']);
    expect((await client.callTool({ name: 'ask' })).content).toEqual([{ type: 'text', text: ASKED }]);
  });

  it('gets the progress that is sent right before a result', async () => {
    const client = await connect();
    const seen = await countProgress((onprogress) =>
      client.callTool({ name: 'count' }, undefined, { onprogress }),
    );
    expect(seen).toBeGreaterThan(PROGRESS_SENT / 2);
  });

  it('hears of changes, and cancels', async () => {
    const client = await connect();
    const { hear, all } = hearing([...CHANGES, 'test://a']);
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => hear('tools'));
    client.setNotificationHandler(PromptListChangedNotificationSchema, () => hear('prompts'));
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => hear('resources'));
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => hear(params.uri));
    await client.subscribeResource({ uri: 'test://a' });
    await client.callTool({ name: 'change' });
    await all;
    await client.unsubscribeResource({ uri: 'test://a' });
    const abort = new AbortController();
    const hanging = client.callTool({ name: 'hang' }, undefined, { signal: abort.signal });
    await client.ping();
    abort.abort();
    await expect(hanging).rejects.toThrow();
    expect((await client.callTool({ name: 'aborted' })).content).toEqual([
      { type: 'text', text: 'it was aborted' },
    ]);
  });
});

describe.each([
  ['legacy', 'legacy', 'legacy'],
  ['auto', 'auto', 'modern'],
  ['pinned', { pin: '2026-07-28' }, 'modern'],
] as const)('SDK v2 over standard streams, %s', (_, mode, era) => {
  async function connect() {
    const client = new ClientV2(
      { name: 'v2', version: '1' },
      { capabilities: CAPABILITIES, versionNegotiation: { mode } },
    );
    client.setRequestHandler('elicitation/create', async () => ELICITED);
    client.setRequestHandler('sampling/createMessage', async () => SAMPLED);
    client.setRequestHandler('roots/list', async () => ({ roots: [...ROOTS] }));
    await client.connect(new TransportV2(SERVER));
    cleanups.push(() => client.close());
    return client;
  }

  it('lists, calls, reads, fills in and completes', async () => {
    const client = await connect();
    expect(client.getProtocolEra()).toBe(era);
    expect(client.getServerVersion()).toEqual({ name: 'fixture', version: '1.0.0' });
    expect(client.getInstructions()).toBe('Be kind');
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
    const echoed = await client.callTool({ name: 'echo', arguments: { a: 1 } });
    expect(echoed.content).toEqual([{ type: 'text', text: '{"a":1}' }]);
    const added = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
    expect(added.structuredContent).toEqual({ sum: 3 });
    expect(await client.callTool({ name: 'add', arguments: { a: 'x' } })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: 'fail' })).toMatchObject({ isError: true });
    await expect(client.callTool({ name: 'nobody' })).rejects.toMatchObject({ code: -32602 });
    expect((await client.listResources()).resources).toMatchObject([{ uri: 'test://a' }]);
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([{ name: 't' }]);
    expect((await client.readResource({ uri: 'test://a' })).contents).toMatchObject([
      { text: 'content of a' },
    ]);
    expect((await client.readResource({ uri: 'test://t/7' })).contents).toMatchObject([{ text: 'number 7' }]);
    await expect(client.readResource({ uri: 'test://none' })).rejects.toThrow('test://none');
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: 'greet' }]);
    expect((await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })).messages).toHaveLength(1);
    const ref = { type: 'ref/prompt', name: 'greet' } as const;
    const { completion } = await client.complete({ ref, argument: { name: 'name', value: 'A' } });
    expect(completion.values).toEqual(['Ada', 'Alan']);
  });

  it('gets progress and log messages, and is asked', async () => {
    const client = await connect();
    const heard: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params.data));
    if (era === 'legacy') await client.setLoggingLevel('info');
    const _meta = era === 'modern' ? { 'io.modelcontextprotocol/logLevel': 'info' as const } : {};
    const progress: unknown[] = [];
    await client.callTool(
      { name: 'work', _meta },
      {
        onprogress: ({ progress: value, total, message }) => {
          progress.push([value, total, message]);
          void client.callTool({ name: 'proceed' });
        },
      },
    );
    expect(progress).toEqual([1, 2, 3].map((step) => [step, 3, `step ${step}`]));
    expect(heard).toEqual(['step 1', 'step 2', 'step 3']);
    expect((await client.callTool({ name: 'ask' })).content).toEqual([{ type: 'text', text: ASKED }]);
  });

  it('gets the progress that is sent right before a result', async () => {
    const client = await connect();
    const seen = await countProgress((onprogress) => client.callTool({ name: 'count' }, { onprogress }));
    expect(seen).toBeGreaterThan(PROGRESS_SENT / 2);
  });

  it('hears of changes, and cancels', async () => {
    const client = await connect();
    const { hear, all } = hearing([...CHANGES, 'test://a']);
    for (const list of CHANGES) {
      client.setNotificationHandler(`notifications/${list}/list_changed`, () => hear(list));
    }
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => hear(params.uri));
    const filter = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['test://a'],
    };
    const subscription = era === 'modern' ? await client.listen(filter) : undefined;
    if (!subscription) await client.subscribeResource({ uri: 'test://a' });
    expect(subscription?.honoredFilter ?? filter).toEqual(filter);
    await client.callTool({ name: 'change' });
    await all;
    await subscription?.close();
    const abort = new AbortController();
    const hanging = client.callTool({ name: 'hang' }, { signal: abort.signal });
    await client.callTool({ name: 'echo' });
    abort.abort();
    await expect(hanging).rejects.toThrow();
    expect((await client.callTool({ name: 'aborted' })).content).toEqual([
      { type: 'text', text: 'it was aborted' },
    ]);
  });
});
