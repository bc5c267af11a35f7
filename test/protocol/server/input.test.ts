import { describe, expect, it } from 'vitest';
import { type JsonObject, McpError } from '../../../src/jsonrpc/index.ts';
import {
  type ClientOptions,
  type ElicitFormParams,
  elicit,
  listRoots,
  McpClient,
  McpServer,
  type RequestContext,
  type ServerOptions,
  sample,
} from '../../../src/protocol/index.ts';
import { type SpeakingClient, WireClient } from './wire-client.ts';

const ANYTHING = { type: 'object' } as const;
const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const NAME_FORM: ElicitFormParams = {
  message: 'Who?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
const CAPITAL = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Capital?' } }],
  maxTokens: 10,
};
const PARIS = { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'm' };

type Handler = (args: JsonObject, context: RequestContext) => Promise<string>;

function serverWith(handler: Handler, options: Partial<ServerOptions> = {}): McpServer {
  const server = new McpServer({ name: 'test', version: '1', ...options });
  server.tool({ name: 'ask', inputSchema: ANYTHING }, handler);
  return server;
}

const ask = (client: SpeakingClient, params: JsonObject = {}) =>
  client.request('tools/call', { name: 'ask', ...params });

describe.each(['stateless', 'session'] as const)(
  'a handler that asks for input, in the %s dialect',
  (dialect) => {
    const connect = (server: McpServer, options: ClientOptions) =>
      McpClient.inProcess(server, { dialect, ...options });
    const textOf = async (client: McpClient) => {
      const { content, isError } = await client.callTool('ask');
      const [block] = content;
      return [block?.type === 'text' ? block.text : undefined, isError ?? false];
    };

    it('gets all answers of several rounds, in the order of its questions', async () => {
      const asked: string[] = [];
      const server = serverWith(async (_args, context) => {
        const first = await context.elicit({ ...NAME_FORM, message: 'First?' });
        const second = await context.elicit({ ...NAME_FORM, message: `Second, ${first.content?.name}?` });
        const third = await context.sample(CAPITAL);
        return JSON.stringify([first.content, second.action, third.content]);
      });
      const client = await connect(server, {
        onElicit: (params) => {
          asked.push(params.message);
          return asked.length === 1 ? { action: 'accept', content: { name: 'Ada' } } : { action: 'decline' };
        },
        onSample: () => ({ role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'm' }),
      });
      expect(await textOf(client)).toEqual([
        '[{"name":"Ada"},"decline",{"type":"text","text":"Paris"}]',
        false,
      ]);
      expect(asked).toEqual(['First?', 'Second, Ada?']);
      await client.close();
    });

    it('gets the answers to several questions at once by their names', async () => {
      const server = serverWith(async (_args, context) => {
        const { who, where, capital } = await context.inputs({
          who: elicit(NAME_FORM),
          where: listRoots(),
          capital: sample(CAPITAL),
        });
        return JSON.stringify([who.content?.name, where.roots, capital.model]);
      });
      const client = await connect(server, {
        onElicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
        onSample: () => ({ role: 'assistant', content: [], model: 'm' }),
        onListRoots: () => [{ uri: 'file:///a', name: 'a' }],
      });
      expect(await textOf(client)).toEqual(['["Ada",[{"uri":"file:///a","name":"a"}],"m"]', false]);
      await client.close();
    });

    it('may start questions first and wait for them later', async () => {
      const server = serverWith(async (_args, context) => {
        const first = context.elicit(NAME_FORM);
        const second = context.listRoots();
        await new Promise((resolve) => setImmediate(resolve));
        return JSON.stringify([(await first).action, await second]);
      });
      const client = await connect(server, {
        onElicit: () => ({ action: 'cancel' }),
        onListRoots: () => [],
      });
      expect(await textOf(client)).toEqual(['["cancel",[]]', false]);
      await client.close();
    });

    it('may ask before a prompt or a resource is there, and nowhere else', async () => {
      const server = new McpServer({ name: 'test', version: '1' });
      const name = async (context: RequestContext) => `${(await context.elicit(NAME_FORM)).content?.name}`;
      server.prompt({ name: 'p' }, (_args, context) => name(context), {
        complete: { x: async (_value, _args, context) => [await name(context)] },
      });
      server.resource({ uri: 'test:r', name: 'r' }, (_uri, context) => name(context));
      const client = await connect(server, {
        onElicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
      });
      expect((await client.getPrompt('p')).messages).toEqual([
        { role: 'user', content: { type: 'text', text: 'Ada' } },
      ]);
      expect((await client.readResource('test:r')).contents).toEqual([{ uri: 'test:r', text: 'Ada' }]);
      const completion = client.request('completion/complete', {
        ref: { type: 'ref/prompt', name: 'p' },
        argument: { name: 'x', value: '' },
      });
      await expect(completion).rejects.toMatchObject({ rpcCode: -32603 });
      await client.close();
    });

    it('fails when it gives two questions one name', async () => {
      const server = serverWith(async (_args, context) => {
        const asked = [context.elicit(NAME_FORM, { name: 'x' }), context.elicit(NAME_FORM, { name: 'x' })];
        return JSON.stringify((await Promise.allSettled(asked)).map(({ status }) => status));
      });
      const client = await connect(server, { onElicit: () => ({ action: 'cancel' }) });
      expect(await textOf(client)).toEqual(['["fulfilled","rejected"]', false]);
      await client.close();
    });
  },
);

