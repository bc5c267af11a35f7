import { describe, expect, it } from 'vitest';
import { INVALID_PARAMS, RpcError } from '../../../src/jsonrpc/index.ts';
import {
  type ClientOptions,
  McpClient,
  McpServer,
  type RequestContext,
} from '../../../src/protocol/index.ts';

const DIALECTS = ['stateless', 'session'] as const;

function server(): McpServer {
  return new McpServer({ name: 'test', version: '1.2.3', instructions: 'Say something' });
}

const NO_ARGUMENTS = { type: 'object' } as const;

describe.each(DIALECTS)('a server in the %s dialect', (dialect) => {
  const connect = (to: McpServer, options: ClientOptions = {}) =>
    McpClient.inProcess(to, { dialect, ...options });

  it('introduces itself, lists its tools and calls them', async () => {
    const echo = server();
    echo.tool({ name: 'echo', inputSchema: NO_ARGUMENTS }, (args) => JSON.stringify(args));
    const client = await connect(echo);
    expect(client.dialect).toBe(dialect);
    expect(client.serverInfo).toEqual({ name: 'test', version: '1.2.3' });
    expect(client.instructions).toBe('Say something');
    expect(await client.listTools()).toEqual([{ name: 'echo', inputSchema: NO_ARGUMENTS }]);
    const result = await client.callTool('echo', { a: 1 });
    expect(result.content).toEqual([{ type: 'text', text: '{"a":1}' }]);
    await client.close();
  });

  it('refuses a tool that it does not have', async () => {
    const empty = server();
    empty.tool({ name: 'some', inputSchema: NO_ARGUMENTS }, () => 'x');
    const client = await connect(empty);
    await expect(client.callTool('other')).rejects.toMatchObject({ rpcCode: INVALID_PARAMS });
    await client.close();
  });

  it('tells of a tool that threw in its result, and lets an RpcError travel', async () => {
    const failing = server();
    failing.tool({ name: 'throws', inputSchema: NO_ARGUMENTS }, () => {
      throw new Error('no luck');
    });
    failing.tool({ name: 'refuses', inputSchema: NO_ARGUMENTS }, async () => {
      throw new RpcError(4711, 'not you', { why: 1 });
    });
    const client = await connect(failing);
    const result = await client.callTool('throws');
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'no luck' }] });
    await expect(client.callTool('refuses')).rejects.toMatchObject({ rpcCode: 4711, data: { why: 1 } });
    await client.close();
  });

  it('asks the client for input in the course of a call', async () => {
    const asking = server();
    asking.tool({ name: 'greet', inputSchema: NO_ARGUMENTS }, async (_args, context: RequestContext) => {
      const answer = await context.elicit({
        message: 'Who?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      });
      const { content } = await context.sample({ messages: [], maxTokens: 9 });
      const roots = await context.listRoots();
      return [{ type: 'text', text: JSON.stringify([answer.content, content, roots]) }];
    });
    const client = await connect(asking, {
      onElicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
      onSample: () => ({ role: 'assistant', content: { type: 'text', text: 'Hi' }, model: 'm' }),
      onListRoots: () => [{ uri: 'file:///x' }],
    });
    const result = await client.callTool('greet');
    expect(result.content).toEqual([
      { type: 'text', text: '[{"name":"Ada"},{"type":"text","text":"Hi"},[{"uri":"file:///x"}]]' },
    ]);
    await client.close();
  });

  it('serves tools that are kept elsewhere', async () => {
    const live = server();
    const names = ['one'];
    live.toolSource({
      list: () => names.map((name) => ({ name, inputSchema: NO_ARGUMENTS })),
      call: async (name, args) => `${name} ${JSON.stringify(args)}`,
    });
    const client = await connect(live);
    names.push('two');
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['one', 'two']);
    expect((await client.callTool('two')).content).toEqual([{ type: 'text', text: 'two undefined' }]);
    await client.close();
  });
});

describe('a server', () => {
  it.each([undefined, null, 7, {}])('refuses to register what is served by no function: %j', (handler) => {
    const none = server();
    // Sound: it is the point of this test to pass what the types do not allow.
    const given = handler as () => never;
    const type = typeof handler === 'object' && handler ? 'an object' : String(handler);
    const refusal = (what: string) =>
      new TypeError(`Cannot register ${what}: its handler must be a function, not ${type}`);
    expect(() => none.tool({ name: 't' }, given)).toThrow(refusal('tool "t"'));
    expect(() => none.prompt({ name: 'p' }, given)).toThrow(refusal('prompt "p"'));
    expect(() => none.resource({ uri: 'a:b', name: 'r' }, given)).toThrow(refusal('resource "a:b"'));
    expect(() => none.resourceTemplate({ uriTemplate: 'a:{b}', name: 'r' }, given)).toThrow(
      refusal('resource template "a:{b}"'),
    );
    expect(() => none.tool({ name: 't' }, () => 'free')).not.toThrow();
  });
});
