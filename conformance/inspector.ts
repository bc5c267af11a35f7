// Has the command-line mode of the official MCP Inspector list and call the tools of examples/own-server.mjs, over stdio
// and by HTTP. It fetches the Inspector, some 100 MB, and so is no part of the other checks.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fetchTool, newerNode } from './tools.ts';

const SERVER = fileURLToPath(new URL('../../examples/own-server.mjs', import.meta.url));
const node = await newerNode();
const inspector = await fetchTool('@modelcontextprotocol/inspector', 2, 'clients/launcher/build/index.js');

async function inspect(target: readonly string[], ...words: string[]): Promise<unknown> {
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
  const args = [inspector, '--cli', ...target, ...words];
  const { stdout } = await promisify(execFile)(node, args, { env, timeout: 60_000 });
  return JSON.parse(stdout);
}

const http = spawn(process.execPath, [SERVER, '--http'], { stdio: ['ignore', 'pipe', 'inherit'] });
try {
  const [line] = await once(createInterface(http.stdout), 'line');
  const url = String(line).replace('Listening at ', '');
  let passed = 0;
  for (const target of [
    [process.execPath, SERVER],
    [url, '--transport', 'http'],
  ]) {
    const listed = (await inspect(target, '--method', 'tools/list')) as { tools: { name: string }[] };
    assert.deepEqual(
      listed.tools.map(({ name }) => name),
      ['greet', 'count'],
    );
    const call = ['--method', 'tools/call', '--tool-name'];
    const greeted = await inspect(target, ...call, 'greet', '--tool-arg', 'name=Ada');
    assert.deepEqual(greeted, { content: [{ type: 'text', text: 'Hello, Ada!' }] });
    const counted = (await inspect(target, ...call, 'count', '--tool-arg', 'to=3')) as {
      structuredContent: unknown;
    };
    assert.deepEqual(counted.structuredContent, { counted: 3 });
    passed += 3;
  }
  console.log(`inspector: ${passed} passed, 0 failed`);
} finally {
  http.kill();
}
