// @ts-check
// A server of our own over stdio. It answers clients of both dialects; one that asks in the stateless dialect first, as
// mcpwire's own client does, stays with that.
import { McpServer, StreamTransport } from 'mcpwire';

const server = new McpServer({ name: 'own-server', version: '1.0.0', instructions: 'Ask for greetings.' });

server.tool(
  {
    name: 'greet',
    description: 'Greets somebody',
    inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    annotations: { readOnlyHint: true },
  },
  ({ name }) => `Hello, ${name}!`,
);

server.tool(
  {
    name: 'count',
    description: 'Counts, and says how far it is',
    inputSchema: { type: 'object', properties: { to: { type: 'integer' } }, required: ['to'] },
    annotations: { readOnlyHint: true },
  },
  async ({ to }, context) => {
    if (!Number.isInteger(to)) throw new Error('"to" must be an integer');
    const end = Math.min(Number(to), 100);
    for (let n = 1; n <= end; n++) await context.progress(n, end);
    return { structuredContent: { counted: end } };
  },
);

server.connect(new StreamTransport(process.stdin, process.stdout, { name: 'stdio', pauseWhenFull: true }));
