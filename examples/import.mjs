// @ts-check
// Imports the tools of a server in the same process: they are found, registered, called, and followed as they change.
import { McpClient, McpServer, McpToolProvider, ToolRegistry, textOf } from 'mcpwire';

const server = new McpServer({ name: 'weather', version: '1.0.0' });
server.tool(
  {
    name: 'temperature',
    description: 'Tells how warm it is in a city, in degrees Celsius',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    outputSchema: { type: 'object', properties: { celsius: { type: 'number' } }, required: ['celsius'] },
    annotations: { readOnlyHint: true },
  },
  ({ city }) => {
    if (city !== 'Oslo') throw new Error(`Nobody measures in ${city}`);
    return { content: [{ type: 'text', text: 'Rather cool' }], structuredContent: { celsius: 7 } };
  },
);

const client = await McpClient.inProcess(server);
const provider = await McpToolProvider.connect(client, { prefix: 'weather' });
const registry = new ToolRegistry();
registry.onChange(({ type, name }) => console.log(`${type} ${name}`));
const following = await provider.follow(registry);

for (const city of ['Oslo', 'Cairo']) {
  const output = await registry.get('weather__temperature')?.call({ city });
  if (output) console.log(`${city}: ${output.isError ? 'failed, ' : ''}${textOf(output)}`);
}

const heard = new Promise((resolve) => registry.onChange(resolve));
server.tool({ name: 'wind', inputSchema: { type: 'object' } }, () => 'calm');
await heard;

await following.close();
await client.close();
await server.close();
