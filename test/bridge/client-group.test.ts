// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of a configuration are written like that.

import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createTool,
  type GroupOptions,
  McpClientGroup,
  type McpServersConfig,
  ToolRegistry,
} from '../../src/bridge/index.ts';
import type { McpError } from '../../src/jsonrpc/index.ts';
import {
  McpServer,
  memoryTokenStore,
  oauth,
  serveWebSocket,
  toNodeHandler,
} from '../../src/protocol/index.ts';
import { processesIn } from '../left-behind.ts';
import { browse } from '../protocol/auth/browser.ts';
import { startOidc } from '../protocol/auth/oidc-server.ts';
import { protect } from '../protocol/auth/protected-server.ts';

const SERVER = fileURLToPath(new URL('../hostile/session-server.mjs', import.meta.url));
/** Serves `echo`, whose answer names what the process was started with. */
const SCRIPT = `
  import { serve, text } from ${JSON.stringify(pathToFileURL(SERVER).href)};
  const { A, B } = process.env;
  const facts = { args: process.argv.slice(1), cwd: process.cwd(), A, B };
  serve({ 'tools/call': () => text(JSON.stringify(facts)) });
`;
const node = (...args: string[]) => ({
  command: process.execPath,
  args: ['--input-type=module', '-e', SCRIPT, '--', ...args],
});

/** Answers these methods. */
const serving = (methods: string) => ({
  command: process.execPath,
  args: [
    '--input-type=module',
    '-e',
    `import { serve } from ${JSON.stringify(pathToFileURL(SERVER).href)}; serve({ ${methods} });`,
  ],
  cwd: folder,
});

const SILENT = { command: process.execPath, args: ['-e', 'process.stdin.resume()'] };

let folder: string;
const closing: (() => unknown)[] = [];
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'mcpwire-group-')));
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  expect(processesIn(folder)).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});

