import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { type InspectorNotification, Session } from 'node:inspector';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
// Built: a thread runs a file, and the one that these tests are about is a file of the package.
import { McpPlugin, McpServer, PluginError, type PluginOptions, type StreamBlock, serveHttp } from 'mcpwire';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processesIn } from '../left-behind.ts';

const TOOLS = fileURLToPath(new URL('servers/tools.mjs', import.meta.url));

let folder: string;
let threads: Threads;
const open: { close(): unknown }[] = [];
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'mcpwire-thread-')));
  threads = await Threads.watch();
});
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
  expect(processesIn(folder)).toEqual([]);
  await expect.poll(() => threads.running).toEqual([]);
  threads.close();
  rmSync(folder, { recursive: true, force: true });
});

const journal = () => join(folder, 'journal');
const spec = () => ({ command: process.execPath, args: [TOOLS, journal()], cwd: folder });
const readJournal = () =>
  existsSync(journal()) ? readFileSync(journal(), 'utf8').trimEnd().split('\n') : [];

async function connect(options: PluginOptions = {}): Promise<McpPlugin> {
  const plugin = await McpPlugin.connectStdio(spec(), { worker: true, ...options });
  open.push(plugin);
  return plugin;
}

const toolCall = (name: string, args: unknown = {}): StreamBlock => ({
  type: 'toolCall',
  id: 'call-1',
  name,
  arguments: args,
});
const result = (output: unknown) => ({ type: 'toolResult', toolCallId: 'call-1', output });

