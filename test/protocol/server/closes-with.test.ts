import { describe, expect, it } from 'vitest';
import { McpClient, McpServer, serveHttp, serveSocket, serveWebSocket } from '../../../src/protocol/index.ts';

/** Each way to listen: where a client finds it, and how it connects there. */
const LISTENERS: { [what: string]: (server: McpServer) => Promise<() => Promise<McpClient>> } = {
  HTTP: async (server) => {
    const { url } = await serveHttp(server);
    return () => McpClient.http(url);
  },
  sockets: async (server) => {
    const { target } = await serveSocket(server, { port: 0 });
    return () => McpClient.socket(target);
  },
  WebSocket: async (server) => {
    const { url } = await serveWebSocket(server);
    return () => McpClient.webSocket(url ?? '');
  },
};

describe.each(Object.keys(LISTENERS))('a server that listens by %s and closes', (what) => {
  it('answers what is under way, and then listens no more', async () => {
    const server = new McpServer({ name: 's', version: '1' });
    let started = () => {};
    let release = () => {};
    const begun = new Promise<void>((resolve) => {
      started = resolve;
    });
    server.tool({ name: 'hold', inputSchema: { type: 'object' } }, async () => {
      started();
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return 'released';
    });
    const connect = (await LISTENERS[what]?.(server)) ?? (() => Promise.reject(new Error('unknown')));
    const client = await connect();
    const held = client.callTool('hold');
    await begun;
    const closed = server.close();
    release();
    expect(await held).toMatchObject({ content: [{ text: 'released' }] });
    await closed;
    await expect(connect()).rejects.toMatchObject({ code: 'TRANSPORT_FAILED' });
    await server.close();
    await client.close();
  });
});
