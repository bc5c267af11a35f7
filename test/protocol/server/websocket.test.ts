import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { McpClient, McpServer, serveWebSocket } from '../../../src/protocol/index.ts';
import type { WebSocketListener, WebSocketListenOptions } from '../../../src/transport/index.ts';

const ANY = { type: 'object' } as const;

let listener: WebSocketListener | undefined;
afterEach(() => listener?.close());

async function serve(server: McpServer, options?: WebSocketListenOptions): Promise<string> {
  listener = await serveWebSocket(server, options);
  return listener.url ?? '';
}

function echoing(): McpServer {
  const server = new McpServer({ name: 'test', version: '1.0.0' });
  server.tool({ name: 'echo', inputSchema: ANY }, (args) => JSON.stringify(args));
  return server;
}

describe.each(['stateless', 'session'] as const)('a server by WebSocket, in the %s dialect', (dialect) => {
  it('answers several clients at once', async () => {
    const url = await serve(echoing());
    const clients = await Promise.all([1, 2, 3].map(() => McpClient.webSocket(url, { dialect })));
    expect(listener?.connections).toBe(3);
    const results = await Promise.all(clients.map((client, at) => client.callTool('echo', { at })));
    expect(results.map(({ content }) => content)).toEqual(
      [0, 1, 2].map((at) => [{ type: 'text', text: JSON.stringify({ at }) }]),
    );
    await Promise.all(clients.map((client) => client.close()));
  });

  it('asks for input in the course of a call, and tells of progress', async () => {
    const server = new McpServer({ name: 'test', version: '1.0.0' });
    server.tool({ name: 'greet', inputSchema: ANY }, async (_args, context) => {
      const answer = await context.elicit({
        message: 'Your name?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
      });
      await context.progress(1, 1);
      return answer.action === 'accept' ? `Hello, ${answer.content?.name}` : 'Hello';
    });
    const client = await McpClient.webSocket(await serve(server), {
      dialect,
      onElicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
    });
    const seen: unknown[] = [];
    const { content } = await client.callTool('greet', {}, { onProgress: (progress) => seen.push(progress) });
    expect(content).toEqual([{ type: 'text', text: 'Hello, Ada' }]);
    expect(seen).toEqual([{ progress: 1, total: 1 }]);
    await client.close();
  });

  it('hears that a call is cancelled', async () => {
    const server = new McpServer({ name: 'test', version: '1.0.0' });
    const controller = new AbortController();
    const aborted = new Promise<void>((resolve) => {
      server.tool({ name: 'wait', inputSchema: ANY }, (_args, { signal }) => {
        signal.addEventListener('abort', () => resolve());
        controller.abort();
        return new Promise<string>(() => {});
      });
    });
    const client = await McpClient.webSocket(await serve(server), { dialect });
    const call = client.callTool('wait', {}, { signal: controller.signal });
    await expect(call).rejects.toMatchObject({ code: 'ABORTED' });
    await aborted;
    await client.close();
  });

  it('knows who calls', async () => {
    const server = new McpServer({ name: 'test', version: '1.0.0' });
    server.tool({ name: 'whoami', inputSchema: ANY }, (_args, { auth }) => JSON.stringify(auth));
    const url = await serve(server, { authorize: ({ headers }) => headers.authorization });
    const client = await McpClient.webSocket(url, { dialect, headers: { authorization: 'Bearer ada' } });
    const { content } = await client.callTool('whoami');
    expect(content).toEqual([{ type: 'text', text: '"Bearer ada"' }]);
    await client.close();
    await expect(McpClient.webSocket(url, { dialect })).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });

  it('tells a client that listens what has changed', async () => {
    const server = echoing();
    const client = await McpClient.webSocket(await serve(server), { dialect });
    const changes = await client.listen({ toolsListChanged: true });
    expect(await client.listTools()).toHaveLength(1);
    server.tool({ name: 'another', inputSchema: ANY }, () => 'x');
    for await (const change of changes) {
      expect(change).toMatchObject({ type: 'toolsListChanged' });
      break;
    }
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['echo', 'another']);
    await client.close();
  });

  it('still answers what it was asked when the listener closes', async () => {
    const server = new McpServer({ name: 'test', version: '1.0.0' });
    let asked = () => {};
    const running = new Promise<void>((resolve) => {
      asked = resolve;
    });
    let answer = (_: string) => {};
    server.tool({ name: 'slow', inputSchema: ANY }, () => {
      asked();
      return new Promise<string>((resolve) => {
        answer = resolve;
      });
    });
    const client = await McpClient.webSocket(await serve(server), { dialect });
    const call = client.callTool('slow');
    await running;
    const closing = listener?.close();
    answer('done');
    expect((await call).content).toEqual([{ type: 'text', text: 'done' }]);
    await closing;
    await client.close();
  });

  it('is found again by a client that lost it', async () => {
    const server = echoing();
    const url = await serve(server);
    const lost: string[] = [];
    const client = await McpClient.webSocket(url, {
      dialect,
      onClose: (reason) => lost.push(reason.message),
    });
    await listener?.close();
    await expect(client.callTool('echo')).rejects.toThrow(/going away/);
    expect(lost).toHaveLength(1);
    await serve(server, { port: Number(new URL(url).port) });
    await client.reconnect({ baseDelayMs: 1 });
    const { content } = await client.callTool('echo', { again: true });
    expect(content).toEqual([{ type: 'text', text: '{"again":true}' }]);
    await client.close();
  });
});

it('serves beside plain HTTP on the same port', async () => {
  const http = createServer((_, response) => response.end('plain')).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  await serve(echoing(), { server: http });
  const client = await McpClient.webSocket(`ws://127.0.0.1:${port}/mcp`);
  expect(await client.listTools()).toHaveLength(1);
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('plain');
  await client.close();
  http.closeAllConnections();
  await new Promise((resolve) => http.close(resolve));
});

it('answers a message that is no JSON with a parse error', async () => {
  const socket = new WebSocket(await serve(echoing()), 'mcp');
  await once(socket, 'open');
  socket.send('nonsense');
  const [data] = await once(socket, 'message');
  expect(JSON.parse(String(data))).toMatchObject({ jsonrpc: '2.0', error: { code: -32700 } });
  socket.terminate();
});

describe('a listener of a server by WebSocket', () => {
  it('of its own is known to have an address', async () => {
    const own = await serveWebSocket(echoing());
    listener = own;
    const url: string = own.url;
    expect(url).toMatch(/^ws:/);
  });
});
