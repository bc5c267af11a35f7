import * as mcpwire from '../../dist/index.js';
import { ECHO_SCHEMA, LARGE_SCHEMA, largeText, WORK_SCHEMA } from '../texts.mjs';

export function createServer() {
  const server = new mcpwire.McpServer({ name: 'bench', version: '1.0.0' });
  server.tool({ name: 'echo', inputSchema: ECHO_SCHEMA }, ({ text }) => text);
  server.tool({ name: 'large', inputSchema: LARGE_SCHEMA }, ({ chars }) => largeText(chars));
  server.tool({ name: 'work', inputSchema: WORK_SCHEMA }, async ({ steps }, context) => {
    for (let step = 1; step <= steps; step++) {
      const room = context.progress(step, steps);
      if (room) await room;
    }
    return `${steps} steps`;
  });
  return server;
}

export function serveStdio() {
  mcpwire.serveStdio(createServer());
}

export async function serveHttp() {
  const { url } = await mcpwire.serveHttp(createServer(), { sessions: { maxSessions: 100_000 } });
  console.log(url);
}
