import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  applyPlugins,
  McpPlugin,
  PluginError,
  type PluginOptions,
  type StreamBlock,
} from '../../src/bridge/index.ts';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { McpServer, serveHttp, serveWebSocket } from '../../src/protocol/index.ts';
import { processesIn } from '../left-behind.ts';
import { ScriptedServer } from '../transport/http/scripted-server.ts';

const TOOLS = fileURLToPath(new URL('servers/tools.mjs', import.meta.url));

let folder: string;
const open: { close(): Promise<unknown> }[] = [];
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'mcpwire-plugin-')));
});
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
  expect(processesIn(folder)).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
});

const journal = () => join(folder, 'journal');
const spec = () => ({ command: process.execPath, args: [TOOLS, journal()], cwd: folder });

async function connect(options: PluginOptions = {}): Promise<McpPlugin> {
  const plugin = await McpPlugin.connectStdio(spec(), options);
  open.push(plugin);
  return plugin;
}

type Script = { [method: string]: (params: JsonObject) => JsonObject };

const DISCOVERY = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
const LIST = {
  resultType: 'complete',
  tools: ['t', 'u'].map((name) => ({ name, inputSchema: { type: 'object' } })),
};

/** A server in the hands of the test, by HTTP. A method that throws is answered with that as a JSON-RPC error. */
async function script(methods: Script): Promise<ScriptedServer> {
  const all: Script = { 'server/discover': () => DISCOVERY, 'tools/list': () => LIST, ...methods };
  return ScriptedServer.start(({ message }, response) => {
    const { id, method = '', params = {} } = message;
    const answer = all[method];
    let body: object;
    try {
      if (!answer) throw { code: -32601, message: `Method not found: ${method}` };
      body = { result: answer(params as JsonObject) };
    } catch (error) {
      body = { error };
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
  });
}

async function connectScripted(methods: Script, options: PluginOptions = {}) {
  const server = await script(methods);
  const plugin = await McpPlugin.connect({ type: 'streamableHttp', url: server.url }, options);
  open.push(plugin);
  return { server, plugin };
}

const toolCall = (name: string, args: unknown = {}, id = 'call-1'): StreamBlock => ({
  type: 'toolCall',
  id,
  name,
  arguments: args,
});

const result = (output: unknown, toolCallId = 'call-1') => ({ type: 'toolResult', toolCallId, output });

describe('McpPlugin.connect', () => {
  it('P01 connects to a process, and is called mcp-connector', async () => {
    const plugin = await McpPlugin.connect({ type: 'stdio', ...spec() });
    open.push(plugin);
    expect(plugin.name).toBe('mcp-connector');
    expect(await plugin.callTool('add', { a: 2, b: 3 })).toBe('5');
    await plugin.close();
    await plugin.close();
    expect(processesIn(folder)).toEqual([]);
  });

  it('P01 connects by HTTP', async () => {
    const server = new McpServer({ name: 'http', version: '1' });
    server.tool({ name: 'echo' }, () => 'echoed');
    const listening = await serveHttp(server);
    open.push(listening);
    const plugin = await McpPlugin.connect({ type: 'streamableHttp', url: listening.url });
    open.push(plugin);
    expect(await plugin.callTool('echo', null)).toBe('echoed');
  });

  it('P01 starts a program by its name alone', async () => {
    // A program that is there and no server: it is started, and then found to be none.
    await expect(McpPlugin.connectStdio('true')).rejects.toMatchObject({ kind: 'internal' });
  });

  it('P01 refuses a target of a kind that it does not know', async () => {
    const target = { type: 'pigeon' } as unknown as { type: 'stdio'; command: string };
    await expect(McpPlugin.connect(target)).rejects.toThrow(
      new TypeError('type must be "stdio", "streamableHttp" or "webSocket", not "pigeon"'),
    );
  });

  it.each(['connectTimeoutMs', 'callTimeoutMs', 'maxCallTimeoutMs'])('refuses %s: 0', async (name) => {
    await expect(McpPlugin.connectStdio(spec(), { [name]: 0 })).rejects.toThrow(
      new TypeError(`${name} must be a positive number of milliseconds, not 0`),
    );
  });

  it.each<[object, string | RegExp]>([
    [{ worker: 'yes' }, 'worker must be true or false, not "yes"'],
    [{ signal: {} }, 'signal must be an AbortSignal, not an object'],
    [{ onWarning: 5 }, 'onWarning must be a function, not 5'],
    [{ clientInfo: 'me' }, /^clientInfo must be an object with a name and a version, .*, not a string$/],
    [{ timeoutMs: 'a' }, /^options must be of worker, .*callTimeoutMs, .*, not timeoutMs$/],
  ])('refuses the options %j', async (options, why) => {
    const refusal = await McpPlugin.connectStdio(spec(), options).catch((error) => error);
    expect(refusal).toBeInstanceOf(TypeError);
    expect(refusal.message).toEqual(typeof why === 'string' ? why : expect.stringMatching(why));
  });

  it('refuses no target', async () => {
    await expect(
      McpPlugin.connect(undefined as unknown as { type: 'stdio'; command: string }),
    ).rejects.toThrow(new TypeError('target must be an object with a type, not undefined'));
  });

  it('P03 refuses a dialect that it does not know', async () => {
    // Sound: it is the point of this test to pass what the type does not allow.
    const options = { dialect: 'session' } as unknown as PluginOptions;
    await expect(McpPlugin.connectStdio(spec(), options)).rejects.toThrow(
      new TypeError('dialect must be "stateless" or "auto", not "session"'),
    );
  });

  it('P02 refuses a WebSocket, and says what would allow it', async () => {
    const connecting = McpPlugin.connect({ type: 'webSocket', url: 'ws://127.0.0.1:9/' });
    await expect(connecting).rejects.toBeInstanceOf(PluginError);
    await expect(connecting).rejects.toMatchObject({
      code: 'PLUGIN_FAILED',
      kind: 'not-supported',
      message: expect.stringContaining('allowCustomTransports'),
    });
  });

  it('P02 connects by WebSocket where that is allowed', async () => {
    const server = new McpServer({ name: 'ws', version: '1' });
    server.tool({ name: 'echo' }, () => 'by WebSocket');
    const listener = await serveWebSocket(server, { port: 0 });
    open.push(listener);
    const target = { type: 'webSocket', url: listener.url ?? '' } as const;
    const plugin = await McpPlugin.connect(target, { allowCustomTransports: true });
    open.push(plugin);
    expect(await plugin.callTool('echo', null)).toBe('by WebSocket');
  });

  it('P03 sends server/discover once and no initialize, and says version, identity and capabilities each time', async () => {
    const { server, plugin } = await connectScripted(
      { 'tools/call': () => ({ resultType: 'complete', content: [] }) },
      { clientInfo: { name: 'host', version: '9' } },
    );
    await plugin.callTool('t', { a: 1 });
    expect(server.received.map(({ message }) => message.method)).toEqual([
      'server/discover',
      'tools/list',
      'tools/call',
    ]);
    for (const { message, headers } of server.received) {
      expect(message.params).toMatchObject({
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'host', version: '9' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      });
      expect(headers['mcp-protocol-version']).toBe('2026-07-28');
    }
  });

  it.each<[string, () => JsonObject]>([
    ['an error of an older server', refusal(-32601, 'Method not found')],
    ['an error that only newer servers know', refusal(-32021, 'Missing capability')],
    ['a refusal of the version', refusal(-32022, 'No', { supported: ['2025-11-25'] })],
    ['an empty result', () => ({})],
    ['a result without capabilities', () => ({ supportedVersions: ['2026-07-28'] })],
    ['a result of another type', () => ({ ...DISCOVERY, resultType: 'input_required' })],
    ['a result that shares no version', () => ({ ...DISCOVERY, supportedVersions: ['2025-11-25'] })],
  ])('P03 fails on %s, without falling back', async (_, answer) => {
    const server = await script({ 'server/discover': answer });
    await expect(McpPlugin.connect({ type: 'streamableHttp', url: server.url })).rejects.toMatchObject({
      code: 'PLUGIN_FAILED',
      kind: 'internal',
      message: expect.stringMatching(
        /^Cannot discover "http.*"auto" takes servers of the session dialect too$/,
      ),
    });
    expect(server.received.map(({ message }) => message.method)).toEqual(['server/discover']);
  });

  it('P03 takes a server of the session dialect with dialect auto alone', async () => {
    const server = fileURLToPath(new URL('../hostile/session-server.mjs', import.meta.url));
    const serve = `import { serve } from ${JSON.stringify(server)}; serve();`;
    const args = ['--input-type=module', '--eval', serve];
    const legacy = { command: process.execPath, args, cwd: folder };
    await expect(McpPlugin.connectStdio(legacy)).rejects.toMatchObject({ kind: 'internal' });
    const plugin = await McpPlugin.connectStdio(legacy, { dialect: 'auto' });
    open.push(plugin);
    expect(await plugin.callTool('echo', { text: 'session' })).toBe('session');
  });

  it('P03 does not wait for a silent server beyond its deadline', async () => {
    const silent = { command: process.execPath, args: ['-e', 'process.stdin.resume()'], cwd: folder };
    await expect(McpPlugin.connectStdio(silent, { connectTimeoutMs: 50 })).rejects.toMatchObject({
      kind: 'internal',
      cause: { code: 'TIMEOUT' },
    });
  });

  it('P04 lists the tools of all pages once, sorted by name, the first of each name', async () => {
    const pages: JsonObject[] = [
      { tools: [{ name: 'zoo', inputSchema: { type: 'object' } }], nextCursor: '1' },
      { tools: [{ name: 'ant', description: 'first', inputSchema: { type: 'object' } }], nextCursor: '2' },
      {
        tools: [
          { name: 'Bee', inputSchema: { type: 'object' } },
          { name: 'ant', description: 'second', inputSchema: { type: 'object' } },
        ],
      },
    ];
    const warnings: string[] = [];
    const { server, plugin } = await connectScripted(
      { 'tools/list': ({ cursor }) => ({ resultType: 'complete', ...pages[Number(cursor ?? 0)] }) },
      { onWarning: ({ message }) => warnings.push(message) },
    );
    expect(warnings).toEqual(['Left out tool "ant": the server lists another tool of that name before it']);
    expect(plugin.tools()).toEqual([
      { name: 'Bee', inputSchema: { type: 'object' } },
      { name: 'ant', description: 'first', inputSchema: { type: 'object' } },
      { name: 'zoo', inputSchema: { type: 'object' } },
    ]);
    plugin.tools();
    expect(server.received.filter(({ message }) => message.method === 'tools/list')).toHaveLength(3);
  });

  it('P04 leaves out a tool that nests too deeply to be shown to a model, with a warning', async () => {
    const warnings: string[] = [];
    const deep = { name: 'deep', inputSchema: { type: 'object' }, _meta: nested(300) };
    const { plugin } = await connectScripted(
      { 'tools/list': () => ({ ...LIST, tools: [deep, ...LIST.tools] }) },
      { onWarning: ({ message }) => warnings.push(message) },
    );
    expect(plugin.tools()).toEqual(LIST.tools);
    expect(warnings).toEqual(['Left out tool "deep": it nests deeper than 256 levels']);
  });

  it('P12 names a program that cannot be started as io', async () => {
    await expect(McpPlugin.connectStdio(join(folder, 'no-such-program'))).rejects.toMatchObject({
      kind: 'io',
      message: expect.stringMatching(/^Cannot start ".*no-such-program": /),
      cause: { code: 'SPAWN_FAILED' },
    });
  });

  it('P12 names a list that cannot be read as internal', async () => {
    const server = await script({
      'tools/list': () => ({ resultType: 'complete', tools: [], nextCursor: 'x' }),
    });
    await expect(McpPlugin.connect({ type: 'streamableHttp', url: server.url })).rejects.toMatchObject({
      kind: 'internal',
      cause: { code: 'PAGINATION' },
    });
  });

  it('gives connecting up when the caller does', async () => {
    const controller = new AbortController();
    const silent = { command: process.execPath, args: ['-e', 'process.stdin.resume()'], cwd: folder };
    const connecting = McpPlugin.connectStdio(silent, { signal: controller.signal });
    setImmediate(() => controller.abort());
    await expect(connecting).rejects.toMatchObject({ kind: 'internal', cause: { code: 'ABORTED' } });
  });
});

describe('McpPlugin in a stream', () => {
  it('P05 does nothing on a request, nor when the answer is complete', async () => {
    const { server, plugin } = await connectScripted({});
    const before = server.received.length;
    const request = Object.freeze({ messages: [] });
    expect(plugin.onRequest(request)).toBeUndefined();
    expect(plugin.onResponseComplete([])).toBeUndefined();
    expect(server.received).toHaveLength(before);
  });

  it('P06 makes a result with the same id of a call whose tool it knows', async () => {
    const plugin = await connect();
    expect(await plugin.onStreamChunk(toolCall('add', { a: 1, b: 2 }, 'xyz'))).toEqual(result('3', 'xyz'));
  });

  it.each<[string, StreamBlock]>([
    ['a text', { type: 'text', text: 'add' }],
    ['a thought', { type: 'thinking', text: 'add' }],
    ['a result', { type: 'toolResult', toolCallId: '1', output: 'add' }],
    ['a call of an unknown tool', toolCall('subtract')],
    ['a call of a member of Object.prototype', toolCall('toString')],
  ])('P06 passes on %s as the same object', async (_, block) => {
    const plugin = await connect();
    expect(await plugin.onStreamChunk(block)).toBe(block);
  });

  it('P08 makes the text of the result of a failure, and never throws', async () => {
    const plugin = await connect({ callTimeoutMs: 50 });
    expect(await plugin.onStreamChunk(toolCall('fail'))).toEqual(result('tool error: no luck'));
    expect(await plugin.onStreamChunk(toolCall('wait'))).toEqual(
      result(expect.stringMatching(/^Cannot call tool "wait": .*50 ms/)),
    );
    expect(await plugin.onStreamChunk(toolCall('exit'))).toEqual(
      result(expect.stringMatching(/^Cannot call tool "exit": .*exited with code 7/)),
    );
    await plugin.close();
    expect(await plugin.onStreamChunk(toolCall('add'))).toEqual(
      result(expect.stringMatching(/^Cannot call tool "add": /)),
    );
  });

  it.each([null, undefined, 7, { type: 'toolCall' }, { type: 'citation', url: 'x:y' }])(
    'P08 passes on %j, which is no block of ours',
    async (given) => {
      const plugin = await connect();
      // Sound: it is the point of this test to hand over what the type does not allow.
      const block = given as StreamBlock;
      const context = null as unknown as undefined;
      expect(await plugin.onStreamChunk(block, context)).toBe(block);
      expect(plugin.onStreamChunkSync(block)).toBe(block);
    },
  );

  it('P08 makes the text of the result of a call with what is no signal', async () => {
    const plugin = await connect();
    const signal = {} as unknown as AbortSignal;
    expect(await plugin.onStreamChunk(toolCall('add'), { signal })).toEqual(
      result('signal must be an AbortSignal, not an object'),
    );
  });

  it('P08 makes the text of the result of a call that takes longer than any may', async () => {
    const plugin = await connect({ maxCallTimeoutMs: 50 });
    expect(await plugin.onStreamChunk(toolCall('wait'))).toEqual(
      result(expect.stringMatching(/^Cannot call tool "wait": .*50 ms/)),
    );
  });

  it('P14 carries out two calls in one answer, one after the other', async () => {
    const plugin = await connect();
    async function* answer(): AsyncGenerator<StreamBlock> {
      yield { type: 'text', text: 'two calls' };
      yield toolCall('note', { text: 'a', ms: 50 }, 'id-a');
      yield toolCall('note', '{"text":"b"}', 'id-b');
    }
    const blocks: StreamBlock[] = [];
    for await (const block of applyPlugins(answer(), [plugin])) blocks.push(block);
    expect(blocks).toEqual([{ type: 'text', text: 'two calls' }, result('a', 'id-a'), result('b', 'id-b')]);
    expect(readJournal()).toEqual(['a begins', 'a ends', 'b begins', 'b ends', '']);
  });

  it('P14 takes arguments that are JSON text, of a model that wrote none too', async () => {
    const plugin = await connect();
    expect(await plugin.onStreamChunk(toolCall('add', '{"a":1,"b":2}'))).toEqual(result('3'));
    expect(await plugin.onStreamChunk(toolCall('echo', ''))).toEqual(result('{}'));
    expect(await plugin.onStreamChunk(toolCall('echo', 'null'))).toEqual(result('{}'));
  });

  it.each<[unknown, RegExp]>([
    ['{"a":', /they are no JSON: /],
    ['[1]', /they must be an object or null, not an array$/],
    ['7', /they must be an object or null, not 7$/],
    [7, /they must be an object or null, not 7$/],
    [[], /they must be an object or null, not an array$/],
  ])('P14 makes a text of what is wrong with the arguments %j', async (args, what) => {
    const plugin = await connect();
    const { output } = (await plugin.onStreamChunk(toolCall('add', args))) as { output: string };
    expect(output).toMatch(/^Cannot call tool "add" with these arguments: /);
    expect(output).toMatch(what);
  });

  it('P14 cancels the call at the server when the stream is aborted', async () => {
    const plugin = await connect();
    const controller = new AbortController();
    const waiting = plugin.onStreamChunk(toolCall('wait'), { signal: controller.signal });
    await expect.poll(readJournal).toContain('waiting');
    controller.abort();
    expect(await waiting).toEqual(result(expect.stringMatching(/^Cannot call tool "wait": .*aborted/)));
    await expect.poll(readJournal).toContain('cancelled');
    expect(await plugin.callTool('add', { a: 1, b: 1 })).toBe('2');
  });

  it('P13 says what it needs to be called without promises', async () => {
    const plugin = await connect();
    expect(() => plugin.callToolSync('add', {})).toThrow(PluginError);
    expect(() => plugin.callToolSync('add', {})).toThrow(/connect with worker: true/);
    const text: StreamBlock = { type: 'text', text: 'x' };
    expect(plugin.onStreamChunkSync(text)).toBe(text);
    expect(plugin.onStreamChunkSync(toolCall('add'))).toEqual(
      result(expect.stringContaining('connect with worker: true')),
    );
  });
});

describe('McpPlugin.callTool', () => {
  it('P09 sends an object as it is, and null as no arguments', async () => {
    const { server, plugin } = await connectScripted({
      'tools/call': () => ({ resultType: 'complete', content: [] }),
    });
    const args = { deep: [{ a: null }], text: 'ü' };
    await plugin.callTool('t', args);
    await plugin.callTool('t', {});
    await plugin.callTool('t', null);
    const sent = server.received.slice(2).map(({ message }) => message.params as JsonObject);
    expect(sent.map((params) => ('arguments' in params ? params.arguments : 'none'))).toEqual([
      args,
      {},
      'none',
    ]);
  });

  it.each([['text'], [7], [true], [[1]], [undefined], [new Map()], [new Date()]])(
    'P09 refuses %j as arguments',
    async (args) => {
      const plugin = await connect();
      await expect(plugin.callTool('echo', args)).rejects.toMatchObject({
        kind: 'validation',
        schema: 'tools/call arguments',
      });
    },
  );

  it('P09 refuses what JSON cannot hold', async () => {
    const plugin = await connect();
    await expect(plugin.callTool('echo', { n: 1n })).rejects.toMatchObject({
      kind: 'validation',
      schema: 'tools/call arguments',
    });
  });

  const ask = { method: 'elicitation/create', params: {} };
  it.each<[string, JsonObject, string]>([
    [
      'asks for input',
      { resultType: 'input_required', inputRequests: { who: ask, why: ask } },
      'Tool "t" answered with "input_required", which a plugin does not follow: it asks for 2 inputs',
    ],
    [
      'asks for one input',
      { resultType: 'input_required', inputRequests: { who: ask } },
      'Tool "t" answered with "input_required", which a plugin does not follow: it asks for 1 input',
    ],
    [
      'makes a task of it',
      { resultType: 'task', taskId: 'x', status: 'working' },
      'Tool "t" answered with "task", which a plugin does not follow: it asks for 0 inputs',
    ],
  ])('P10 does not support a server that %s', async (_, answer, message) => {
    const { server, plugin } = await connectScripted({ 'tools/call': () => answer });
    await expect(plugin.callTool('t', {})).rejects.toMatchObject({ kind: 'not-supported', message });
    expect(server.received.filter(({ message: { method } }) => method === 'tools/call')).toHaveLength(1);
  });

  it.each<[string, JsonObject]>([
    ['a result of an unknown type', { resultType: 'riddle', content: [] }],
    ['a result without content that is an array', { resultType: 'complete', content: 'text' }],
  ])('P12 names %s as internal', async (_, answer) => {
    const { plugin } = await connectScripted({ 'tools/call': () => answer });
    await expect(plugin.callTool('t', {})).rejects.toMatchObject({ kind: 'internal' });
  });

  it('P12 names a refused call as internal, with the refusal as its cause', async () => {
    const { plugin } = await connectScripted({ 'tools/call': refusal(-32602, 'Unknown tool') });
    await expect(plugin.callTool('t', {})).rejects.toMatchObject({
      kind: 'internal',
      message: 'Cannot call tool "t": Unknown tool',
      cause: { rpcCode: -32602 },
    });
  });

  it('P10 supports no tool that asks its own client, in the session dialect either', async () => {
    const plugin = await connect();
    await expect(plugin.callTool('ask', {})).rejects.toMatchObject({ code: 'PLUGIN_FAILED' });
  });
});

describe('the text of a result', () => {
  const text = (value: string) => ({ type: 'text', text: value });
  it.each<[string, JsonObject, string]>([
    ['one text', { content: [text('a\nb')] }, 'a\nb'],
    ['several texts, joined by newlines', { content: [text('a'), text(''), text('b')] }, 'a\n\nb'],
    ['nothing', { content: [] }, ''],
    [
      'media, with type and size',
      {
        content: [
          text('see'),
          { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
          { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
        ],
      },
      'see\n[image: image/png, 8 bytes]\n[audio: audio/wav, 4 bytes]',
    ],
    [
      'resources, with address, type and size',
      {
        content: [
          { type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'ünï' } },
          { type: 'resource', resource: { uri: 'file:///b', blob: 'AAAA' } },
          { type: 'resource', resource: { uri: 'file:///c' } },
        ],
      },
      '[resource: file:///a, text/plain, 5 bytes]\n[resource: file:///b, 3 bytes]\n[resource: file:///c]',
    ],
    [
      'a link',
      {
        content: [
          { type: 'resource_link', uri: 'file:///a', name: 'a', title: 'A', mimeType: 'text/css', size: 7 },
          { type: 'resource_link', uri: 'file:///b', name: 'b' },
        ],
      },
      '[resource link: "a", "A", file:///a, text/css, 7 bytes]\n[resource link: "b", file:///b]',
    ],
    [
      'what is malformed or unknown, by its name',
      {
        content: [
          7,
          null,
          { type: 'text' },
          { type: 'image' },
          { type: 'resource' },
          { type: 'video', data: 'x' },
          {},
        ],
      },
      '[malformed content]\n[malformed content]\n[malformed text]\n[image]\n[malformed resource]\n[content of type "video"]\n[content of type unknown]',
    ],
    ['an error, with a prefix', { content: [text('no')], isError: true }, 'tool error: no'],
    ['an error without a word', { content: [], isError: true }, 'tool error: the tool gave no reason'],
    ['structured content alone, as JSON', { content: [], structuredContent: { a: [1] } }, '{"a":[1]}'],
    ['structured content alone that is null', { content: [], structuredContent: null }, 'null'],
    ['structured content of a server that left content out', { structuredContent: [1] }, '[1]'],
    [
      'a word for structured content that nests too deeply',
      { content: [], structuredContent: nested(1000) },
      '[structured content: nested deeper than 512 levels]',
    ],
    ['no structured content beside content', { content: [text('a')], structuredContent: { b: 1 } }, 'a'],
    [
      'an error that is structured content alone',
      { content: [], structuredContent: { code: 7 }, isError: true },
      'tool error: {"code":7}',
    ],
  ])('P11 shows %s', async (_, answer, expected) => {
    const { plugin } = await connectScripted({ 'tools/call': () => ({ resultType: 'complete', ...answer }) });
    expect(await plugin.callTool('t', {})).toBe(expected);
  });
});

function nested(levels: number): JsonObject {
  let value: JsonObject = {};
  for (let level = 0; level < levels; level++) value = { deep: value };
  return value;
}

function refusal(code: number, message: string, data?: object): () => never {
  return () => {
    throw { code, message, ...(data && { data }) };
  };
}

/** What the server has noted. */
function readJournal(): string[] {
  return existsSync(journal()) ? readFileSync(journal(), 'utf8').split('\n') : [];
}
