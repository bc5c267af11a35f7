import { getRequestListener } from '@hono/node-server';
import { ZodJsonSchemaAdapter } from '@tmcp/adapter-zod';
import { HttpTransport } from '@tmcp/transport-http';
import { StdioTransport } from '@tmcp/transport-stdio';
import { McpServer } from 'tmcp';
import { z } from 'zod';
import { largeText } from '../texts.mjs';
import { listen } from './floor.mjs';

const content = (text) => ({ content: [{ type: 'text', text }] });

export function createServer() {
  const server = new McpServer(
    { name: 'bench', version: '1.0.0', description: 'bench' },
    { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } },
  );
  const describe = (name, schema) => ({ name, description: name, schema: z.object(schema) });
  server.tool(describe('echo', { text: z.string() }), ({ text }) => content(text));
  server.tool(describe('large', { chars: z.int() }), ({ chars }) => content(largeText(chars)));
  server.tool(describe('work', { steps: z.int() }), ({ steps }) => {
    for (let step = 1; step <= steps; step++) server.progress(step, steps);
    return content(`${steps} steps`);
  });
  return server;
}

export function serveStdio() {
  new StdioTransport(createServer()).listen();
}

export function serveHttp() {
  const transport = new HttpTransport(createServer(), { path: '/mcp' });
  listen(getRequestListener((request) => transport.respond(request)));
}
