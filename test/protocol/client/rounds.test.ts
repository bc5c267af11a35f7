import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonRpcRequest } from '../../../src/jsonrpc/index.ts';
import { type ClientOptions, McpClient } from '../../../src/protocol/index.ts';
import { SESSION, STATELESS, WireServer } from '../wire-server.ts';

const FORM = {
  method: 'elicitation/create',
  params: {
    message: 'Who are you?',
    requestedSchema: {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer', default: 30 } },
    },
  },
};
const ROOTS = { method: 'roots/list' };

/** Asks as often as there are rounds, then answers. */
function asking(...rounds: JsonObject[]) {
  const left = [...rounds];
  return {
    ...STATELESS,
    'tools/call': () => left.shift() ?? { resultType: 'complete', content: [{ type: 'text', text: 'done' }] },
  };
}

const round = (more: JsonObject): JsonObject => ({ resultType: 'input_required', ...more });

async function call(script: ReturnType<typeof asking>, options: ClientOptions) {
  const server = new WireServer(script);
  const client = await McpClient.inProcess(server, options);
  const result = client.callTool('ask', { a: 1 });
  const calls = () =>
    server.received.filter(({ method }) => method === 'tools/call') as unknown as JsonRpcRequest[];
  return { client, server, result, calls };
}

describe('multi round-trip requests', () => {
  it('answers everything a round asks, echoes its state, and retries under a new id with the same params', async () => {
    const { result, calls } = await call(
      asking(round({ inputRequests: { who: FORM, where: ROOTS }, requestState: 'st=1' })),
      {
        onElicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
        onListRoots: () => [{ uri: 'file:///a' }],
      },
    );
    expect((await result).content).toEqual([{ type: 'text', text: 'done' }]);
    const [first, second] = calls();
    expect(second?.id).not.toBe(first?.id);
    expect(first?.params).not.toHaveProperty('requestState');
    expect(second?.params).toMatchObject({
      name: 'ask',
      arguments: { a: 1 },
      requestState: 'st=1',
      inputResponses: {
        who: { action: 'accept', content: { name: 'Ada', age: 30 } },
        where: { roots: [{ uri: 'file:///a' }] },
      },
    });
  });

  it('sends no state where the server sent none, and none of an earlier round', async () => {
    const { result, calls } = await call(
      asking(
        round({ inputRequests: { who: FORM }, requestState: 'one' }),
        round({ inputRequests: { who: FORM } }),
      ),
      { onElicit: () => ({ action: 'decline' }) },
    );
    await result;
    expect(calls()[1]?.params?.requestState).toBe('one');
    expect(calls()[2]?.params).not.toHaveProperty('requestState');
    expect(calls()[2]?.params?.inputResponses).toEqual({ who: { action: 'decline' } });
  });

  it('retries at once when a round carries state and asks nothing', async () => {
    const { result, calls } = await call(asking(round({ requestState: 'later' })), {});
    await result;
    expect(calls()[1]?.params).toMatchObject({ requestState: 'later' });
    expect(calls()[1]?.params).not.toHaveProperty('inputResponses');
  });

  it('fails at once, naming what was asked, when no handler can answer', async () => {
    const { result, calls } = await call(asking(round({ inputRequests: { who: FORM } })), {
      onListRoots: () => [],
    });
    await expect(result).rejects.toMatchObject({
      code: 'INPUT_REQUIRED',
      message: expect.stringContaining('elicitation/create'),
    });
    expect(calls()).toHaveLength(1);
  });

  it('gives up after maxRounds', async () => {
    const endless = Array.from({ length: 9 }, () => round({ requestState: 'again' }));
    const { result, calls } = await call(asking(...endless), { maxRounds: 3 });
    await expect(result).rejects.toMatchObject({ code: 'ROUNDS_EXCEEDED' });
    expect(calls()).toHaveLength(4);
  });

  it('returns the first round as it is when asked to', async () => {
    const server = new WireServer(asking(round({ inputRequests: { who: FORM } })));
    const client = await McpClient.inProcess(server);
    const result = await client.request('tools/call', { name: 'ask' }, { once: true });
    expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { who: FORM } });
  });

  it('returns a first result of an unknown type as it is where that was asked for', async () => {
    const client = await McpClient.inProcess(new WireServer(asking({ resultType: 'task', taskId: 't' })));
    const result = await client.callTool('ask', {}, { once: true });
    expect(result).toEqual({ resultType: 'task', taskId: 't', content: [] });
  });

  it('rejects a result type that it does not know, and a round without anything', async () => {
    const unknown = await call(asking({ resultType: 'task', taskId: '1' }), {});
    await expect(unknown.result).rejects.toMatchObject({
      code: 'INVALID_RESULT',
      message: expect.stringContaining('"task"'),
    });
    const empty = await call(asking(round({})), {});
    await expect(empty.result).rejects.toMatchObject({ code: 'INVALID_RESULT' });
  });

  it('does not wait for a handler after the caller gave up', async () => {
    const server = new WireServer(asking(round({ inputRequests: { who: FORM } })));
    const abort = new AbortController();
    const client = await McpClient.inProcess(server, {
      onElicit: () => {
        abort.abort();
        return new Promise(() => {});
      },
    });
    await expect(client.callTool('ask', undefined, { signal: abort.signal })).rejects.toMatchObject({
      code: 'ABORTED',
    });
  });

  it('names the handler that threw', async () => {
    const { result } = await call(asking(round({ inputRequests: { who: FORM } })), {
      onElicit: () => {
        throw new Error('no terminal');
      },
    });
    await expect(result).rejects.toMatchObject({
      code: 'HANDLER_FAILED',
      message: 'The handler of "elicitation/create" threw: no terminal',
    });
  });
});

