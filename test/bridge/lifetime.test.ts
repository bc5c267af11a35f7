import { execFile } from 'node:child_process';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createTool,
  McpServerAdapter,
  McpToolProvider,
  ToolRegistry,
  textOf,
} from '../../src/bridge/index.ts';
import {
  type ClientOptions,
  McpClient,
  McpServer,
  serveHttp,
  serveSocket,
  serveWebSocket,
  type ToolDefinition,
} from '../../src/protocol/index.ts';
import { createLinkedPair, DEFAULT_GRACE_MS } from '../../src/transport/index.ts';
import { processesIn } from '../left-behind.ts';
import { gone } from '../transport/running.ts';

const peer = (name: string) => fileURLToPath(new URL(`../hostile/peers/${name}.mjs`, import.meta.url));
const SERVER = fileURLToPath(new URL('../cli/server.mjs', import.meta.url));
const DIST = new URL('../../dist/index.js', import.meta.url).href;
const ECHO: ToolDefinition = {
  name: 'echo',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
};

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function echoServer(): McpServer {
  const server = new McpServer({ name: 'echo', version: '1' });
  server.tool(ECHO, ({ text }) => String(text));
  closing.push(() => server.close());
  return server;
}

function echoRegistry(): ToolRegistry {
  const registry = new ToolRegistry();
  const call = (args: unknown) => String((args as { text: string }).text);
  registry.register(createTool({ ...ECHO, call }));
  return registry;
}

/** A server that listens, and how it is connected to. */
interface Listening {
  port: number;
  close: () => Promise<void>;
  connect: (options: ClientOptions) => Promise<McpClient>;
}

function at(
  listener: { url?: string | undefined; close(): Promise<void> },
  by: 'http' | 'webSocket',
): Listening {
  const { url = '' } = listener;
  return {
    port: Number(new URL(url).port),
    close: () => listener.close(),
    connect: (options) => McpClient[by](url, options),
  };
}

describe('an imported tool', () => {
  const WAYS: [string, () => Promise<McpClient>][] = [
    ['a process', () => McpClient.stdio({ command: process.execPath, args: [SERVER] }, { stderr: 'ignore' })],
    [
      'HTTP',
      async () => {
        const listening = await serveHttp(echoServer());
        closing.push(() => listening.close());
        return McpClient.http(listening.url);
      },
    ],
    [
      'WebSocket',
      async () => {
        const listening = await serveWebSocket(echoServer());
        closing.push(() => listening.close());
        return McpClient.webSocket(listening.url ?? '');
      },
    ],
    [
      'a socket',
      async () => {
        const listening = await serveSocket(echoServer(), { port: 0 });
        closing.push(() => listening.close());
        return McpClient.socket(listening.target);
      },
    ],
    ['a server in this process', () => McpClient.inProcess(echoServer())],
    [
      'an adapter in this process',
      () => McpClient.inProcess(new McpServerAdapter({ registry: echoRegistry(), name: 'a', version: '1' })),
    ],
  ];

  it.each(WAYS)('B01 comes from %s, and is used as one of the host’s own is', async (_, connect) => {
    const client = await connect();
    closing.push(() => client.close());
    const own = echoRegistry();
    const registry = new ToolRegistry();
    (await McpToolProvider.connect(client)).registerInto(registry);
    const output = await registry.get('echo')?.call({ text: 'hello' });
    expect(output?.isError ?? false).toBe(false);
    expect(output && textOf(output)).toContain('hello');
    const members = (tools: ToolRegistry) => Object.keys(tools.schemas()[0] ?? {});
    expect(members(registry)).toEqual(members(own));
  });

  it('B01 has what a tool has as members of its own, so that a copy and a call taken off it work', async () => {
    const client = await McpClient.inProcess(echoServer());
    closing.push(() => client.close());
    const provider = await McpToolProvider.connect(client);
    const [imported] = provider.tools();
    const [own] = echoRegistry();
    if (!imported || !own) throw new Error('There is no tool');
    expect(Object.keys(imported).sort()).toEqual(Object.keys(own).sort());
    expect({ ...imported }).toEqual({ ...own, title: undefined, call: expect.any(Function) });
    expect(JSON.parse(JSON.stringify(imported))).toEqual(JSON.parse(JSON.stringify(own)));
    const { call } = imported;
    expect(await call({ text: 'detached' })).toEqual({ content: 'detached' });
    const copies = new ToolRegistry();
    const renamed = { ...imported, name: 'repeat' };
    const wrapped = new Proxy(imported, {});
    copies.register(renamed);
    copies.register(wrapped);
    expect(await copies.get('repeat')?.call({ text: 'copied' })).toEqual({ content: 'copied' });
    // They are the host's, and a sync leaves them alone.
    expect(await provider.syncInto(copies)).toEqual({ added: [], removed: [], untouched: [], refreshed: [] });
    expect(copies.tools()).toEqual([renamed, wrapped]);
  });

  it('B24 works on after a lost connection was made anew', async () => {
    const server = echoServer();
    let hangUp = async () => {};
    const open = () => {
      const [ours, theirs] = createLinkedPair();
      const connection = server.connect(theirs);
      hangUp = () => connection.close();
      return ours;
    };
    const client = await McpClient.connect(open);
    closing.push(() => client.close());
    const [echo] = (await McpToolProvider.connect(client)).tools();
    await hangUp();
    expect(await echo?.call({ text: 'lost' })).toMatchObject({
      isError: true,
      error: { kind: 'execution', cause: { code: 'CLOSED' } },
    });
    await client.reconnect({ maxRetries: 0 });
    expect(await echo?.call({ text: 'again' })).toEqual({ content: 'again' });
  });

  it('B24 works on after its process was killed and started anew', async () => {
    const spec = { command: process.execPath, args: [SERVER] };
    const pids: number[] = [];
    const stderr = (line: string) => {
      const started = /^server (\d+) starts$/.exec(line);
      if (started) pids.push(Number(started[1]));
    };
    let onLost = () => {};
    const lost = new Promise<void>((resolve) => {
      onLost = resolve;
    });
    const client = await McpClient.stdio(spec, { dialect: 'session', stderr, onClose: onLost });
    closing.push(() => client.close());
    const echo = (await McpToolProvider.connect(client)).tools().find(({ name }) => name === 'echo');
    process.kill(pids[0] ?? 0, 'SIGKILL');
    await lost;
    await client.reconnect();
    expect(await echo?.call({ text: 'again' })).toEqual({ content: '{"text":"again"}' });
    expect(pids[1]).not.toBe(pids[0]);
  });

  const AGAIN: [string, (server: McpServer, port?: number) => Promise<Listening>][] = [
    ['HTTP', async (server, port = 0) => at(await serveHttp(server, { port }), 'http')],
    ['WebSocket', async (server, port = 0) => at(await serveWebSocket(server, { port }), 'webSocket')],
    [
      'TCP',
      async (server, port = 0) => {
        const listener = await serveSocket(server, { port });
        const { target } = listener;
        return {
          port: target.port ?? 0,
          close: () => listener.close(),
          connect: (options) => McpClient.socket(target, options),
        };
      },
    ],
  ];

  it.each(
    AGAIN.flatMap(([by, serve]) =>
      (['session', 'stateless'] as const).map((dialect) => ({ by, dialect, serve })),
    ),
  )(
    'B24 is the same object, and is followed, when its server was started anew: $by, $dialect dialect',
    async ({ dialect, serve }) => {
      const first = await serve(echoServer());
      const client = await first.connect({ dialect, autoReconnect: { baseDelayMs: 5, maxRetries: 100 } });
      closing.push(() => client.close());
      const registry = new ToolRegistry();
      const following = await (await McpToolProvider.connect(client)).follow(registry);
      closing.push(() => following.close());
      const echo = registry.get('echo');
      const grown = new Promise<void>((resolve) => {
        registry.onChange(({ name }) => {
          if (name === 'more') resolve();
        });
      });
      await first.close();
      const server = echoServer();
      server.tool({ ...ECHO, name: 'more' }, () => 'more');
      const again = await serve(server, first.port);
      closing.push(() => again.close());
      await grown;
      expect(registry.get('echo')).toBe(echo);
      expect(await echo?.call({ text: 'again' })).toEqual({ content: 'again' });
    },
  );

  it('B24 is lost with a connection in this process, which cannot be made again', async () => {
    const client = await McpClient.inProcess(echoServer());
    await expect(client.reconnect()).rejects.toMatchObject({ code: 'NOT_SUPPORTED' });
    await client.close();
  });
});

