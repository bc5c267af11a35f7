import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { largeText } from '../texts.mjs';
import { listen } from './floor.mjs';

const content = (text) => ({ content: [{ type: 'text', text }] });

export function createServer() {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => content(text));
  server.registerTool('large', { inputSchema: { chars: z.int() } }, ({ chars }) => content(largeText(chars)));
  server.registerTool(
    'work',
    { inputSchema: { steps: z.int() } },
    async ({ steps }, { _meta, sendNotification }) => {
      const { progressToken } = _meta;
      for (let step = 1; step <= steps; step++) {
        const params = { progressToken, progress: step, total: steps };
        await sendNotification({ method: 'notifications/progress', params });
      }
      return content(`${steps} steps`);
    },
  );
  return server;
}

export async function serveStdio() {
  await createServer().connect(new StdioServerTransport());
}

export function serveHttp() {
  listen(
    sessionListener(
      () => createServer(),
      (options) => new StreamableHTTPServerTransport(options),
    ),
  );
}

/** Sessions as the SDK's own examples keep them, with answers as JSON, its faster way. */
export function sessionListener(makeServer, makeTransport) {
  const transports = new Map();
  return async (request, response) => {
    const known = transports.get(request.headers['mcp-session-id']);
    if (known) {
      await known.handleRequest(request, response);
      return;
    }
    const transport = makeTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => void transports.set(id, transport),
    });
    await makeServer().connect(transport);
    await transport.handleRequest(request, response);
  };
}