/** A server that answers each tool call with the next of these results. */
function serverOf(...results: JsonObject[]) {
  let next = 0;
  return new WireServer({ ...STATELESS, 'tools/call': () => results[Math.min(next++, results.length - 1)] });
}

const calls = (server: WireServer) =>
  server.received.filter(({ method }) => method === 'tools/call') as unknown as Required<JsonRpcRequest>[];

describe('input that a stateless server asks for', () => {
  it('may have any key, and is asked for in parallel', async () => {
    const inputRequests = JSON.parse(`{"__proto__": ${JSON.stringify(FORM)}, "b": ${JSON.stringify(FORM)}}`);
    const server = serverOf({ resultType: 'input_required', inputRequests }, { content: [] });
    let running = 0;
    let most = 0;
    const client = await McpClient.inProcess(server, {
      onElicit: async () => {
        most = Math.max(most, ++running);
        await Promise.resolve();
        running--;
        return { action: 'decline' };
      },
    });
    await client.callTool('t');
    expect(JSON.stringify(calls(server)[1]?.params.inputResponses)).toBe(
      '{"__proto__":{"action":"decline"},"b":{"action":"decline"}}',
    );
    expect(most).toBe(2);
  });

  it('may be nothing: then the state alone is sent back, exactly where and as it came', async () => {
    const server = serverOf(
      { resultType: 'input_required', requestState: '' },
      { resultType: 'input_required', inputRequests: { r: ROOTS } },
      { resultType: 'input_required', inputRequests: {}, requestState: '{"a": 1}' },
      { content: [] },
    );
    const client = await McpClient.inProcess(server, { onListRoots: () => [] });
    await client.callTool('t', { a: 1 });
    const { _meta, ...original } = calls(server)[0]?.params ?? {};
    const retries = calls(server).slice(1);
    expect(retries.map(({ params: { _meta: _, ...params } }) => params)).toEqual([
      { ...original, requestState: '' },
      { ...original, inputResponses: { r: { roots: [] } } },
      { ...original, inputResponses: {}, requestState: '{"a": 1}' },
    ]);
  });

  it('rides on the retry of that request alone', async () => {
    const server = new WireServer(STATELESS);
    const client = await McpClient.inProcess(server);
    const slow = client.callTool('slow');
    const { id } = await server.next();
    server.result(id, { resultType: 'input_required', requestState: 's' });
    const retry = await server.next();
    expect(retry).toMatchObject({ params: { name: 'slow', requestState: 's' } });
    const other = client.callTool('other');
    const request = await server.next();
    expect(request.params).not.toHaveProperty('requestState');
    server.result(request.id, { content: [] });
    server.result(retry.id, { content: [] });
    await Promise.all([slow, other]);
  });

  it('asks no handler when another question cannot be answered', async () => {
    const server = serverOf({ resultType: 'input_required', inputRequests: { a: ROOTS, b: FORM } });
    let asked = 0;
    const client = await McpClient.inProcess(server, {
      onListRoots: () => {
        asked++;
        return [];
      },
    });
    await expect(client.callTool('t')).rejects.toMatchObject({ code: 'INPUT_REQUIRED' });
    expect(asked).toBe(0);
  });

  it.each([
    ['nothing', { resultType: 'input_required' }],
    ['requests that are no object', { resultType: 'input_required', inputRequests: ['x'] }],
    ['a state that is no string', { resultType: 'input_required', requestState: 7 }],
  ])('ends the call when it names %s', async (_, result) => {
    const client = await McpClient.inProcess(serverOf(result));
    await expect(client.callTool('t')).rejects.toMatchObject({ code: 'INVALID_RESULT' });
  });

  it('is not waited for when the client is closed', async () => {
    const server = serverOf(round({ inputRequests: { who: FORM } }));
    let ask = () => {};
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    let handlerSignal: AbortSignal | undefined;
    const client = await McpClient.inProcess(server, {
      onElicit: (_, { signal }) => {
        handlerSignal = signal;
        ask();
        return new Promise(() => {});
      },
    });
    const call = client.callTool('t');
    call.catch(() => {});
    await asked;
    await client.close();
    await expect(call).rejects.toMatchObject({ code: 'CLOSED' });
    expect(handlerSignal?.aborted).toBe(true);
  });
});