// What runs is found by its working folder, which Linux alone tells.
describe.runIf(process.platform === 'linux')('the process behind imported tools', () => {
  const commands: [string, string[]][] = [
    ['deaf to the end of its input and to SIGTERM', [peer('ignores-sigterm')]],
    ['with children of all kinds', [peer('leaves-grandchildren'), 'plain', 'stubborn', 'detached']],
  ];
  let folder: string;
  beforeEach(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'mcpwire-lifetime-')));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it.each(commands)('B25 ends with its client, %s', async (_, args) => {
    const spec = { command: process.execPath, args, cwd: folder };
    const client = await McpClient.stdio(spec, { stderr: 'ignore', dialect: 'session', graceMs: 300 });
    const [echo] = (await McpToolProvider.connect(client)).tools();
    expect(await echo?.call({ text: 'here' })).toEqual({ content: 'here' });
    expect(processesIn(folder)).toHaveLength(args.length);
    await client.close();
    expect(processesIn(folder)).toEqual([]);
    expect(await echo?.call({})).toMatchObject({ isError: true, error: { cause: { code: 'CLOSED' } } });
  });

  it('B25 is given 3 s to leave by default', () => {
    expect(DEFAULT_GRACE_MS).toBe(3000);
  });

  it('B25 ends with a host that exits without closing anything', async () => {
    const host = `
      import { McpClient, McpToolProvider } from ${JSON.stringify(DIST)};
      const spec = { command: process.execPath, args: [${JSON.stringify(peer('ignores-sigterm'))}] };
      const client = await McpClient.stdio(spec, { stderr: 'ignore', dialect: 'session' });
      const [echo] = (await McpToolProvider.connect(client)).tools();
      console.log((await echo.call({ text: 'here' })).content);
      process.exit(0);
    `;
    const args = ['--input-type=module', '-e', host];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
    expect(stdout).toBe('here\n');
    await Promise.all(processesIn(folder).map(gone));
  });
});