/** Configurations come as JSON, with members of any type. */
async function start(mcpServers: object, options: GroupOptions = {}) {
  const warnings: McpError[] = [];
  const group = await McpClientGroup.fromConfig({ mcpServers } as McpServersConfig, {
    process: { stderr: 'ignore' },
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  closing.push(() => group.close());
  return { group, registry: group.registry, warnings };
}

const messages = (group: McpClientGroup) =>
  Object.fromEntries([...group.failures].map(([name, { message }]) => [name, message]));

describe('McpClientGroup.fromConfig', () => {
  it('signs in at each server that wants it, with a token for that server alone, and leaves configured ones alone', async () => {
    const oidc = await startOidc();
    const scopesSupported = ['read'];
    const first = await protect(oidc.issuer, oidc.verify, { scopesSupported });
    const second = await protect(oidc.issuer, oidc.verify, { scopesSupported });
    const third = await protect(oidc.issuer, () => undefined, { scopesSupported });
    const store = memoryTokenStore();
    let asked = 0;
    const onRedirect = async (url: URL) => {
      asked++;
      await browse(url);
    };
    const servers = {
      first: { url: first.url },
      second: { url: second.url },
      third: { url: third.url, headers: { Authorization: 'Bearer mine' } },
    };
    const { group, registry } = await start(servers, { authorizer: oauth({ store, onRedirect }) });
    expect(messages(group)).toEqual({ third: expect.stringContaining('the token is not valid here') });
    expect(registry.names()).toHaveLength(6);
    expect(asked).toBe(2);
    const sent = [first, second].map(({ seen }) => new Set(seen.filter((header) => header !== undefined)));
    expect(sent.map(({ size }) => size)).toEqual([1, 1]);
    expect(sent[0]).not.toEqual(sent[1]);
    expect(new Set(third.seen)).toEqual(new Set(['Bearer mine']));
    await group.close();
    const again = await start(servers, { authorizer: oauth({ store }) });
    expect([...again.group.members.keys()]).toEqual(['first', 'second']);
  });

  it('B28 starts servers of every kind, and registers their tools under their names, in their order', async () => {
    const server = new McpServer({ name: 'remote', version: '1' });
    server.tool({ name: 'greet', inputSchema: { type: 'object' } }, () => 'hello');
    const handle = toNodeHandler(server);
    const keys = new Set<unknown>();
    const http = createServer((request, response) => {
      keys.add(request.headers['x-key']);
      handle(request, response);
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => http.close(resolve)));
    const { port } = http.address() as AddressInfo;
    const webSocket = await serveWebSocket(server);
    closing.push(
      () => server.close(),
      () => webSocket.close(),
    );
    const { group, registry, warnings } = await start(
      {
        remote: { type: 'http', url: `http://127.0.0.1:${port}/mcp`, headers: { 'X-Key': '${KEY}' } },
        local: { ...node(), cwd: folder },
        socket: { url: webSocket.url ?? '' },
      },
      { variables: { KEY: 'secret' } },
    );
    expect([...keys]).toEqual(['secret']);
    expect(warnings).toEqual([]);
    expect([...group.members.keys()]).toEqual(['remote', 'local', 'socket']);
    expect(registry.names()).toEqual(['remote__greet', 'local__echo', 'socket__greet']);
    expect(await registry.get('remote__greet')?.call({})).toEqual({ content: 'hello' });
    expect(await registry.get('socket__greet')?.call({})).toEqual({ content: 'hello' });
    await group.close();
    expect(await registry.get('remote__greet')?.call({})).toMatchObject({ isError: true });
    await group.close();
  });

  it('B28 hands over arguments, environment and folder, with variables filled in', async () => {
    const { registry } = await start(
      {
        s: {
          ...node('--key=${KEY}', '${UNSET:-other}', '${EMPTY:-full}', '${KEY}${KEY}', '$KEY ${1} ${a b}'),
          env: { A: 'x${KEY}y', B: '${EMPTY}' },
          cwd: '${FOLDER}',
        },
      },
      { variables: { KEY: '$& ${KEY}', EMPTY: '', FOLDER: folder } },
    );
    const output = await registry.get('s__echo')?.call({});
    expect(JSON.parse(String(output?.content))).toEqual({
      args: ['--key=$& ${KEY}', 'other', 'full', '$& ${KEY}$& ${KEY}', '$KEY ${1} ${a b}'],
      A: 'x$& ${KEY}y',
      B: '',
      cwd: folder,
    });
  });

  it('B28 fills variables in from the environment of this process', async () => {
    const { group } = await start({
      s: { command: '${MCPWIRE_TEST_NOT_SET}' },
      t: { command: '${PATH:+}${toString}' },
    });
    expect(messages(group)).toEqual({
      s: 'Cannot start server "s": "command" refers to the variable MCPWIRE_TEST_NOT_SET, which is not set',
      t: 'Cannot start server "t": "command" refers to the variable toString, which is not set',
    });
    const { registry } = await start({ s: { ...node('${PATH}'), cwd: folder } });
    const output = await registry.get('s__echo')?.call({});
    expect(JSON.parse(String(output?.content)).args).toEqual([process.env.PATH]);
  });

  it('B28 leaves alone what is disabled', async () => {
    const { group } = await start({ off: { command: 'no-such-program', disabled: true } });
    expect([group.members.size, group.failures.size]).toEqual([0, 0]);
  });

  it('B28 reads a file, by its path or its address', async () => {
    const file = join(folder, 'servers.json');
    const config = { mcpServers: { s: { ...node(), cwd: folder, autoApprove: [] } }, theme: 'dark' };
    await writeFile(file, `\ufeff${JSON.stringify(config)}`);
    for (const source of [file, pathToFileURL(file)]) {
      const group = await McpClientGroup.fromConfig(source, { process: { stderr: 'ignore' } });
      expect(group.registry.names()).toEqual(['s__echo']);
      await group.close();
    }
  });

  it('B28 refuses what is no configuration', async () => {
    const file = join(folder, 'servers.json');
    const refused = { code: 'INVALID_CONFIG', message: expect.stringContaining(file) };
    await expect(McpClientGroup.fromConfig(file)).rejects.toMatchObject(refused);
    for (const text of ['{', '[]', '{"servers":{}}', '{"mcpServers":[]}', 'null']) {
      await writeFile(file, text);
      await expect(McpClientGroup.fromConfig(file), text).rejects.toMatchObject(refused);
    }
    await expect(start({}, { startTimeoutMs: 0 })).rejects.toThrow(TypeError);
  });

  it('B28 reports servers that fail, and lets the others work', async () => {
    const { group, registry, warnings } = await start({
      gone: { command: 'no-such-program', cwd: folder },
      works: { ...node(), cwd: folder },
    });
    expect(registry.names()).toEqual(['works__echo']);
    expect([...group.members.keys()]).toEqual(['works']);
    expect([...group.failures].map(([name, { code }]) => [name, code])).toEqual([['gone', 'SPAWN_FAILED']]);
    expect(warnings).toEqual([...group.failures.values()]);
  });

  it('B28 ends a server whose tools cannot be read', async () => {
    const list = `'tools/list': () => ({ tools: [], nextCursor: 'same' })`;
    const { group } = await start({ endless: serving(list) });
    expect(group.failures.get('endless')).toMatchObject({
      code: 'PAGINATION',
      message: expect.stringMatching(/^Cannot start server "endless": /),
    });
    expect(processesIn(folder)).toEqual([]);
  });

  it('B28 ends a server that works already when starting is given up', async () => {
    const controller = new AbortController();
    // What the warning is of is the last that is read of it.
    const works = serving(`'tools/list': () => ({ tools: [7] })`);
    const silent = { ...SILENT, cwd: folder };
    const onWarning = () => setImmediate(() => controller.abort());
    const starting = start({ works, silent }, { signal: controller.signal, onWarning });
    await expect(starting).rejects.toMatchObject({ code: 'ABORTED' });
    expect(processesIn(folder)).toEqual([]);
  });

  it('B28 gives each server a deadline, and ends those that miss it', async () => {
    const { group } = await start({ silent: { ...SILENT, cwd: folder } }, { startTimeoutMs: 300 });
    expect(messages(group)).toEqual({
      silent: 'Cannot start server "silent": it was not ready within 300 ms',
    });
    expect(group.failures.get('silent')?.code).toBe('TIMEOUT');
    expect(processesIn(folder)).toEqual([]);
  });

  it.each<[unknown, string]>([
    ['text', 'it is no object'],
    [{}, 'it has neither "command" nor "url"; it needs one of them'],
    [{ command: 'a', url: 'http://a' }, 'it has both "command" and "url"; it needs one of them'],
    [{ command: 7 }, '"command" is no string'],
    [{ command: 'a', args: 'b' }, '"args" is no array'],
    [{ command: 'a', args: ['b', 7] }, '"args[1]" is no string'],
    [{ command: 'a', env: ['b'] }, '"env" is no object'],
    [{ command: 'a', env: { KEY: 7 } }, '"env.KEY" is no string'],
    [{ command: 'a', disabled: 'yes' }, '"disabled" is neither true nor false'],
    [{ type: 'stdio', url: 'http://a' }, '"type" is "stdio", but it has "url"'],
    [{ type: 'sse', command: 'a' }, '"type" is "sse", but it has "command"'],
    [{ url: 'secret' }, '"url" is no http:, https:, ws: or wss: address'],
    [{ url: 'file:///secret' }, '"url" is no http:, https:, ws: or wss: address'],
    [{ url: 'http://a', headers: { Key: null } }, '"headers.Key" is no string'],
    [{ command: 'a', env: { KEY: 'secret\0' } }, '"env.KEY" has a null character in it'],
    [{ command: 'a', args: ['\0secret'] }, '"args[0]" has a null character in it'],
  ])('B28 says what is wrong with %j', async (entry, why) => {
    const { group } = await start({ s: entry });
    expect(messages(group)).toEqual({ s: `Cannot start server "s": ${why}` });
    expect(group.failures.get('s')?.code).toBe('INVALID_CONFIG');
  });

  it('B28 says which types there are', async () => {
    const { group } = await start({ s: { type: 'grpc', url: 'http://a' } });
    expect(messages(group).s).toContain('"type" is "grpc"; it may be stdio, http,');
  });

  it('B28 takes any name, and fills a registry that is there already', async () => {
    const registry = new ToolRegistry();
    const own = createTool({ name: 'a__echo', call: () => 'own' });
    registry.register(own);
    const servers = JSON.parse(
      JSON.stringify({ a: { ...node(), cwd: folder } }).replace('"a"', '"__proto__"'),
    );
    servers.a = { ...node(), cwd: folder };
    const { group, warnings } = await start(servers, { registry });
    expect(group.registry).toBe(registry);
    expect(registry.names().sort()).toEqual(['__proto____echo', 'a__echo']);
    expect(registry.get('a__echo')).toBe(own);
    expect(warnings.map(({ code }) => code)).toEqual(['DUPLICATE_TOOL']);
  });

  it('B28 ends everything when starting is given up', async () => {
    const controller = new AbortController();
    const starting = start(
      {
        silent: { ...SILENT, cwd: folder },
        works: { ...node(), cwd: folder },
      },
      { signal: controller.signal },
    );
    setImmediate(() => controller.abort());
    await expect(starting).rejects.toMatchObject({ code: 'ABORTED' });
    expect(processesIn(folder)).toEqual([]);
  });
});