describe('in the stateless dialect', () => {
  it('a question without an answer ends the round with the questions alone', async () => {
    const server = serverWith(
      async (_args, context) => (await context.elicit(NAME_FORM, { name: 'user_name' })).action,
    );
    const client = await WireClient.speak(server, '2026-07-28', EVERYTHING);
    expect(await ask(client)).toEqual({
      jsonrpc: '2.0',
      id: expect.any(Number),
      result: {
        resultType: 'input_required',
        inputRequests: { user_name: { method: 'elicitation/create', params: NAME_FORM } },
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'test', version: '1' } },
      },
    });
    const answered = { user_name: { action: 'accept', content: { name: 'Ada' } }, extra: 5 };
    expect(await ask(client, { inputResponses: answered })).toMatchObject({
      result: { resultType: 'complete', content: [{ text: 'accept' }] },
    });
  });

  it('a handler cannot swallow that it waits for input', async () => {
    const server = serverWith(async (_args, context) => {
      const name = await context.elicit(NAME_FORM).catch((error) => error);
      return `went on with ${name instanceof McpError ? name.code : name.action}`;
    });
    const client = await WireClient.speak(server, '2026-07-28', EVERYTHING);
    expect(await ask(client)).toMatchObject({ result: { resultType: 'input_required' } });
    expect(await ask(client, { inputResponses: { 'elicit-1': { action: 'cancel' } } })).toMatchObject({
      result: { content: [{ text: 'went on with cancel' }] },
    });
  });

  it('state and the answers of earlier rounds come back by requestState', async () => {
    const runs: unknown[] = [];
    const server = serverWith(async (_args, context) => {
      runs.push(context.state);
      context.state = { runs: runs.length };
      const { content } = await context.elicit(NAME_FORM);
      const { model } = await context.sample(CAPITAL);
      return `${content?.name} ${model}`;
    });
    const client = await WireClient.speak(server, '2026-07-28', EVERYTHING);
    const first = await client.result('tools/call', { name: 'ask' });
    expect(Object.keys(first.inputRequests as object)).toEqual(['elicit-1']);
    const second = await client.result('tools/call', {
      name: 'ask',
      requestState: first.requestState,
      inputResponses: { 'elicit-1': { action: 'accept', content: { name: 'Ada' } } },
    });
    expect(second).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
    expect(Object.keys(second.inputRequests as object)).toEqual(['sample-1']);
    expect(second.requestState).not.toBe(first.requestState);
    const third = await client.result('tools/call', {
      name: 'ask',
      requestState: second.requestState,
      inputResponses: { 'sample-1': PARIS },
    });
    expect(third).toMatchObject({ resultType: 'complete', content: [{ text: 'Ada m' }] });
    expect(runs).toEqual([undefined, { runs: 1 }, { runs: 2 }]);
  });

  it('missing answers are asked for again', async () => {
    const server = serverWith(async (_args, context) => {
      await context.inputs({ a: elicit(NAME_FORM), b: listRoots() });
      return 'done';
    });
    const client = await WireClient.speak(server, '2026-07-28', EVERYTHING);
    const { requestState, inputRequests } = await client.result('tools/call', {
      name: 'ask',
      inputResponses: { a: { action: 'decline' }, wrong: { roots: [] } },
    });
    expect(Object.keys(inputRequests as object)).toEqual(['b']);
    const done = await client.result('tools/call', {
      name: 'ask',
      requestState,
      inputResponses: { b: { roots: [] } },
    });
    expect(done).toMatchObject({ content: [{ text: 'done' }] });
  });

  it.each([
    ['a response that is no object', { a: 12345 }],
    ['an action that is none', { a: { action: 'maybe' } }],
    ['an accepted form without content', { a: { action: 'accept' } }],
    ['a form that is filled in wrongly', { a: { action: 'accept', content: { name: 5 } } }],
    ['a form that is not filled in', { a: { action: 'accept', content: {} } }],
    ['a sample without a model', { b: { role: 'assistant', content: { type: 'text', text: 'x' } } }],
    ['a sample without content', { b: { role: 'assistant', model: 'm' } }],
    ['a sample of no role', { b: { ...PARIS, role: 'system' } }],
    ['roots that are no list', { c: { roots: {} } }],
    ['a root without an address', { c: { roots: [{ name: 'x' }] } }],
  ])('%s is refused with -32602, whatever the handler makes of it', async (_, inputResponses) => {
    const questions = { a: elicit(NAME_FORM), b: sample(CAPITAL), c: listRoots() };
    const server = serverWith(async (_args, context) => {
      await context.inputs(questions).catch(() => {});
      return 'swallowed';
    });
    const client = await WireClient.speak(server, '2026-07-28', EVERYTHING);
    const good = { a: { action: 'cancel' }, b: PARIS, c: { roots: [] } };
    expect(await ask(client, { inputResponses: { ...good, ...inputResponses } })).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('input response') },
    });
    expect(await ask(client, { inputResponses: good })).toMatchObject({ result: { resultType: 'complete' } });
  });

  it.each([[null], [[]], ['x'], [1]])(
    'inputResponses of %j are refused with -32602',
    async (inputResponses) => {
      const server = serverWith(async () => 'not asked');
      const client = await WireClient.speak(server, '2026-07-28', EVERYTHING);
      expect(await ask(client, { inputResponses })).toMatchObject({ error: { code: -32602 } });
    },
  );

  it.each([
    ['elicitation', { elicitation: { form: {} } }, elicit(NAME_FORM), { sampling: {} }],
    ['elicitation by form', { elicitation: { form: {} } }, elicit(NAME_FORM), { elicitation: { url: {} } }],
    [
      'elicitation by address',
      { elicitation: { url: {} } },
      elicit({ mode: 'url', message: 'm', url: 'https://x' }),
      { elicitation: {} },
    ],
    ['sampling', { sampling: {} }, sample(CAPITAL), {}],
    ['sampling with tools', { sampling: { tools: {} } }, sample({ ...CAPITAL, tools: [] }), { sampling: {} }],
    ['roots', { roots: {} }, listRoots(), { sampling: {}, elicitation: {} }],
  ])(
    'a client that did not declare %s is told what is missing by -32021',
    async (_, required, question, declared) => {
      const server = serverWith(async (_args, context) => {
        await context.inputs({ question });
        return 'unreachable';
      });
      const client = await WireClient.speak(server, '2026-07-28', declared);
      expect(await ask(client)).toMatchObject({
        error: { code: -32021, data: { requiredCapabilities: required } },
      });
      expect((await ask(client)).error).toHaveProperty('data', { requiredCapabilities: required });
    },
  );

  it('all that several questions need is named at once, and a handler may do without', async () => {
    const server = serverWith(async (_args, context) => {
      const all = { a: elicit(NAME_FORM), b: sample(CAPITAL), c: listRoots() };
      return await context.inputs(all).then(
        () => 'answered',
        (error) => JSON.stringify(error.data),
      );
    });
    const client = await WireClient.speak(server, '2026-07-28', { roots: {} });
    expect(await ask(client)).toMatchObject({
      result: {
        resultType: 'complete',
        content: [{ text: '{"requiredCapabilities":{"elicitation":{"form":{}},"sampling":{}}}' }],
      },
    });
  });

  it('a bare elicitation capability means forms', async () => {
    const server = serverWith(async (_args, context) => (await context.elicit(NAME_FORM)).action);
    const client = await WireClient.speak(server, '2026-07-28', { elicitation: {} });
    expect(await ask(client)).toMatchObject({ result: { resultType: 'input_required' } });
  });

  it('what was read after input is not to be reused', async () => {
    const server = new McpServer({
      name: 'test',
      version: '1',
      cache: { ttlMs: 1000, cacheScope: 'public' },
    });
    server.resource(
      { uri: 'test:r', name: 'r' },
      async (_uri, context) => (await context.elicit(NAME_FORM)).action,
    );
    const client = await WireClient.speak(server, '2026-07-28', EVERYTHING);
    const first = await client.result('resources/read', { uri: 'test:r' });
    expect(first).toMatchObject({ resultType: 'input_required' });
    expect(first).not.toHaveProperty('ttlMs');
    const second = await client.result('resources/read', {
      uri: 'test:r',
      inputResponses: { 'elicit-1': { action: 'cancel' } },
    });
    expect(second).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
  });

  it('the id of an elicitation by address, of another revision, is not sent', async () => {
    const server = serverWith(async (_args, context) => {
      const params = { mode: 'url', message: 'Pay', url: 'https://pay.example', elicitationId: 'x' } as const;
      return (await context.elicit(params)).action;
    });
    const client = await WireClient.speak(server, '2026-07-28', EVERYTHING);
    const { inputRequests } = await client.result('tools/call', { name: 'ask' });
    expect(inputRequests).toEqual({
      'elicit-1': {
        method: 'elicitation/create',
        params: { mode: 'url', message: 'Pay', url: 'https://pay.example' },
      },
    });
  });
});

