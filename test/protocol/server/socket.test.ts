import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { McpClient, McpServer, serveSocket } from '../../../src/protocol/index.ts';
import type { SocketListener, SocketListenOptions } from '../../../src/transport/index.ts';

const ANY = { type: 'object' } as const;

let folder: string;
let listener: SocketListener | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcpwire-'));
});

afterEach(async () => {
  await listener?.close();
  rmSync(folder, { recursive: true, force: true });
});

const targets: { [name: string]: () => SocketListenOptions } = {
  'a TCP port': () => ({ port: 0 }),
  ...(process.platform === 'win32' ? {} : { 'a socket file': () => ({ path: join(folder, 's.sock') }) }),
};

describe.each(Object.keys(targets))('a server on %s', (where) => {
  describe.each(['stateless', 'session'] as const)('in the %s dialect', (dialect) => {
    const serve = async (server: McpServer) => {
      listener = await serveSocket(server, targets[where]?.() ?? { port: 0 });
      return listener.target;
    };

    it('answers several clients at once', async () => {
      const server = new McpServer({ name: 'test', version: '1.0.0' });
      server.tool({ name: 'echo', inputSchema: ANY }, (args) => JSON.stringify(args));
      const target = await serve(server);
      const clients = await Promise.all([1, 2, 3].map(() => McpClient.socket(target, { dialect })));
      expect(listener?.connections).toBe(3);
      const results = await Promise.all(clients.map((client, at) => client.callTool('echo', { at })));
      expect(results.map(({ content }) => content)).toEqual(
        [0, 1, 2].map((at) => [{ type: 'text', text: JSON.stringify({ at }) }]),
      );
      await Promise.all(clients.map((client) => client.close()));
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
      const client = await McpClient.socket(await serve(server), { dialect });
      const call = client.callTool('wait', {}, { signal: controller.signal });
      await expect(call).rejects.toMatchObject({ code: 'ABORTED' });
      await aborted;
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
      const client = await McpClient.socket(await serve(server), { dialect });
      const call = client.callTool('slow');
      await running;
      const closing = listener?.close();
      answer('done');
      expect((await call).content).toEqual([{ type: 'text', text: 'done' }]);
      await closing;
      await client.close();
    });

    it('is found again by a client that lost it', async () => {
      const server = new McpServer({ name: 'test', version: '1.0.0' });
      server.tool({ name: 'echo', inputSchema: ANY }, (args) => JSON.stringify(args));
      const target = await serve(server);
      const client = await McpClient.socket(target, { dialect });
      await listener?.close();
      listener = await serveSocket(server, target);
      await client.reconnect({ baseDelayMs: 1 });
      const { content } = await client.callTool('echo', { again: true });
      expect(content).toEqual([{ type: 'text', text: '{"again":true}' }]);
      await client.close();
    });
  });
});
