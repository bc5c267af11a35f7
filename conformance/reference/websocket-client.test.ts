import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { McpServer, serveWebSocket } from '../../src/protocol/index.ts';

afterEach(() => {
  vi.unstubAllGlobals();
});

it('a client of the reference SDK is served by WebSocket', async () => {
  // It wants the WebSocket of browsers, which older runtimes do not have.
  vi.stubGlobal('WebSocket', WebSocket);
  const server = new McpServer({ name: 'test', version: '1.0.0' });
  server.tool({ name: 'greet', inputSchema: { type: 'object' } }, async (args, context) => {
    const answer = await context.elicit({
      message: 'Your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    return `${JSON.stringify(args)} ${JSON.stringify(answer.content)}`;
  });
  const listener = await serveWebSocket(server);
  const client = new Client({ name: 'reference', version: '1.0.0' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }));
  await client.connect(new WebSocketClientTransport(new URL(listener.url ?? '')));
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['greet']);
  const { content } = await client.callTool({ name: 'greet', arguments: { text: 'ä'.repeat(400_000) } });
  expect(content).toEqual([{ type: 'text', text: `{"text":"${'ä'.repeat(400_000)}"} {"name":"Ada"}` }]);
  const closed = new Promise<void>((resolve) => {
    client.onclose = resolve;
  });
  await listener.close();
  await closed;
});
