// @ts-check
// Serves a registry of tools to any MCP client: over stdio, or by HTTP with --http and, if wanted, a port.
import { createTool, McpServerAdapter, ToolError, ToolRegistry } from 'mcpwire';

const registry = new ToolRegistry();

registry.register(
  createTool({
    name: 'word_count',
    description: 'Counts the words of a text',
    isReadOnly: true,
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    outputSchema: { type: 'object', properties: { words: { type: 'integer' } }, required: ['words'] },
    call: (args) => {
      // The adapter has checked that they fit the schema.
      const { text } = /** @type {{ text: string }} */ (args);
      const words = text.split(/\s+/).filter((word) => word !== '').length;
      return { content: JSON.stringify({ words }), displayHint: 'json' };
    },
  }),
);

registry.register(
  createTool({
    name: 'always_fails',
    description: 'Fails, to show that a failure is a result which the model can read',
    call: () => {
      throw new ToolError('execution', 'This tool always fails');
    },
  }),
);

const adapter = new McpServerAdapter({
  registry,
  name: 'example-registry',
  version: '1.0.0',
  onWarning: (warning) => console.error(warning.message),
});

const http = process.argv.indexOf('--http');
if (http === -1) {
  await adapter.serveStdio().waiting();
} else {
  const { url } = await adapter.serveHttp({ port: Number(process.argv[http + 1] ?? 0) });
  console.log(`Listening on ${url}`);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => adapter.close());
}