describe('McpPlugin in a thread', () => {
  it('P13 runs the connection in a thread named mcpwire-mcp-worker', async () => {
    const plugin = await connect();
    expect(threads.running).toMatchObject([{ title: expect.stringContaining('mcpwire-mcp-worker') }]);
    expect(plugin.tools().map(({ name }) => name)).toEqual([
      'add',
      'ask',
      'big',
      'echo',
      'exit',
      'fail',
      'note',
      'wait',
    ]);
  });

  it('P13 blocks until the result is there, without a promise', async () => {
    const plugin = await connect();
    expect(plugin.callToolSync('add', { a: 2, b: 3 })).toBe('5');
    expect(plugin.callToolSync('echo', null)).toBe('{}');
    expect(plugin.onStreamChunkSync(toolCall('add', '{"a":1,"b":2}'))).toEqual(result('3'));
    const text: StreamBlock = { type: 'text', text: 'add' };
    expect(plugin.onStreamChunkSync(text)).toBe(text);
    const unknown = toolCall('subtract');
    expect(plugin.onStreamChunkSync(unknown)).toBe(unknown);
  });

  it('P13 gives replies of any size', async () => {
    const plugin = await connect();
    for (const chars of [0, 1, 65_536, 20_000_000]) {
      expect(plugin.callToolSync('big', { chars }).length).toBe(chars);
    }
  });

  it('P13 runs calls in the order in which they were begun, of both kinds', async () => {
    const plugin = await connect();
    const first = plugin.callTool('note', { text: 'first', ms: 150 });
    const second = plugin.callTool('note', { text: 'second' });
    expect(plugin.callToolSync('note', { text: 'third' })).toBe('third');
    expect(await Promise.all([first, second])).toEqual(['first', 'second']);
    expect(readJournal()).toEqual(
      ['first', 'second', 'third'].flatMap((name) => [`${name} begins`, `${name} ends`]),
    );
  });

  it('P13 gives every failure in the same words and kinds as without a thread', async () => {
    const plugin = await connect({ callTimeoutMs: 100 });
    const failure = (name: string, args: unknown = {}): unknown => {
      try {
        return plugin.callToolSync(name, args);
      } catch (error) {
        return error;
      }
    };
    expect(failure('fail')).toBe('tool error: no luck');
    expect(failure('ask')).toBeInstanceOf(PluginError);
    expect(failure('wait')).toMatchObject({ kind: 'internal', message: expect.stringContaining('100 ms') });
    expect(plugin.onStreamChunkSync(toolCall('echo', '{'))).toEqual(
      result(expect.stringContaining('they are no JSON')),
    );
    expect(failure('exit')).toMatchObject({ kind: 'internal', message: expect.stringContaining('code 7') });
  });

  it.each<[string, unknown]>([
    ['no object', 'text'],
    ['an object that JSON cannot hold', { n: 1n }],
    ['an object that no thread can be handed', { f: () => {} }],
  ])('P09 refuses arguments that are %s', async (_, args) => {
    const plugin = await connect();
    const refusal = expect.objectContaining({ kind: 'validation', schema: 'tools/call arguments' });
    expect(() => plugin.callToolSync('echo', args)).toThrow(refusal);
    await expect(plugin.callTool('echo', args)).rejects.toEqual(refusal);
  });

  it('P13 fails to connect as it does without a thread, and leaves none behind', async () => {
    const nowhere = McpPlugin.connectStdio(join(folder, 'no-such-program'), { worker: true });
    await expect(nowhere).rejects.toMatchObject({ kind: 'io' });
    const socket = McpPlugin.connect({ type: 'webSocket', url: 'ws://127.0.0.1:9' }, { worker: true });
    await expect(socket).rejects.toMatchObject({ kind: 'not-supported' });
    const target = { type: 'pigeon' } as unknown as { type: 'stdio'; command: string };
    await expect(McpPlugin.connect(target, { worker: true })).rejects.toThrow(TypeError);
  });

  it('P13 takes plain data only, for a thread can be handed nothing else', async () => {
    const target = { type: 'stdio' as const, ...spec(), stderr: () => {} };
    await expect(McpPlugin.connect(target, { worker: true })).rejects.toThrow(
      /^worker: true takes targets and options of plain data only: /,
    );
  });

  it('P13 gives connecting up when the caller does', async () => {
    const controller = new AbortController();
    const silent = { command: process.execPath, args: ['-e', 'process.stdin.resume()'], cwd: folder };
    const connecting = McpPlugin.connectStdio(silent, { worker: true, signal: controller.signal });
    await expect.poll(() => processesIn(folder)).toHaveLength(1);
    controller.abort();
    await expect(connecting).rejects.toMatchObject({ kind: 'internal' });
    expect(processesIn(folder)).toEqual([]);
    const { signal } = controller;
    await expect(connect({ signal })).rejects.toMatchObject({ kind: 'internal' });
  });

  it('P13 hands warnings on', async () => {
    const server = new McpServer({ name: 'http', version: '1' });
    server.tool({ name: 'named' }, () => 'x');
    server.use(async ({ method }, next) => {
      const answer = await next();
      return method === 'tools/list' ? { ...answer, tools: [7, ...(answer.tools as unknown[])] } : answer;
    });
    const listening = await serveHttp(server);
    open.push(listening);
    const warnings: string[] = [];
    const plugin = await McpPlugin.connect(
      { type: 'streamableHttp', url: new URL(listening.url) },
      { worker: true, onWarning: ({ code }) => warnings.push(code) },
    );
    open.push(plugin);
    expect(warnings).toEqual(['INVALID_RESULT']);
    expect(await plugin.callTool('named', {})).toBe('x');
  });

  it('P14 cancels a call with a promise at the server, and one that waits for its turn', async () => {
    const plugin = await connect();
    const controller = new AbortController();
    const { signal } = controller;
    const running = plugin.onStreamChunk(toolCall('wait'), { signal });
    const queued = plugin.onStreamChunk(toolCall('wait'), { signal });
    await expect.poll(readJournal).toContain('waiting');
    controller.abort();
    const given = result(expect.stringContaining('given up by the caller'));
    expect(await Promise.all([running, queued])).toEqual([given, given]);
    await expect.poll(readJournal).toContain('cancelled');
    expect(plugin.callToolSync('add', { a: 1, b: 1 })).toBe('2');
    await expect(plugin.callTool('add', { a: 1, b: 1 }, { signal })).rejects.toMatchObject({
      kind: 'internal',
    });
  });

  it('P13 ends the thread and the child when it is closed, and what was going on with them', async () => {
    const plugin = await connect();
    const call = plugin.callTool('wait', {});
    const failed = expect(call).rejects.toMatchObject({ kind: 'internal' });
    await expect.poll(readJournal).toContain('waiting');
    await plugin.close();
    await failed;
    expect(processesIn(folder)).toEqual([]);
    await plugin.close();
    expect(() => plugin.callToolSync('add', {})).toThrow('The plugin is closed');
    await expect(plugin.callTool('add', {})).rejects.toMatchObject({ kind: 'internal' });
  });

  it('P13 makes an internal error of a thread that ends while it is waited for', async () => {
    const plugin = await connect();
    await threads.evaluate('setTimeout(() => process.exit(3), 100)');
    expect(() => plugin.callToolSync('wait', {})).toThrow(
      expect.objectContaining({ kind: 'internal', message: 'The thread of the plugin has ended' }),
    );
    expect(plugin.onStreamChunkSync(toolCall('wait'))).toEqual(result('The thread of the plugin has ended'));
    await expect(plugin.callTool('add', {})).rejects.toMatchObject({ kind: 'internal' });
    // The child is ended from outside: it has its grace.
    await expect.poll(() => processesIn(folder), { timeout: 5000 }).toEqual([]);
  });

  it('P13 makes an internal error of a thread that throws what nobody catches', async () => {
    const plugin = await connect();
    const call = plugin.callTool('wait', {});
    const failed = expect(call).rejects.toMatchObject({
      kind: 'internal',
      message: 'The thread of the plugin failed: thrown',
    });
    await threads.evaluate('setTimeout(() => { throw new Error("thrown") }, 100)');
    await failed;
    expect(() => plugin.callToolSync('add', {})).toThrow('The thread of the plugin failed: thrown');
    // The child is ended from outside: it has its grace.
    await expect.poll(() => processesIn(folder), { timeout: 5000 }).toEqual([]);
  });

  it('P13 waits for a call that takes longer than a thread may be silent', async () => {
    const plugin = await connect();
    expect(plugin.callToolSync('note', { text: 'patience', ms: 11_000 })).toBe('patience');
  });

  it('P13 gives up a thread without a sign of life', async () => {
    const plugin = await connect();
    // It stands still, and no end of it is announced.
    await threads.evaluate(
      'setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0), 100)',
    );
    expect(() => plugin.callToolSync('wait', {})).toThrow(
      expect.objectContaining({
        kind: 'internal',
        message: 'The thread of the plugin gave no sign of life for 10 s',
      }),
    );
    // The child is ended from outside: it has its grace.
    await expect.poll(() => processesIn(folder), { timeout: 5000 }).toEqual([]);
  });
});