describe('requests of a server in the session dialect', () => {
  it('answers them with the same handlers, defaults filled in', async () => {
    const server = new WireServer(SESSION);
    const client = await McpClient.inProcess(server, {
      onElicit: () => ({ action: 'accept', content: {} }),
      roots: [{ uri: 'file:///r' }],
    });
    server.send({ jsonrpc: '2.0', id: 'e', ...FORM });
    expect(await server.next()).toEqual({
      jsonrpc: '2.0',
      id: 'e',
      result: { action: 'accept', content: { age: 30 } },
    });
    server.send({ jsonrpc: '2.0', id: 'r', ...ROOTS });
    expect(await server.next()).toEqual({
      jsonrpc: '2.0',
      id: 'r',
      result: { roots: [{ uri: 'file:///r' }] },
    });
    await client.setRoots([{ uri: 'file:///s' }]);
    expect(await server.next()).toEqual({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    server.send({ jsonrpc: '2.0', id: 0, ...ROOTS });
    expect(await server.next()).toMatchObject({ id: 0, result: { roots: [{ uri: 'file:///s' }] } });
    expect(server.received.find(({ method }) => method === 'initialize')?.params).toMatchObject({
      capabilities: { elicitation: { form: {} }, roots: {} },
    });
  });

  it('aborts the handler of a request that the server cancels, and answers it not at all', async () => {
    const server = new WireServer(SESSION);
    const aborted = new Promise<void>((resolve) => {
      void McpClient.inProcess(server, {
        onSample: (_params, { signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              resolve();
              reject(signal.reason);
            });
          }),
      }).then(() => {
        server.send({
          jsonrpc: '2.0',
          id: 5,
          method: 'sampling/createMessage',
          params: { messages: [], maxTokens: 1 },
        });
        server.notify('notifications/cancelled', { requestId: 5 });
      });
    });
    await aborted;
    server.send({ jsonrpc: '2.0', id: 6, method: 'ping' });
    expect(await server.next()).toEqual({ jsonrpc: '2.0', id: 6, result: {} });
  });

  it('refuses what it has no handler for', async () => {
    const server = new WireServer(SESSION);
    await McpClient.inProcess(server);
    server.send({ jsonrpc: '2.0', id: 1, ...FORM });
    expect(await server.next()).toMatchObject({ id: 1, error: { code: -32601 } });
  });
});

describe('the deadline of a call that asks for input', () => {
  const never = { onElicit: () => new Promise<never>(() => {}) };

  it.each([{ timeoutMs: 30 }, { timeoutMs: 10_000, maxTimeoutMs: 30 }])(
    'holds while nobody answers: %j',
    async (deadline) => {
      const server = new WireServer(asking(round({ inputRequests: { who: FORM } })));
      let aborted = false;
      const client = await McpClient.inProcess(server, {
        onElicit: (_params, { signal }) => {
          signal.addEventListener('abort', () => {
            aborted = true;
          });
          return new Promise(() => {});
        },
      });
      await expect(client.callTool('ask', {}, deadline)).rejects.toMatchObject({ code: 'TIMEOUT' });
      expect(aborted).toBe(true);
    },
  );

  it('gives way to the caller who gives up, and to close', async () => {
    const aborting = await call(asking(round({ inputRequests: { who: FORM } })), never);
    const closing = expect(aborting.result).rejects.toMatchObject({ code: 'CLOSED' });
    await new Promise(setImmediate);
    await aborting.client.close();
    await closing;
  });
});
