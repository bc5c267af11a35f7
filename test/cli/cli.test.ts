import assert from 'node:assert';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { gone } from '../transport/running.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const CLI = path('../../dist/cli.js');
const SERVER = [process.execPath, path('server.mjs')];
const PEER = (name: string) => [process.execPath, path(`../hostile/peers/${name}.mjs`)];

function start(own: string[], server = SERVER): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [CLI, ...own, '--', ...server]);
}

async function finish(child: ChildProcessWithoutNullStreams) {
  const [out, err, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { out, err, status };
}

const mcpwire = (own: string[], server = SERVER) => finish(start(own, server));

/** Resolves with the matched text once the child has written it to its stderr. */
async function stderrShows(child: ChildProcessWithoutNullStreams, pattern: RegExp): Promise<RegExpExecArray> {
  let seen = '';
  for await (const chunk of child.stderr.iterator({ destroyOnReturn: false })) {
    seen += chunk;
    const match = pattern.exec(seen);
    if (match) return match;
  }
  throw new Error(`stderr ended without ${pattern}: ${seen}`);
}

describe('mcpwire', () => {
  it('prints its help with the exit statuses, and its version', async () => {
    const help = spawn(process.execPath, [CLI, '--help']);
    expect(await finish(help)).toMatchObject({
      status: 0,
      err: '',
      out: expect.stringContaining('Exit status:'),
    });
    const { version } = JSON.parse(readFileSync(path('../../package.json'), 'utf8'));
    expect(await finish(spawn(process.execPath, [CLI, '--version']))).toEqual({
      status: 0,
      err: '',
      out: `${version}\n`,
    });
  });

  it('says on stderr what is wrong with the command line, and exits with 2', async () => {
    expect(await finish(spawn(process.execPath, [CLI, 'tools']))).toEqual({
      status: 2,
      out: '',
      err: 'mcpwire: The server is missing: end with its address, or with -- and the command that starts it\nTry mcpwire --help\n',
    });
  });
});

describe('mcpwire discover', () => {
  it('prints a table of what the server is', async () => {
    expect(await mcpwire(['discover'])).toEqual({
      status: 0,
      err: '',
      out: 'Server    hostile 1.0.0\nDialect   session\nRevision  2025-11-25\nOffers    tools\n',
    });
  });

  it('prints the same as JSON', async () => {
    const { out, status } = await mcpwire(['discover', '--json']);
    expect(status).toBe(0);
    expect(JSON.parse(out)).toEqual({
      dialect: 'session',
      protocolVersion: '2025-11-25',
      serverInfo: { name: 'hostile', version: '1.0.0' },
      capabilities: { tools: {} },
    });
  });
});

describe('mcpwire tools', () => {
  it('prints a table with names, arguments and the first line of each description', async () => {
    const { out, status } = await mcpwire(['tools']);
    expect(status).toBe(0);
    const [head, echo] = out.split('\n');
    expect(head).toMatch(/^NAME +ARGUMENTS +DESCRIPTION$/);
    expect(echo).toMatch(
      /^echo +text: string, count\?: integer, .*choice\?: "a"\|"b" +Gives back its arguments$/,
    );
  });

  it('prints the list as JSON, every byte of it, however slowly it is read', async () => {
    const child = start(['tools', '--json']);
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      child.stdout.pause();
      setImmediate(() => child.stdout.resume());
    });
    await once(child, 'close');
    expect(child.exitCode).toBe(0);
    const tools = JSON.parse(Buffer.concat(chunks).toString());
    expect(tools).toHaveLength(6);
    expect(tools[4].description).toHaveLength(2_000_000);
  });

  it('is quiet when its reader goes away', async () => {
    const child = start(['tools', '--json']);
    child.stdout.once('data', () => child.stdout.destroy());
    const [err, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect({ err, status }).toEqual({ err: '', status: 0 });
  });
});

