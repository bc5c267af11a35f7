import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { McpToolProvider, ToolRegistry } from '../../src/bridge/index.ts';
import { type DialectName, McpClient } from '../../src/protocol/index.ts';

const SERVE = fileURLToPath(new URL('../../examples/serve.mjs', import.meta.url));

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function overStdio(dialect: DialectName): Promise<McpClient> {
  const client = await McpClient.stdio({ command: process.execPath, args: [SERVE] }, { dialect });
  open.push(client);
  return client;
}

async function overHttp(dialect: DialectName): Promise<McpClient> {
  const server = spawn(process.execPath, [SERVE, '--http'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(server, 'exit');
  open.push({
    close: async () => {
      server.kill();
      expect(await exited).toEqual([0, null]);
    },
  });
  for await (const line of createInterface(server.stdout)) {
    const client = await McpClient.http(line.replace('Listening on ', ''), { dialect });
    open.push(client);
    return client;
  }
  throw new Error('The example did not start');
}

describe.each([
  ['stdio', overStdio],
  ['HTTP', overHttp],
] as const)('examples/serve.mjs over %s', (_, connect) => {
  it.each(['session', 'stateless'] as const)(
    'serves its registry in the %s dialect, the tool that always fails included',
    async (dialect) => {
      const client = await connect(dialect);
      expect(client).toMatchObject({ dialect, serverInfo: { name: 'example-registry', version: '1.0.0' } });
      expect(await client.callTool('word_count', { text: 'three  words here' })).toMatchObject({
        content: [{ type: 'text', text: '{"words":3}' }],
        structuredContent: { words: 3 },
      });
      const registry = new ToolRegistry();
      (await McpToolProvider.connect(client)).registerInto(registry);
      expect(registry.names()).toEqual(['word_count', 'always_fails']);
      expect(await registry.get('always_fails')?.call({})).toMatchObject({
        isError: true,
        content: 'This tool always fails',
      });
    },
  );
});
