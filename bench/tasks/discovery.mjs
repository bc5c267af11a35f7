import { createRequire } from 'node:module';
import { PassThrough } from 'node:stream';
import { seededTools } from '../texts.mjs';

/** Discovery of many tools whose list is ready to be sent: what it costs a client to have them in a registry. */
export async function create({ reader }) {
  return reader === 'floor' ? { discover: parse } : { discover };
}

/** The first run in a process is the one that counts: nothing is compiled or kept yet. */
function parse(count) {
  const text = listText(count);
  const start = performance.now();
  const { tools } = JSON.parse(text).result;
  const value = performance.now() - start;
  if (tools.length !== count) throw new Error(`${tools.length} tools`);
  return { value };
}

async function discover(count) {
  const text = listText(count);
  const { McpClient, McpToolProvider, StreamTransport, ToolRegistry } = await import('../../dist/index.js');
  const input = new PassThrough();
  const output = new PassThrough();
  output.on('data', (chunk) => {
    for (const line of String(chunk).trim().split('\n')) {
      const { id, method } = JSON.parse(line);
      if (method === 'tools/list') input.write(`${text.replace('"id":0', `"id":${id}`)}\n`);
      else if (method === 'server/discover')
        input.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: DISCOVERY })}\n`);
    }
  });
  const client = await McpClient.connect(new StreamTransport(input, output), { dialect: 'stateless' });
  const registry = new ToolRegistry();
  const start = performance.now();
  const provider = await McpToolProvider.connect(client);
  provider.registerInto(registry);
  const value = performance.now() - start;
  if (registry.size !== count) throw new Error(`${registry.size} of ${count} tools`);
  const loaded = Object.keys(createRequire(import.meta.url).cache).filter((path) =>
    /node_modules[\\/]ajv[\\/]/.test(path),
  );
  if (loaded.length > 0) throw new Error('The schema compiler was loaded before any call');
  await client.close();
  return { value };
}

const DISCOVERY = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
};

function listText(count) {
  const result = { resultType: 'complete', tools: seededTools(count), ttlMs: 0, cacheScope: 'private' };
  return JSON.stringify({ jsonrpc: '2.0', id: 0, result });
}
