import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { McpServer, serveHttp, serveSocket, serveWebSocket } from '../../src/protocol/index.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const BYTES = Buffer.from([0, 255, 10, 13, 128]);

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function createServer(): McpServer {
  const server = new McpServer({ name: 'remote', version: '1.0.0', instructions: 'Be kind' });
  server.tool(
    {
      name: 'add',
      inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
    },
    (args) => String(Number(args.a) + Number(args.b)),
  );
  server.tool(
    { name: 'header', inputSchema: { type: 'object' } },
    (_args, context) => context.headers['x-key'] ?? 'none',
  );
  server.resource({ uri: 'test://text', name: 'Text', mimeType: 'text/plain' }, () => 'line 1\nline 2\n');
  server.resource({ uri: 'test://bytes', name: 'Bytes' }, (uri) => ({
    contents: [{ uri, blob: BYTES.toString('base64') }],
  }));
  server.resourceTemplate({ uriTemplate: 'test://item/{id}', name: 'Item' }, (_uri, { id }) => `item ${id}`);
  server.prompt(
    { name: 'greet', description: 'Greets', arguments: [{ name: 'name', required: true }] },
    ({ name }) => `Hello ${name}`,
  );
  return server;
}

async function serve(): Promise<{ server: McpServer; url: string }> {
  const server = createServer();
  const listening = await serveHttp(server);
  cleanups.push(() => listening.close());
  return { server, url: listening.url };
}

async function finish(child: ChildProcessWithoutNullStreams) {
  const [out, err, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { out, err, status };
}

const mcpwire = (...words: string[]) => finish(spawn(process.execPath, [CLI, ...words]));

describe('mcpwire with a server elsewhere', () => {
  it('speaks by HTTP, with headers that it does not print', async () => {
    const { url } = await serve();
    expect(await mcpwire('call', 'add', 'a=2', 'b=3', url)).toEqual({ status: 0, out: '5\n', err: '' });
    const called = await mcpwire('call', 'header', '--header', 'X-Key: s3cret', '--verbose', url);
    expect(called).toMatchObject({ status: 0, out: 's3cret\n' });
    expect(called.err).not.toContain('s3cret');
    expect((await mcpwire('discover', '--dialect', 'session', url)).out).toMatch(
      /remote 1\.0\.0[\s\S]*session[\s\S]*Be kind/,
    );
  });

  it('speaks by WebSocket and over sockets', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mcpwire-'));
    cleanups.push(() => rm(folder, { recursive: true }));
    const server = createServer();
    const webSocket = await serveWebSocket(server);
    cleanups.push(() => webSocket.close());
    const path = join(folder, 'mcp.sock');
    const socket = await serveSocket(server, { path });
    cleanups.push(() => socket.close());
    for (const target of [webSocket.url ?? '', `unix:${path}`]) {
      expect(await mcpwire('call', 'add', 'a=1', 'b=1', target)).toEqual({ status: 0, out: '2\n', err: '' });
    }
  });

  it('lists and reads resources', async () => {
    const { url } = await serve();
    const listed = await mcpwire('resources', url);
    expect(listed.out).toContain('test://text');
    expect(listed.out).toContain('test://item/{id}');
    expect(JSON.parse((await mcpwire('resources', '--json', url)).out)).toMatchObject({
      resources: [{ uri: 'test://text' }, { uri: 'test://bytes' }],
      resourceTemplates: [{ uriTemplate: 'test://item/{id}' }],
    });
    expect((await mcpwire('read', 'test://text', url)).out).toBe('line 1\nline 2\n');
    expect((await mcpwire('read', 'test://item/7', url)).out).toBe('item 7');
    expect(await mcpwire('read', 'test://none', url)).toMatchObject({ status: 4, out: '' });
  });

  it('writes binary resources as they are, to a pipe or a file', async () => {
    const { url } = await serve();
    const child = spawn(process.execPath, [CLI, 'read', 'test://bytes', url]);
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    await once(child, 'close');
    expect(Buffer.concat(chunks)).toEqual(BYTES);
    const folder = await mkdtemp(join(tmpdir(), 'mcpwire-'));
    cleanups.push(() => rm(folder, { recursive: true }));
    const file = join(folder, 'bytes');
    expect(await mcpwire('read', 'test://bytes', '--output', file, url)).toEqual({
      status: 0,
      out: '',
      err: '',
    });
    expect(await readFile(file)).toEqual(BYTES);
  });

  it('lists and fills in prompts', async () => {
    const { url } = await serve();
    expect((await mcpwire('prompts', url)).out).toMatch(/greet +name +Greets/);
    expect((await mcpwire('prompt', 'greet', 'name=Ada', url)).out).toBe('user: Hello Ada\n');
  });

  it.each(['stateless', 'session'])(
    'prints changes until it is interrupted, in the %s dialect',
    async (dialect) => {
      const { server, url } = await serve();
      const child = spawn(process.execPath, [
        CLI,
        'listen',
        '--json',
        '--verbose',
        '--dialect',
        dialect,
        url,
      ]);
      for await (const line of createInterface(child.stderr))
        if (line.startsWith('The server reports')) break;
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      server.notifyToolsChanged();
      expect(JSON.parse((await lines.next()).value)).toEqual({ type: 'toolsListChanged' });
      const exit = once(child, 'exit');
      child.kill('SIGINT');
      expect((await exit)[0]).toBe(130);
    },
  );

  it('says that nobody listens there, and exits with 3', async () => {
    expect(await mcpwire('tools', 'http://127.0.0.1:1/mcp')).toMatchObject({
      status: 3,
      err: expect.stringContaining('127.0.0.1:1'),
    });
  });
});
