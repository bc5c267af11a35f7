// @ts-check
// The main job: starts servers of both dialects, imports the tools of all into one registry, and calls a few of them.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { McpClient, McpToolProvider, ToolRegistry, textOf } from 'mcpwire';

const reference = (/** @type {string} */ name) =>
  fileURLToPath(
    new URL(`../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url),
  );

const folder = await mkdtemp(join(tmpdir(), 'mcpwire-'));
/** @type {McpClient[]} */
const clients = [];
const registry = new ToolRegistry();
try {
  await writeFile(join(folder, 'hello.txt'), 'Hello from a file\n');
  await connectAll({
    everything: { args: [reference('everything')] },
    files: { args: [reference('filesystem'), folder] },
    memory: { args: [reference('memory')], env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } },
    thinking: { args: [reference('sequential-thinking')] },
    own: { args: [fileURLToPath(new URL('own-server.mjs', import.meta.url))] },
  });
  console.log(`\n${registry.size} tools in one registry\n`);

  await call('everything__get-sum', { a: 2, b: 3 });
  await call('everything__get-tiny-image', {});
  await call('files__read_text_file', { path: join(folder, 'hello.txt') });
  await call('files__read_text_file', { path: '/etc/passwd' });
  const ada = { name: 'Ada', entityType: 'person', observations: ['likes engines'] };
  await call('memory__create_entities', { entities: [ada] });
  await call('memory__search_nodes', { query: 'engines' });
  await call('thinking__sequentialthinking', {
    thought: 'First this',
    nextThoughtNeeded: false,
    thoughtNumber: 1,
    totalThoughts: 1,
  });
  await call('own__greet', { name: 'world' });
  await call('own__count', { to: 3 });
} finally {
  await Promise.all(clients.map((client) => client.close()));
  await rm(folder, { recursive: true, force: true });
}

/** @param {{ [prefix: string]: { args: string[], env?: Record<string, string> } }} servers */
async function connectAll(servers) {
  const connected = Object.entries(servers).map(async ([prefix, spec]) => {
    const startedAt = performance.now();
    const client = await McpClient.stdio({ command: process.execPath, ...spec }, { stderr: 'pipe' });
    clients.push(client);
    const provider = await McpToolProvider.connect(client, { prefix });
    return { prefix, client, provider, tookMs: performance.now() - startedAt };
  });
  // Settled, not all: a server that fails must not leave another one half started.
  for (const outcome of await Promise.allSettled(connected)) {
    if (outcome.status === 'rejected') throw outcome.reason;
    const { prefix, client, provider, tookMs } = outcome.value;
    provider.registerInto(registry);
    const identity = `${client.serverInfo?.name} ${client.serverInfo?.version}`;
    const spoken = `${client.dialect.padEnd(9)}  ${client.protocolVersion}`;
    console.log(`${prefix.padEnd(10)}  ${spoken}  ${milliseconds(tookMs)}  ${identity}`);
    for (const tool of provider.tools()) console.log(`    ${tool.name}`);
  }
}

async function call(/** @type {string} */ name, /** @type {object} */ args) {
  const startedAt = performance.now();
  const output = await registry.get(name)?.call(args);
  const took = milliseconds(performance.now() - startedAt);
  const shown = output ? textOf(output).replace(/\s+/g, ' ').trim().slice(0, 100) : 'no such tool';
  console.log(`${took}  ${name}\n             ${output?.isError ? 'failed: ' : ''}${shown}`);
}

function milliseconds(/** @type {number} */ value) {
  return `${value.toFixed(1).padStart(7)} ms`;
}
