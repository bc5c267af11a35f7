import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processesIn } from '../left-behind.ts';
import { type ChatAnswer, ChatEndpoint, type ChatRequest } from './chat-endpoint.ts';
import { runExample } from './run-example.ts';

const example = (name: string) => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

let folder: string;
let endpoint: ChatEndpoint | undefined;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'mcpwire-example-')));
});
afterEach(async () => {
  await endpoint?.close();
  endpoint = undefined;
  expect(processesIn(folder)).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
});

async function run(
  servers: object,
  answer: (request: ChatRequest) => ChatAnswer,
  args: (file: string) => string[] = (file) => [file, 'Count and greet'],
) {
  const file = join(folder, 'servers.json');
  writeFileSync(file, JSON.stringify({ mcpServers: servers }));
  endpoint = await ChatEndpoint.start(answer);
  const env = { MCPWIRE_BASE_URL: endpoint.url, MCPWIRE_MODEL: 'scripted', NODE: process.execPath };
  return { ended: await runExample('agent.mjs', args(file), env, folder), received: endpoint.received };
}

const SERVERS = {
  words: { command: '$' + '{NODE}', args: [example('serve.mjs')] },
  own: { command: '$' + '{NODE}', args: [example('own-server.mjs')] },
};

describe('examples/agent.mjs', () => {
  it('goes on until the model calls no more tools, with those of all servers in the file', async () => {
    const turns: ChatAnswer[] = [
      {
        text: 'Both at once.',
        calls: [
          { id: '1', name: 'words__word_count', arguments: '{"text":"one two three"}' },
          { id: '2', name: 'own__greet', arguments: '{"name":"Ada"}' },
        ],
      },
      { calls: [{ id: '3', name: 'words__always_fails', arguments: '' }] },
      {
        calls: [
          { id: '4', name: 'no_such_tool', arguments: '{}' },
          { id: '5', name: 'own__greet', arguments: '{"name":' },
        ],
      },
      { text: 'All done.' },
    ];
    const { ended, received } = await run(SERVERS, () => turns.shift() ?? { text: 'too much' });
    expect(ended.stderr).toBe('');
    expect(ended.code).toBe(0);
    expect(ended.stdout).toMatch(/^4 tools of 2 servers\nassistant: Both at once\.\n/);
    expect(ended.stdout).toMatch(/\nassistant: All done\.\n$/);
    // One call after the other.
    expect(ended.stdout).toMatch(
      /\ncalls words__word_count .*\n(?: {2}.*\n)+calls own__greet .*\n {2}Hello, Ada!\n/,
    );
    expect(received[0]?.body.tools.map(({ function: { name } }) => name)).toEqual([
      'words__word_count',
      'words__always_fails',
      'own__greet',
      'own__count',
    ]);
    const told = received.at(-1)?.body.messages.filter(({ role }) => role === 'tool');
    expect(told?.map(({ tool_call_id: id, content }) => [id, content])).toEqual([
      ['1', expect.stringContaining('{"words":3}')],
      ['2', 'Hello, Ada!'],
      ['3', 'This tool always fails'],
      ['4', 'There is no tool no_such_tool'],
      ['5', expect.stringMatching(/^The arguments are no JSON: /)],
    ]);
  });

  it('works with the servers that start, and says which did not', async () => {
    const broken = { ...SERVERS, broken: { command: join(folder, 'nothing-here') } };
    const { ended } = await run(broken, () => ({ text: 'Fine.' }));
    expect(ended.code).toBe(0);
    expect(ended.stdout).toBe('4 tools of 2 servers\nassistant: Fine.\n');
    expect(ended.stderr).toMatch(/^Cannot start server "broken": /);
  });

  it('does not go on for ever', async () => {
    const calls = [{ id: '1', name: 'own__greet', arguments: '{"name":"again"}' }];
    const { ended, received } = await run({ own: SERVERS.own }, () => ({ calls }));
    expect(ended).toMatchObject({ code: 1, stderr: 'Not done after 20 turns\n' });
    expect(received).toHaveLength(20);
  });

  it('says how it is used', async () => {
    const { ended } = await run(
      SERVERS,
      () => ({}),
      () => [],
    );
    expect(ended).toEqual({
      code: 2,
      stdout: '',
      stderr: 'Usage: node agent.mjs <mcpServers file> <task>\n',
    });
  });
});