describe('in the session dialect', () => {
  it('a question is a request to the client, and the call goes on with its answer', async () => {
    const server = serverWith(async (_args, context) => (await context.elicit(NAME_FORM)).action);
    const { wire } = await WireClient.speak(server, '2025-11-25', EVERYTHING);
    wire.send({ jsonrpc: '2.0', id: 'call', method: 'tools/call', params: { name: 'ask' } });
    const question = await wire.take();
    expect(question).toEqual({
      jsonrpc: '2.0',
      id: expect.any(Number),
      method: 'elicitation/create',
      params: NAME_FORM,
    });
    wire.send({ jsonrpc: '2.0', id: question.id, result: { action: 'decline' } });
    expect(await wire.take()).toEqual({
      jsonrpc: '2.0',
      id: 'call',
      result: { content: [{ type: 'text', text: 'decline' }] },
    });
  });

  it('what the client did not declare, refuses or answers badly fails the tool, not the protocol', async () => {
    const server = serverWith(async (_args, context) => (await context.sample(CAPITAL)).model);
    const undeclared = await WireClient.speak(server, '2025-11-25', { elicitation: {} });
    expect(await ask(undeclared)).toMatchObject({
      result: {
        isError: true,
        content: [{ text: expect.stringContaining('did not declare {"sampling":{}}') }],
      },
    });
    const { wire } = await WireClient.speak(server, '2025-11-25', EVERYTHING);
    const answers = [
      { error: { code: -1, message: 'User says no' } },
      { result: { role: 'assistant' } },
      { result: 7 },
    ];
    for (const answer of answers) {
      wire.send({ jsonrpc: '2.0', id: 'call', method: 'tools/call', params: { name: 'ask' } });
      const { id } = await wire.takeCalled('sampling/createMessage');
      wire.send({ jsonrpc: '2.0', id, ...answer });
      expect(await wire.take()).toMatchObject({ id: 'call', result: { isError: true } });
    }
  });

  it('a cancelled call takes its open questions with it', async () => {
    const server = serverWith(async (_args, context) => {
      await context.inputs({ a: elicit(NAME_FORM), b: sample(CAPITAL) });
      return 'unreachable';
    });
    const { wire } = await WireClient.speak(server, '2025-11-25', EVERYTHING);
    wire.send({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'ask' } });
    const questions = [
      await wire.takeCalled('elicitation/create'),
      await wire.takeCalled('sampling/createMessage'),
    ];
    wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } });
    const cancelled = await wire.rest();
    expect(cancelled.map(({ method }) => method)).toEqual([
      'notifications/cancelled',
      'notifications/cancelled',
    ]);
    expect(cancelled.map(({ params }) => (params as JsonObject).requestId)).toEqual(
      questions.map(({ id }) => id),
    );
  });

  it('when one of several questions fails, the others are taken back', async () => {
    const server = serverWith(async (_args, context) => {
      await context.inputs({ a: elicit(NAME_FORM), b: sample(CAPITAL) });
      return 'unreachable';
    });
    const { wire } = await WireClient.speak(server, '2025-11-25', EVERYTHING);
    wire.send({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'ask' } });
    const form = await wire.takeCalled('elicitation/create');
    const { id } = await wire.takeCalled('sampling/createMessage');
    wire.send({ jsonrpc: '2.0', id, error: { code: 1, message: 'no' } });
    expect(await wire.takeCalled('notifications/cancelled')).toMatchObject({
      params: { requestId: form.id },
    });
    expect(await wire.take()).toMatchObject({ id: 9, result: { isError: true } });
  });

  it('a question that nobody answers in time fails the tool', async () => {
    const server = serverWith(async (_args, context) => (await context.elicit(NAME_FORM)).action, {
      inputTimeoutMs: 20,
    });
    const { wire } = await WireClient.speak(server, '2025-11-25', EVERYTHING);
    expect(await wire.request('tools/call', { name: 'ask' })).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining('20 ms') }] },
    });
  });

  it('an elicitation by address carries an id in 2025-11-25, and cannot be asked before', async () => {
    const url = { mode: 'url', message: 'Pay', url: 'https://pay.example' } as const;
    const server = serverWith(async (_args, context) => (await context.elicit(url)).action);
    const { wire } = await WireClient.speak(server, '2025-11-25', EVERYTHING);
    wire.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask' } });
    const { params } = await wire.takeCalled('elicitation/create');
    expect(params).toEqual({ ...url, elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    const older = await WireClient.speak(server, '2025-06-18', EVERYTHING);
    expect(await ask(older)).toMatchObject({ result: { isError: true } });
  });

  it('forms and samples are put in the words of an older revision, or not asked', async () => {
    const server = new McpServer({ name: 'test', version: '1' });
    const tool = (name: string, handler: Handler) => server.tool({ name, inputSchema: ANYTHING }, handler);
    tool('form', async (_args, context) => {
      const requestedSchema: ElicitFormParams['requestedSchema'] = {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: {
          plain: { type: 'string', default: 'x', title: 't' },
          flag: { type: 'boolean', default: true },
          titled: { type: 'string', oneOf: [{ const: 'a', title: 'A' }, { const: 'b' }] },
        },
        required: ['plain'],
      };
      return (await context.elicit({ mode: 'form', message: 'm', requestedSchema })).action;
    });
    tool('several', async (_args, context) => {
      const properties = { many: { type: 'array' } } as const;
      return (await context.elicit({ message: 'm', requestedSchema: { type: 'object', properties } })).action;
    });
    tool('sample', async (_args, context) => {
      const text = { type: 'text', text: 'x', _meta: {} } as const;
      return (
        await context.sample({ maxTokens: 1, messages: [{ role: 'user', content: [text], _meta: {} }] })
      ).model;
    });
    tool('two', async (_args, context) => {
      const text = { type: 'text', text: 'x' } as const;
      return (await context.sample({ maxTokens: 1, messages: [{ role: 'user', content: [text, text] }] }))
        .model;
    });
    tool('tools', async (_args, context) => (await context.sample({ ...CAPITAL, tools: [] })).model);

    const june = await WireClient.speak(server, '2025-06-18', EVERYTHING);
    june.wire.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'form' } });
    expect(await june.wire.takeCalled('elicitation/create')).toMatchObject({ method: 'elicitation/create' });
    expect(june.wire.received.at(-1)?.params).toEqual({
      message: 'm',
      requestedSchema: {
        type: 'object',
        properties: {
          plain: { type: 'string', title: 't' },
          flag: { type: 'boolean', default: true },
          titled: { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'b'] },
        },
        required: ['plain'],
      },
    });
    const first = await WireClient.speak(server, '2024-11-05', EVERYTHING);
    first.wire.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'sample' } });
    expect((await first.wire.takeCalled('sampling/createMessage')).params).toEqual({
      maxTokens: 1,
      messages: [{ role: 'user', content: { type: 'text', text: 'x' } }],
    });
    for (const name of ['several', 'two', 'tools']) {
      expect(await june.result('tools/call', { name })).toMatchObject({ isError: true });
    }
    expect(await first.result('tools/call', { name: 'form' })).toMatchObject({ isError: true });
  });
});
