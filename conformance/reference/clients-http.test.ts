// Clients that nobody here wrote, by HTTP, against our server: the official SDKs in every way they can speak.

import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, it } from 'vitest';
import { McpServer, serveHttp } from '../../src/protocol/index.ts';

const OBJECT = { type: 'object' } as const;
const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };
const ANSWERS = {
  elicit: { action: 'accept', content: { name: 'Ada' } },
  sample: { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'm' },
  roots: { roots: [{ uri: 'file:///r' }] },
} as const;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function serve() {
  const server = new McpServer({ name: 'fixture', version: '1.0.0', instructions: 'Be kind' });
  let onAborted = () => {};
  const aborted = new Promise<void>((resolve) => {
    onAborted = resolve;
  });
  server.tool({ name: 'echo', description: 'Echoes', inputSchema: OBJECT }, (args) => JSON.stringify(args));
  server.tool({ name: 'fail', inputSchema: OBJECT }, () => {
    throw new Error('it broke');
  });
  server.tool({ name: 'work', inputSchema: OBJECT }, async (_args, context) => {
    for (const step of [1, 2, 3]) {
      await context.progress(step, 3);
      await context.log('info', `step ${step}`);
    }
    return 'worked';
  });
  server.tool({ name: 'hang', inputSchema: OBJECT }, async (_args, { signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    onAborted();
    return 'aborted';
  });
  server.tool({ name: 'ask', inputSchema: OBJECT }, async (_args, context) => {
    const person = await context.elicit({
      message: 'Name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    const model = await context.sample({
      messages: [{ role: 'user', content: { type: 'text', text: 'Capital?' } }],
      maxTokens: 10,
    });
    const roots = await context.listRoots();
    return JSON.stringify([person.content?.name, model.content, roots.length]);
  });
  server.tool({ name: 'poll', inputSchema: OBJECT }, async (_args, context) => {
    context.closeStream();
    await new Promise((resolve) => setTimeout(resolve, 20));
    return 'polled';
  });
  server.resource({ uri: 'test://a', name: 'a', mimeType: 'text/plain' }, () => 'content of a');
  server.resourceTemplate({ uriTemplate: 'test://t/{id}', name: 't' }, (_uri, { id }) => `number ${id}`);
  server.prompt(
    { name: 'greet', arguments: [{ name: 'name', required: true }] },
    ({ name }) => `Hello ${name}`,
    { complete: { name: (value) => ['Ada', 'Alan'].filter((each) => each.startsWith(value)) } },
  );
  const listening = await serveHttp(server, { sessions: { retryMs: 10 } });
  cleanups.push(() => listening.close());
  return { server, url: new URL(listening.url), aborted };
}

describe('SDK v1 by HTTP', () => {
  async function connect(url: URL) {
    const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities: CAPABILITIES });
    client.setRequestHandler(ElicitRequestSchema, () => ANSWERS.elicit);
    client.setRequestHandler(CreateMessageRequestSchema, () => ANSWERS.sample);
    client.setRequestHandler(ListRootsRequestSchema, () => ANSWERS.roots);
    const transport = new TransportV1(url);
    // The SDK's transport does not fit its own interface under exactOptionalPropertyTypes.
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    cleanups.push(() => client.close());
    return { client, transport };
  }

  it('lists, calls, reads, fills in and completes', async () => {
    const { url } = await serve();
    const { client } = await connect(url);
    expect(client.getServerVersion()).toEqual({ name: 'fixture', version: '1.0.0' });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
    const echoed = await client.callTool({ name: 'echo', arguments: { a: 1 } });
    expect(echoed.content).toEqual([{ type: 'text', text: '{"a":1}' }]);
    expect(await client.callTool({ name: 'fail' })).toMatchObject({ isError: true });
    await expect(client.callTool({ name: 'nobody' })).rejects.toMatchObject({ code: -32602 });
    expect((await client.readResource({ uri: 'test://a' })).contents).toMatchObject([
      { text: 'content of a' },
    ]);
    expect((await client.readResource({ uri: 'test://t/7' })).contents).toMatchObject([{ text: 'number 7' }]);
    await expect(client.readResource({ uri: 'test://none' })).rejects.toMatchObject({ code: -32002 });
    expect((await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })).messages).toHaveLength(1);
    const ref = { type: 'ref/prompt', name: 'greet' } as const;
    const { completion } = await client.complete({ ref, argument: { name: 'name', value: 'Al' } });
    expect(completion.values).toEqual(['Alan']);
  });

  it('gets progress, log messages and changes, is asked, cancels, and polls', async () => {
    const { url, server, aborted } = await serve();
    const { client } = await connect(url);
    const heard: unknown[] = [];
    client.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void heard.push(params.data),
    );
    await client.setLoggingLevel('info');
    const progress: number[] = [];
    await client.callTool({ name: 'work' }, undefined, {
      onprogress: ({ progress: value }) => progress.push(value),
    });
    expect([progress, heard]).toEqual([
      [1, 2, 3],
      ['step 1', 'step 2', 'step 3'],
    ]);
    expect((await client.callTool({ name: 'ask' })).content).toMatchObject([
      { text: expect.stringContaining('"Ada"') },
    ]);
    expect((await client.callTool({ name: 'poll' })).content).toMatchObject([{ text: 'polled' }]);
    const changed = new Promise<void>((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
    );
    const updated = new Promise<string>((resolve) =>
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri)),
    );
    await client.subscribeResource({ uri: 'test://a' });
    server.notifyToolsChanged();
    server.notifyResourceUpdated('test://a');
    await changed;
    expect(await updated).toBe('test://a');
    const abort = new AbortController();
    const hanging = client.callTool({ name: 'hang' }, undefined, { signal: abort.signal });
    setTimeout(() => abort.abort(), 50);
    await expect(hanging).rejects.toThrow();
    await aborted;
  });

  it('ends its session', async () => {
    const { url } = await serve();
    const { client, transport } = await connect(url);
    await transport.terminateSession();
    expect(transport.sessionId).toBeUndefined();
    await expect(client.listTools()).rejects.toThrow();
  });
});

