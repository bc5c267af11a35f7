// @ts-check
// Imports the tools of a server into a registry, beside a tool of the host's own. Whoever takes tools from the registry
// sees no difference.
import { fileURLToPath } from 'node:url';
import { createTool, McpClient, McpToolProvider, ToolRegistry, textOf } from 'mcpwire';

const registry = new ToolRegistry();
registry.onChange(({ type, name }) => console.log(`${type} ${name}`));
registry.register(
  createTool({
    name: 'today',
    description: 'Names the day of the week of a date',
    isReadOnly: true,
    inputSchema: { type: 'object', properties: { date: { type: 'string' } } },
    call: (args) => {
      const { date } = /** @type {{ date: string }} */ (args);
      return new Date(date).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
    },
  }),
);

const server = fileURLToPath(new URL('own-server.mjs', import.meta.url));
const client = await McpClient.stdio({ command: process.execPath, args: [server] });
try {
  const provider = await McpToolProvider.connect(client, { prefix: 'own', callTimeoutMs: 10_000 });
  provider.registerInto(registry);

  console.log(`A model is told of ${registry.schemas().length} tools`);
  // What a model would ask for. A tool that fails is an output too, never an exception.
  const wanted = [
    { name: 'today', args: { date: '2026-07-28' } },
    { name: 'own__greet', args: { name: 'Ada' } },
    { name: 'own__count', args: { to: 'many' } },
  ];
  for (const { name, args } of wanted) {
    const output = await registry.get(name)?.call(args);
    if (output) console.log(`${name}: ${output.isError ? 'failed, ' : ''}${textOf(output)}`);
  }
} finally {
  await client.close();
}
