import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/jsonrpc/index.ts';
import { McpServer, REVISIONS, type Revision } from '../../../src/protocol/index.ts';
import { WireClient } from './wire-client.ts';

/** The specification's schemas; they lie beside the checkout and are not part of it. */
const SCHEMAS = fileURLToPath(new URL('../../../../shared/wire', import.meta.url));
const arePresent = existsSync(SCHEMAS);
if (!arePresent) console.log('Skipped: the official schemas are not beside this checkout');

const ALL = Object.keys(REVISIONS) as Revision[];
const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };

/** A server that says everything that any revision has words for. */
function fullServer(): McpServer {
  const icons = [{ src: 'data:,', mimeType: 'image/png', sizes: ['any'], theme: 'dark' as const }];
  const annotations = { audience: ['user' as const], priority: 0.5, lastModified: '2026-01-01T00:00:00Z' };
  const own = { _meta: { 'example.com/part': 1 } };
  const ofResult = { _meta: { 'example.com/result': 1 } };
  const named = { title: 'Title', description: 'Description', icons };
  const server = new McpServer({
    name: 'full',
    version: '1.0.0',
    websiteUrl: 'https://example.com',
    instructions: 'Instructions',
    capabilities: { extensions: { 'example.com/x': {} }, experimental: { y: {} } },
    pageSize: 2,
    ...named,
  });
  server.tool(
    {
      name: 'object',
      inputSchema: { type: 'object', properties: { a: { type: 'string' } } },
      outputSchema: { type: 'object', properties: { n: { type: 'number' } } },
      annotations: { title: 'T', readOnlyHint: true },
      ...named,
      ...own,
    },
    () => ({ structuredContent: { n: 1 }, ...ofResult }),
  );
  server.tool({ name: 'array', outputSchema: { type: 'array' } }, () => ({ structuredContent: [1] }));
  server.tool({ name: 'content' }, (_args, context) => {
    context.progress(1, 2, 'message');
    context.log('error', { a: 1 }, 'logger');
    return [
      { type: 'text', text: 'x', annotations, ...own },
      { type: 'image', data: 'AA==', mimeType: 'image/png', ...own },
      { type: 'audio', data: 'AA==', mimeType: 'audio/wav', annotations, ...own },
      { type: 'resource_link', uri: 'test:a', name: 'a', size: 1, annotations, ...named, ...own },
      { type: 'resource', resource: { uri: 'test:a', text: 'x', ...own }, annotations, ...own },
    ];
  });
  server.tool({ name: 'fails' }, () => {
    throw new Error('no');
  });
  server.tool({ name: 'asks' }, async (_args, context) => {
    const { model } = await context.sample({
      maxTokens: 1,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'x', ...own }], _meta: { 'example.com/sampled': 1 } },
      ],
    });
    const roots = await context.listRoots();
    const properties = { n: { type: 'integer' as const, default: 1 } };
    const requestedSchema = { type: 'object' as const, properties };
    const answer = await context.elicit({ mode: 'form', message: 'm', requestedSchema });
    return `${answer.action} ${model} ${roots.length}`;
  });
  server.resource(
    { uri: 'test:a', name: 'a', mimeType: 'text/plain', size: 1, annotations, ...named, ...own },
    (uri) => [
      { uri, text: 'x', mimeType: 'text/plain', ...own },
      { uri, blob: 'AA==', ...own },
    ],
  );
  server.resourceTemplate(
    { uriTemplate: 'test:t/{x}', name: 't', mimeType: 'text/plain', annotations, ...named, ...own },
    () => 'x',
  );
  server.prompt(
    { name: 'p', arguments: [{ name: 'a', title: 'A', description: 'd', required: true }], ...named, ...own },
    () => ({
      description: 'd',
      messages: [
        { role: 'user', content: { type: 'audio', data: 'AA==', mimeType: 'audio/wav', ...own } },
        { role: 'assistant', content: { type: 'resource_link', uri: 'test:a', name: 'a', ...named } },
      ],
      ...ofResult,
    }),
    { complete: { a: (value) => [`${value}x`] } },
  );
  return server;
}

const ANSWERS: { [method: string]: JsonObject } = {
  'elicitation/create': { action: 'accept', content: { n: 2 } },
  'sampling/createMessage': { role: 'assistant', content: { type: 'text', text: 'x' }, model: 'm' },
  'roots/list': { roots: [{ uri: 'file:///a' }] },
};

interface Heard {
  /** What each result answers, by method; the same method may come more than once. */
  results: [method: string, result: JsonObject][];
  messages: JsonObject[];
}