describe.skipIf(process.platform !== 'linux')('an output that cannot be written', () => {
  it('is an error and exits with 4', async () => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [CLI, 'tools', '--', ...SERVER], {
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    assert(child.stderr);
    const [err, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(status).toBe(4);
    expect(err).toMatch(/^mcpwire: Cannot write the output: .*ENOSPC.* \(TRANSPORT_FAILED\)\n$/);
  });
});

describe('mcpwire call', () => {
  it('gives each key=value the type of the schema', async () => {
    const words = ['text=5', 'count=5', 'flag=true', 'list=[1]', 'either=null', 'other=7'];
    const { out, status } = await mcpwire(['call', 'echo', ...words]);
    expect(status).toBe(0);
    expect(JSON.parse(out)).toEqual({ text: '5', count: 5, flag: true, list: [1], either: null, other: '7' });
  });

  it('takes one JSON object as it is', async () => {
    expect(await mcpwire(['call', 'echo', '{"text":5}'])).toEqual({
      status: 0,
      err: '',
      out: '{"text":5}\n',
    });
  });

  it('takes a JSON object from standard input', async () => {
    const child = start(['call', 'echo', '-']);
    child.stdin.end('{"from":"stdin"}');
    expect(await finish(child)).toEqual({ status: 0, err: '', out: '{"from":"stdin"}\n' });
  });

  it('does not start the server when standard input is no JSON object', async () => {
    const child = start(['call', 'echo', '-', '--verbose']);
    child.stdin.end('[1]');
    expect(await finish(child)).toEqual({
      status: 2,
      out: '',
      err: 'Reading the arguments from standard input\nmcpwire: Standard input must be a JSON object\nTry mcpwire --help\n',
    });
  });

  it('refuses a value of the wrong type before the call', async () => {
    const { status, err } = await mcpwire(['call', 'echo', 'count=many']);
    expect({ status, err }).toEqual({
      status: 2,
      err: 'mcpwire: Argument "count" must be integer: "many" is not\nTry mcpwire --help\n',
    });
  });

  it('prints what a failed tool says on stderr and exits with 1', async () => {
    expect(await mcpwire(['call', 'fail'])).toEqual({ status: 1, out: '', err: 'the tool failed\n' });
  });

  it('prints the result of a failed tool on stdout where JSON is wanted', async () => {
    const { status, out, err } = await mcpwire(['call', 'fail', '--json']);
    expect({ status, err }).toEqual({ status: 1, err: '' });
    expect(JSON.parse(out)).toEqual({ content: [{ type: 'text', text: 'the tool failed' }], isError: true });
  });

  it('exits with 4 when the server refuses the request or does not answer in time', async () => {
    expect(await mcpwire(['call', 'refuse'])).toEqual({
      status: 4,
      out: '',
      err: 'mcpwire: no such luck (RPC_ERROR)\n',
    });
    const late = await mcpwire(['call', 'hang', '--timeout', '0.5']);
    expect(late.status).toBe(4);
    expect(late.err).toMatch(/^mcpwire: .*did not answer "tools\/call" within 500 ms \(TIMEOUT\)\n$/);
  });

  it('exits with 4 when the server is lost during the call', async () => {
    const { status, err } = await mcpwire(['call', 'echo'], PEER('exits-mid-call'));
    expect(status).toBe(4);
    expect(err).toContain('PROCESS_EXITED');
  });

  it('prints a large result whole', async () => {
    const { out } = await mcpwire(['call', 'big']);
    expect(out).toHaveLength(3_000_001);
  });

  it('shows on stderr, with --verbose, the connection, progress, log messages and the stderr of the server', async () => {
    const { err, out } = await mcpwire(['call', 'big', '--verbose']);
    expect(out).toHaveLength(3_000_001);
    expect(err).toMatch(/server \d+ starts\n/);
    expect(err).toMatch(/Connected to ".*" in \d+ ms: session dialect, revision 2025-11-25\n/);
    expect(err).toContain('Progress: 1 of 2, half\n');
    expect(err).toContain('Log (warning): big one\n');
  });

  it('leaves control characters to a pipe as they are', async () => {
    expect((await mcpwire(['call', 'escape'])).out).toBe('\u001b[31mred\n');
  });
});

describe('a server that cannot be connected to', () => {
  it('exits with 3 and names the command when there is no such program', async () => {
    const { status, err } = await mcpwire(['tools'], ['no-such-program-anywhere']);
    expect(status).toBe(3);
    expect(err).toMatch(/^mcpwire: .*no-such-program-anywhere.*\(SPAWN_FAILED\)\n$/);
  });

  it('exits with 3 and shows the last words of a server that exits at once', async () => {
    const { status, err } = await mcpwire(['tools'], PEER('exits-at-once'));
    expect(status).toBe(3);
    expect(err).toContain('(CONNECT_FAILED)');
  });

  it('exits with 3 when the dialect that is asked for is not spoken', async () => {
    const { status, err } = await mcpwire(['tools', '--dialect', 'stateless']);
    expect(status).toBe(3);
    expect(err).toContain('server/discover: error -32601, Method not found: server/discover');
  });
});

describe.skipIf(process.platform === 'win32')('a signal', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends the server too, and the exit status is %d', async (signal, expected) => {
    const child = start(['call', 'hang', '--verbose']);
    const out = text(child.stdout);
    const [, pid] = await stderrShows(child, /server (\d+) starts[\s\S]*hanging/);
    child.kill(signal);
    const [status] = await once(child, 'exit');
    expect(status).toBe(expected);
    expect(await out).toBe('');
    await gone(Number(pid));
  });

  it('ends a command that waits for standard input', async () => {
    const child = start(['call', 'echo', '-', '--verbose']);
    await stderrShows(child, /Reading the arguments from standard input/);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
  });
});
