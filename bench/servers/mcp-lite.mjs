import { getRequestListener } from '@hono/node-server';
import { McpServer, StreamableHttpTransport } from 'mcp-lite';
import { z } from 'zod';
import { largeText } from '../texts.mjs';
import { listen } from './floor.mjs';

const content = (text) => ({ content: [{ type: 'text', text }] });

export function createServer() {
  const server = new McpServer({
    name: 'bench',
    version: '1.0.0',
    schemaAdapter: (schema) => z.toJSONSchema(schema),
  });
  server.tool('echo', {
    inputSchema: z.object({ text: z.string() }),
    handler: ({ text }) => content(text),
  });
  server.tool('large', {
    inputSchema: z.object({ chars: z.int() }),
    handler: ({ chars }) => content(largeText(chars)),
  });
  return server;
}

export function serveHttp() {
  const handle = new StreamableHttpTransport().bind(createServer());
  listen(getRequestListener((request) => handle(request)));
}