interface ThreadInfo {
  sessionId: string;
  title: string;
}

/** The threads of this process, as a debugger sees them. */
class Threads {
  readonly running: ThreadInfo[] = [];
  readonly #session = new Session();

  static async watch(): Promise<Threads> {
    const threads = new Threads();
    const session = threads.#session;
    session.connect();
    session.on(
      'NodeWorker.attachedToWorker',
      ({ params }: InspectorNotification<{ sessionId: string; workerInfo: { title: string } }>) => {
        threads.running.push({ sessionId: params.sessionId, title: params.workerInfo.title });
      },
    );
    session.on(
      'NodeWorker.detachedFromWorker',
      ({ params }: InspectorNotification<{ sessionId: string }>) => {
        const at = threads.running.findIndex(({ sessionId }) => sessionId === params.sessionId);
        if (at !== -1) threads.running.splice(at, 1);
      },
    );
    await new Promise<void>((resolve, reject) => {
      session.post('NodeWorker.enable', { waitForDebuggerOnStart: false }, (error) =>
        error ? reject(error) : resolve(),
      );
    });
    return threads;
  }

  /** Runs code in the only thread. */
  async evaluate(expression: string): Promise<void> {
    const [thread] = this.running;
    if (!thread) throw new Error('There is no thread');
    const message = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } });
    const { sessionId } = thread;
    const answered = new Promise<void>((resolve) => {
      this.#session.once('NodeWorker.receivedMessageFromWorker', () => resolve());
    });
    this.#session.post('NodeWorker.sendMessageToWorker', { sessionId, message });
    await answered;
  }

  close(): void {
    this.#session.disconnect();
  }
}
