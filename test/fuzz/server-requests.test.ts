import fc from 'fast-check';
import { expect } from 'vitest';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { McpServer, SESSION_REVISIONS } from '../../src/protocol/index.ts';
import { statelessMeta, WireClient } from '../protocol/server/wire-client.ts';
import { fuzz } from './property.ts';

const METHODS = [
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'server/discover',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
  'no/such/method',
];

const anything = fc.jsonValue({ maxDepth: 2 });
/** A member that is right, wrong or missing. */
const member = (...right: unknown[]) =>
  fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...right) }, { weight: 1, arbitrary: anything });

const params = fc.record(
  {
    name: member('echo', 'checked', 'ask', 'prompt'),
    uri: member('test:a', 'test:t/1', 'test:t/%'),
    arguments: member({}, { text: 'x' }, { text: 5 }),
    cursor: member('WyJ0b29scy9saXN0IiwiZWNobyJd'),
    level: member('debug', 'emergency'),
    protocolVersion: member(...SESSION_REVISIONS, '2026-07-28'),
    capabilities: member({}, { elicitation: {}, roots: {} }),
    ref: member({ type: 'ref/prompt', name: 'prompt' }, { type: 'ref/resource', uri: 'test:t/{x}' }),
    argument: member({ name: 'x', value: '' }),
    context: member({ arguments: { y: 'z' } }),
    inputResponses: member({}, { 'elicit-1': { action: 'accept', content: {} } }, { 'elicit-1': 5 }),
    requestState: member('a.b'),
  },
  { requiredKeys: [] },
);

const meta = fc.oneof(
  fc.constant(undefined),
  fc.constant(statelessMeta({ elicitation: {} })),
  fc.constant(statelessMeta()),
  fc.record(
    {
      'io.modelcontextprotocol/protocolVersion': member('2026-07-28', '2025-11-25'),
      'io.modelcontextprotocol/clientCapabilities': member({}, { elicitation: { form: {} } }),
      'io.modelcontextprotocol/clientInfo': member({ name: 'x', version: '1' }),
      'io.modelcontextprotocol/logLevel': member('info'),
      progressToken: member('p', 0),
    },
    { requiredKeys: [] },
  ),
);

const message = fc.record({
  method: fc.constantFrom(...METHODS),
  params,
  meta,
  isNotification: fc.boolean(),
});

/** Whatever well-formed messages say: each request is answered once, no notification is, and nothing fails inside. */
fuzz({
  name: 'server-requests',
  inputs: fc.array(message, { maxLength: 8 }),
  async holds(messages) {
    const failures: unknown[] = [];
    const client = await WireClient.connect(talkativeServer(failures));
    const ids = messages.flatMap(({ isNotification }, index) => (isNotification ? [] : [`id-${index}`]));
    for (const [index, { method, params: given, meta: own, isNotification }] of messages.entries()) {
      const whole = own === undefined ? given : { ...given, _meta: own };
      client.send({ jsonrpc: '2.0', ...(!isNotification && { id: `id-${index}` }), method, params: whole });
    }
    const answers: JsonObject[] = [];
    while (answers.length < ids.length) answers.push(await client.take((each) => !('method' in each)));
    expect(answers.map(({ id }) => id).sort()).toEqual([...ids].sort());
    for (const { result, error } of answers) {
      expect([typeof result, typeof error].sort()).toEqual(['object', 'undefined']);
      expect((error as JsonObject | undefined)?.code).not.toBe(-32603);
    }
    expect(failures).toEqual([]);
    const { result } = await client.request('tools/call', {
      name: 'echo',
      arguments: { text: 'good' },
      _meta: statelessMeta(),
    });
    expect(result).toMatchObject({ content: [{ text: '{"text":"good"}' }] });
    await client.close();
  },
});

function talkativeServer(failures: unknown[]): McpServer {
  const server = new McpServer({
    name: 'fuzzed',
    version: '1',
    onError: (error) => failures.push(error),
    pageSize: 1,
  });
  server.tool({ name: 'echo', inputSchema: { type: 'object' } }, (args, context) => {
    context.progress(1);
    context.log('info', args);
    return JSON.stringify(args);
  });
  const text = { type: 'string' } as const;
  server.tool(
    { name: 'checked', inputSchema: { type: 'object', properties: { text } } },
    (args) => args.text,
  );
  server.tool({ name: 'ask' }, async (_args, context) => {
    // In a session nobody would answer, so the handler asks only where it can be told so at once.
    if (context.protocolVersion !== '2026-07-28') return 'not asked';
    const requestedSchema = { type: 'object' as const, properties: {} };
    return (await context.elicit({ message: '?', requestedSchema })).action;
  });
  server.prompt({ name: 'prompt', arguments: [{ name: 'text' }] }, ({ text: given }) => `${given}`, {
    complete: { x: (value) => [value] },
  });
  server.resource({ uri: 'test:a', name: 'a' }, () => 'a');
  server.resourceTemplate({ uriTemplate: 'test:t/{x}', name: 't' }, (_uri, { x }) => `${x}`, {
    complete: { x: (value, args) => [value, `${args.y}`] },
  });
  return server;
}