describe.each([
  ['legacy', 'legacy', 'legacy'],
  ['auto', 'auto', 'modern'],
  ['pinned', { pin: '2026-07-28' }, 'modern'],
] as const)('SDK v2 by HTTP, %s', (_, mode, era) => {
  async function connect(url: URL) {
    const client = new ClientV2(
      { name: 'v2', version: '1' },
      { capabilities: CAPABILITIES, versionNegotiation: { mode } },
    );
    client.setRequestHandler('elicitation/create', async () => ANSWERS.elicit);
    client.setRequestHandler('sampling/createMessage', async () => ANSWERS.sample);
    client.setRequestHandler('roots/list', async () => ({ roots: [...ANSWERS.roots.roots] }));
    await client.connect(new TransportV2(url));
    cleanups.push(() => client.close());
    return client;
  }

  it('lists, calls, reads, fills in and completes', async () => {
    const { url } = await serve();
    const client = await connect(url);
    expect(client.getProtocolEra()).toBe(era);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
    const echoed = await client.callTool({ name: 'echo', arguments: { a: 1 } });
    expect(echoed.content).toEqual([{ type: 'text', text: '{"a":1}' }]);
    expect(await client.callTool({ name: 'fail' })).toMatchObject({ isError: true });
    await expect(client.callTool({ name: 'nobody' })).rejects.toMatchObject({ code: -32602 });
    expect((await client.readResource({ uri: 'test://a' })).contents).toMatchObject([
      { text: 'content of a' },
    ]);
    expect((await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })).messages).toHaveLength(1);
    const ref = { type: 'ref/prompt', name: 'greet' } as const;
    const { completion } = await client.complete({ ref, argument: { name: 'name', value: 'A' } });
    expect(completion.values).toEqual(['Ada', 'Alan']);
  });

  it('gets progress, is asked, hears of changes, and cancels', async () => {
    const { url, server, aborted } = await serve();
    const client = await connect(url);
    const progress: number[] = [];
    await client.callTool({ name: 'work' }, { onprogress: ({ progress: value }) => progress.push(value) });
    expect(progress).toEqual([1, 2, 3]);
    expect((await client.callTool({ name: 'ask' })).content).toMatchObject([
      { text: expect.stringContaining('"Ada"') },
    ]);
    const changed = new Promise<void>((resolve) =>
      client.setNotificationHandler('notifications/tools/list_changed', () => resolve()),
    );
    if (era === 'modern') await client.listen({ toolsListChanged: true });
    server.notifyToolsChanged();
    await changed;
    const abort = new AbortController();
    const hanging = client.callTool({ name: 'hang' }, { signal: abort.signal });
    setTimeout(() => abort.abort(), 50);
    await expect(hanging).rejects.toThrow();
    await aborted;
  });
});
