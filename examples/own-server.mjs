// @ts-check
// A server of our own, for clients of both dialects: over stdio, or by HTTP with --http.
import { McpServer, serveHttp, serveStdio } from 'mcpwire';

const server = new McpServer({ name: 'own-server', version: '1.0.0', instructions: 'Ask for greetings.' });
const greetArgs = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const countArgs = { type: 'object', properties: { to: { type: 'integer', maximum: 100 } }, required: ['to'] };

server.tool(
  { name: 'greet', description: 'Greets', inputSchema: greetArgs, annotations: { readOnlyHint: true } },
  ({ name }) => `Hello, ${name}!`,
);
server.tool(
  { name: 'count', description: 'Counts, and says how far it is', inputSchema: countArgs },
  async ({ to }, context) => {
    for (let n = 1; n <= Number(to); n++) await context.progress(n, Number(to));
    return { structuredContent: { counted: to } };
  },
);

if (process.argv.includes('--http')) console.log(`Listening at ${(await serveHttp(server)).url}`);
else serveStdio(server);
