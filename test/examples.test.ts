import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processesIn } from './left-behind.ts';

const EXAMPLES = fileURLToPath(new URL('../examples/', import.meta.url));
const MAX_LINES = 80;

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'mcpwire-example-')));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs an example to its own end, in a folder of its own that is also where its temporary files go. */
async function run(name: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(EXAMPLES, name)], {
    cwd: folder,
    env: { ...process.env, TMPDIR: folder },
    timeout: 30_000,
  });
  expect(stderr).toBe('');
  expect(processesIn(folder)).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
  return stdout;
}

describe('examples', () => {
  it('are all run by a test, and short', () => {
    const names = readdirSync(EXAMPLES);
    // Those that are not run below have a file of their own in test/examples.
    expect(names.sort()).toEqual([
      'agent.mjs',
      'ask-and-listen.mjs',
      'call-a-tool.mjs',
      'chat.mjs',
      'import.mjs',
      'main-job.mjs',
      'one-registry.mjs',
      'own-server.mjs',
      'plugin.mjs',
      'serve.mjs',
      'server-features.mjs',
      'sign-in.mjs',
    ]);
    for (const name of names) {
      const lines = readFileSync(join(EXAMPLES, name), 'utf8').trimEnd().split('\n').length;
      expect(lines, name).toBeLessThanOrEqual(MAX_LINES);
    }
  });

  it('main-job.mjs imports servers of both dialects, calls their tools, and leaves nothing behind', async () => {
    const output = await run('main-job.mjs');
    expect(output).toMatch(/^everything +session +2025-11-25 +[\d.]+ ms +mcp-servers\/everything/m);
    expect(output).toMatch(/^files +session /m);
    expect(output).toMatch(/^memory +session /m);
    expect(output).toMatch(/^thinking +session /m);
    expect(output).toMatch(/^own +stateless +2026-07-28 +[\d.]+ ms +own-server 1.0.0$/m);
    expect(output).toContain('39 tools in one registry');
    expect(output).toMatch(/ ms {2}everything__get-sum\n +The sum of 2 and 3 is 5\.\n/);
    expect(output).toMatch(
      / ms {2}files__read_text_file\n +Hello from a file \{ "content": "Hello from a file\\n" \}\n/,
    );
    expect(output).toMatch(/failed: Access denied/);
    expect(output).toMatch(/ ms {2}own__count\n +\{"counted":3\}\n/);
  }, 40_000);

  it('ask-and-listen.mjs asks, is answered, and hears of a change', async () => {
    expect((await run('ask-and-listen.mjs')).split('\n')).toEqual([
      'asked: Which size?',
      "[ { type: 'text', text: 'Ordered size M' } ]",
      'toolsListChanged order, cancel',
      '',
    ]);
  });

  it('server-features.mjs uses all that a server has beside tools', async () => {
    const output = await run('server-features.mjs');
    expect(output.match(/^answered .*/gm)).toEqual([
      'answered server/discover',
      'answered prompts/get',
      'answered resources/read',
      'answered completion/complete',
      'answered tools/call',
    ]);
    expect(output).toContain('Review the book "dune".');
    expect(output).toContain('A matchmaker who should not.');
    expect(output).toContain("values: [ 'dune' ]");
    expect(output).toContain("log: info { model: 'a model' }");
    expect(output).toContain('1 message, summarized (for file:///home/ann)');
  });

  it('call-a-tool.mjs prints what the tool gave', async () => {
    const output = await run('call-a-tool.mjs');
    expect(output).toBe(
      "mcp-servers/everything: session dialect, revision 2025-11-25\n[ { type: 'text', text: 'The sum of 2 and 3 is 5.' } ]\n",
    );
  });

  it('one-registry.mjs uses tools of two origins alike, by way of own-server.mjs', async () => {
    const output = await run('one-registry.mjs');
    expect(output.split('\n')).toEqual([
      'added today',
      'added own__greet',
      'added own__count',
      'A model is told of 3 tools',
      'today: Tuesday',
      'own__greet: Hello, Ada!',
      'own__count: failed, Invalid arguments for tool "count": /to must be integer, not string (type)',
      '',
    ]);
  });

  it('import.mjs imports a server of the same process, calls its tools, and follows them', async () => {
    const output = await run('import.mjs');
    expect(output.split('\n')).toEqual([
      'added weather__temperature',
      'Oslo: Rather cool',
      '{',
      '  "celsius": 7',
      '}',
      'Cairo: failed, Nobody measures in Cairo',
      'added weather__wind',
      '',
    ]);
  });
});