/** Has a conversation about everything and returns all that the server said. */
async function converse(revision: Revision): Promise<Heard> {
  const server = fullServer();
  const client = await WireClient.speak(server, revision, EVERYTHING);
  const { wire } = client;
  const results: Heard['results'] = [];
  if (client.opened?.result) results.push(['initialize', client.opened.result as JsonObject]);
  const ask = async (method: string, params?: JsonObject) => {
    const result = await client.result(method, params);
    results.push([method, result]);
    return result;
  };
  const isSession = REVISIONS[revision].dialect === 'session';
  if (isSession) {
    await ask('ping');
    await ask('logging/setLevel', { level: 'debug' });
    await ask('resources/subscribe', { uri: 'test:a' });
  } else {
    await ask('server/discover');
    const notifications = { toolsListChanged: true, resourceSubscriptions: ['test:a'] };
    wire.send({
      jsonrpc: '2.0',
      id: 'sub',
      method: 'subscriptions/listen',
      params: client.params({ notifications }),
    });
  }
  for (const [method, member] of LISTS) {
    let cursor: unknown;
    do {
      const page = await ask(method, cursor === undefined ? {} : { cursor });
      expect(page[member]).toBeInstanceOf(Array);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }
  const meta = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' };
  for (const name of ['object', 'array', 'content', 'fails']) await ask('tools/call', { name, _meta: meta });
  await ask('prompts/get', { name: 'p', arguments: { a: 'x' } });
  await ask('resources/read', { uri: 'test:a' });
  await ask('resources/read', { uri: 'test:t/1' });
  await ask('completion/complete', {
    ref: { type: 'ref/prompt', name: 'p' },
    argument: { name: 'a', value: 'v' },
  });
  await ask('completion/complete', {
    ref: { type: 'ref/resource', uri: 'test:t/{x}' },
    argument: { name: 'x', value: '' },
  });
  await client.error('tools/call', { name: 'none' });
  await client.error('no/such/method');
  server.tool({ name: 'another' }, () => 'x');
  server.notifyResourceUpdated('test:a');
  await wire.takeCalled('notifications/tools/list_changed');
  await wire.takeCalled('notifications/resources/updated');
  results.push(['tools/call', await (isSession ? askInSession(client) : askInRounds(client))]);
  if (!isSession) {
    const closing = server.close();
    const { result } = await wire.take(({ id }) => id === 'sub');
    results.push(['subscriptions/listen', result as JsonObject]);
    await closing;
  }
  return { results, messages: wire.received };
}

const LISTS = [
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
] as const;

async function askInSession({
  wire,
  revision,
}: Awaited<ReturnType<typeof WireClient.speak>>): Promise<JsonObject> {
  wire.send({ jsonrpc: '2.0', id: 'ask', method: 'tools/call', params: { name: 'asks' } });
  const forms = REVISIONS[revision].elicitationModes.length > 0 ? ['elicitation/create'] : [];
  for (const method of ['sampling/createMessage', 'roots/list', ...forms]) {
    const { id } = await wire.takeCalled(method);
    wire.send({ jsonrpc: '2.0', id, result: ANSWERS[method] });
  }
  const { result } = await wire.take(({ id }) => id === 'ask');
  return result as JsonObject;
}

async function askInRounds(client: Awaited<ReturnType<typeof WireClient.speak>>): Promise<JsonObject> {
  let params: JsonObject = { name: 'asks' };
  for (;;) {
    const result = await client.result('tools/call', params);
    if (result.resultType === 'complete') return result;
    const { inputRequests, requestState } = result as {
      inputRequests: { [name: string]: { method: string } };
      requestState?: string;
    };
    const answered = Object.entries(inputRequests).map(([name, { method }]) => [name, ANSWERS[method]]);
    params = {
      name: 'asks',
      inputResponses: Object.fromEntries(answered),
      ...(requestState && { requestState }),
    };
  }
}

describe.each(ALL)('what a server says in revision %s', (revision) => {
  it.skipIf(!arePresent)('is what the schema of that revision allows', async () => {
    const check = schemaOf(revision);
    const { results, messages } = await converse(revision);
    for (const [method, result] of results) check(RESULT_TYPES[method] ?? method, result);
    for (const message of messages) check(typeOf(revision, message), message);
    expect(results.length).toBeGreaterThan(15);
  });

  it('has nothing in it that came later', async () => {
    const { results, messages } = await converse(revision);
    const said = JSON.stringify([results, messages]);
    for (const [word, since] of LATER_WORDS) {
      expect(`${word}: ${said.includes(`"${word}"`)}`).toBe(`${word}: ${revision >= since}`);
    }
  });

  it('has the content of a tool whole, as text where the revision has no other form', async () => {
    const client = await WireClient.speak(fullServer(), revision);
    const { content } = await client.result('tools/call', { name: 'content' });
    const blocks = content as { type: string; text?: string }[];
    const kinds = blocks.map(({ type }) => type);
    const audio = revision === '2024-11-05' ? 'text' : 'audio';
    const link = revision < '2025-06-18' ? 'text' : 'resource_link';
    expect(kinds).toEqual(['text', 'image', audio, link, 'resource']);
    if (audio === 'text') expect(blocks[2]?.text).toContain('audio/wav');
    if (link === 'text') expect(blocks[3]?.text).toContain('test:a');
  });

  it('has structured content where and as the revision has it', async () => {
    const client = await WireClient.speak(fullServer(), revision);
    const first = await client.result('tools/list');
    const schemas = (first.tools as { outputSchema?: object }[]).map(
      ({ outputSchema }) => outputSchema !== undefined,
    );
    const object = await client.result('tools/call', { name: 'object' });
    const array = await client.result('tools/call', { name: 'array' });
    const has = [revision >= '2025-06-18', revision >= '2026-07-28'];
    expect(schemas).toEqual(has);
    expect([object, array].map((result) => 'structuredContent' in result)).toEqual(has);
    expect([object.content, array.content]).toMatchObject([[{ text: '{"n":1}' }], [{ text: '[1]' }]]);
  });
});

/** Words of the wire, and the revision that brought them. */
const LATER_WORDS: readonly [word: string, since: Revision][] = [
  ['example.com/result', '2024-11-05'],
  ['completions', '2025-03-26'],
  ['audio', '2025-03-26'],
  ['readOnlyHint', '2025-03-26'],
  ['Title', '2025-06-18'],
  ['example.com/part', '2025-06-18'],
  ['example.com/sampled', '2025-11-25'],
  ['title', '2025-03-26'],
  ['resource_link', '2025-06-18'],
  ['structuredContent', '2025-06-18'],
  ['outputSchema', '2025-06-18'],
  ['lastModified', '2025-06-18'],
  ['elicitation/create', '2025-06-18'],
  ['icons', '2025-11-25'],
  ['websiteUrl', '2025-11-25'],
  ['mode', '2025-11-25'],
  ['extensions', '2026-07-28'],
  ['resultType', '2026-07-28'],
  ['ttlMs', '2026-07-28'],
  ['cacheScope', '2026-07-28'],
];

const RESULT_TYPES: { [method: string]: string } = {
  initialize: 'InitializeResult',
  ping: 'EmptyResult',
  'logging/setLevel': 'EmptyResult',
  'resources/subscribe': 'EmptyResult',
  'server/discover': 'DiscoverResult',
  'subscriptions/listen': 'SubscriptionsListenResult',
  'tools/list': 'ListToolsResult',
  'prompts/list': 'ListPromptsResult',
  'resources/list': 'ListResourcesResult',
  'resources/templates/list': 'ListResourceTemplatesResult',
  'tools/call': 'CallToolResult',
  'prompts/get': 'GetPromptResult',
  'resources/read': 'ReadResourceResult',
  'completion/complete': 'CompleteResult',
};

/** The schema's name for a message. */
function typeOf(revision: Revision, message: JsonObject): string {
  if (message.method !== undefined) return message.id === undefined ? 'ServerNotification' : 'ServerRequest';
  const isNew = revision >= '2025-11-25';
  if (message.error) return isNew ? 'JSONRPCErrorResponse' : 'JSONRPCError';
  return isNew ? 'JSONRPCResultResponse' : 'JSONRPCResponse';
}

function schemaOf(revision: Revision): (type: string, value: unknown) => void {
  const document = JSON.parse(readFileSync(`${SCHEMAS}/${revision}/schema.json`, 'utf8'));
  const isNew = document.$defs !== undefined;
  const ajv = isNew ? new Ajv2020({ strict: false }) : new Ajv({ strict: false });
  formats.default(ajv);
  ajv.addFormat('byte', true);
  ajv.addSchema(document, 'mcp');
  return (type, value) => {
    const validate = ajv.getSchema(`mcp#/${isNew ? '$defs' : 'definitions'}/${type}`);
    if (!validate) throw new Error(`Revision ${revision} has no ${type}`);
    const errors = validate(value) ? [] : validate.errors;
    expect(errors, `${type} ${JSON.stringify(value)}`).toEqual([]);
  };
}
