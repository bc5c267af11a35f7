// @ts-check
// Connects to one server, whatever dialect it speaks, and calls one tool.
import { fileURLToPath } from 'node:url';
import { McpClient } from 'mcpwire';

const server = fileURLToPath(
  new URL('../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);
const client = await McpClient.stdio({ command: process.execPath, args: [server] }, { stderr: 'pipe' });
try {
  console.log(`${client.serverInfo?.name}: ${client.dialect} dialect, revision ${client.protocolVersion}`);
  const { content } = await client.callTool('get-sum', { a: 2, b: 3 });
  console.log(content);
} finally {
  await client.close();
}
