// The official SDK, version 1, over stdio: the session dialect alone.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer(
  { name: 'sdk-v1', version: '1.0.0' },
  { capabilities: { tools: {}, logging: {} }, instructions: 'For tests' },
);

server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => ({
  content: [{ type: 'text', text }],
}));

server.registerTool(
  'add',
  {
    title: 'Add',
    description: 'Adds two numbers',
    inputSchema: { a: z.number(), b: z.number() },
    outputSchema: { sum: z.number() },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  ({ a, b }) => ({
    content: [{ type: 'text', text: JSON.stringify({ sum: a + b }) }],
    structuredContent: { sum: a + b },
  }),
);

server.registerTool('fail', { inputSchema: {} }, () => {
  throw new Error('this tool always fails');
});

server.registerTool(
  'work',
  { inputSchema: { steps: z.number() } },
  async ({ steps }, { _meta, sendNotification }) => {
    for (let step = 1; step <= steps && _meta?.progressToken !== undefined; step++) {
      await sendNotification({
        method: 'notifications/progress',
        params: { progressToken: _meta.progressToken, progress: step, total: steps, message: `step ${step}` },
      });
    }
    return { content: [{ type: 'text', text: `${steps} steps` }] };
  },
);

server.registerTool('wait', { inputSchema: {} }, (_args, { signal }) => {
  console.error('waiting');
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      console.error('cancelled');
      reject(new Error('cancelled'));
    });
  });
});

server.registerTool('greet', { inputSchema: {} }, async () => {
  const { content } = await server.server.elicitInput({
    message: 'Who are you?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  });
  return { content: [{ type: 'text', text: `Hello, ${content.name} (asked)` }] };
});

let grown;
server.registerTool('grow', { inputSchema: {} }, () => {
  if (grown) grown.remove();
  grown = grown
    ? undefined
    : server.registerTool('grown', { inputSchema: {} }, () => ({ content: [{ type: 'text', text: 'new' }] }));
  return { content: [{ type: 'text', text: grown ? 'grown' : 'shrunk' }] };
});

await server.connect(new StdioServerTransport());
