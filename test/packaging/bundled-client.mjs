import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { McpClient, McpPlugin } from 'mcpwire';

const [, , server] = process.argv;
const spec = { command: process.execPath, args: [server, 'stdio'] };
const args = { a: 2, b: 3 };
run();

async function run() {
  await callByStdio();
  console.log(`fetch: ${execFileSync(process.execPath, [server], { encoding: 'utf8' }).trim()}`);
  await callByHttp();
  await callAsPlugin();
  const refusal = await McpPlugin.connectStdio(spec, { worker: true }).catch((error) => error);
  console.log(
    `thread: ${refusal.message.includes('its file plugin-worker.js') ? 'no file' : refusal.message}`,
  );
}

async function callByStdio() {
  const client = await McpClient.stdio(spec);
  const { structuredContent } = await client.callTool('add', args);
  console.log(`stdio: ${structuredContent.sum}`);
  const { isError, content } = await client.callTool('add', { a: 'x', b: 3 });
  const [{ text }] = content;
  console.log(`stdio refuses: ${isError && text.includes('/a must be integer') ? 'a' : text}`);
  await client.close();
}

async function callByHttp() {
  const child = spawn(process.execPath, [server, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [url] = await once(child.stdout, 'data');
    const client = await McpClient.http(String(url).trim());
    const { structuredContent } = await client.callTool('add', args);
    console.log(`http: ${structuredContent.sum}`);
    await client.close();
  } finally {
    child.kill();
  }
}

async function callAsPlugin() {
  const plugin = await McpPlugin.connectStdio(spec);
  console.log(`plugin: ${JSON.parse(await plugin.callTool('add', args)).sum}`);
  await plugin.close();
}
