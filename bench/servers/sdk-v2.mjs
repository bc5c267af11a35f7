import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio as serveStdioV2 } from '@modelcontextprotocol/server/stdio';
import { ECHO_SCHEMA, LARGE_SCHEMA, largeText, WORK_SCHEMA } from '../texts.mjs';
import { listen } from './floor.mjs';
import { sessionListener } from './sdk-v1.mjs';

const content = (text) => ({ content: [{ type: 'text', text }] });
const ECHO = fromJsonSchema(ECHO_SCHEMA);
const LARGE = fromJsonSchema(LARGE_SCHEMA);
const WORK = fromJsonSchema(WORK_SCHEMA);

export function createServer() {
  const server = new McpServer({ name: 'bench', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.registerTool('echo', { inputSchema: ECHO }, ({ text }) => content(text));
  server.registerTool('large', { inputSchema: LARGE }, ({ chars }) => content(largeText(chars)));
  server.registerTool('work', { inputSchema: WORK }, async ({ steps }, { mcpReq }) => {
    const { progressToken } = mcpReq._meta;
    for (let step = 1; step <= steps; step++) {
      const params = { progressToken, progress: step, total: steps };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    return content(`${steps} steps`);
  });
  return server;
}

export function serveStdio() {
  serveStdioV2(() => createServer());
}

export function serveHttp(dialect) {
  if (dialect === 'session') {
    listen(sessionListener(createServer, (options) => new NodeStreamableHTTPServerTransport(options)));
  } else {
    listen(toNodeHandler(createMcpHandler(() => createServer())));
  }
}
