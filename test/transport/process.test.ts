import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject, JsonRpcMessage } from '../../src/jsonrpc/index.ts';
import {
  ProcessError,
  type ProcessOptions,
  type ProcessSpec,
  ProcessTransport,
} from '../../src/transport/index.ts';
import { RecordingSink } from './recording-sink.ts';
import { gone, isRunning } from './running.ts';

const peer = (name: string) => fileURLToPath(new URL(`../hostile/peers/${name}.mjs`, import.meta.url));
const node = (script: string): ProcessSpec => ({ command: process.execPath, args: ['-e', script] });
const run = (name: string, ...args: string[]): ProcessSpec => ({
  command: process.execPath,
  args: [peer(name), ...args],
});
const call = (args: JsonObject = {}): JsonRpcMessage => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'echo', arguments: args },
});
const ping: JsonRpcMessage = { jsonrpc: '2.0', id: 1, method: 'ping' };

const open = new Set<ProcessTransport>();
const strays = new Set<number>();

async function start(spec: ProcessSpec, options: ProcessOptions = {}) {
  const lines: string[] = [];
  const wake: (() => void)[] = [];
  const onLine = (text: string) => {
    lines.push(text);
    for (const each of wake.splice(0)) each();
  };
  const transport = new ProcessTransport(spec, { stderr: onLine, ...options });
  open.add(transport);
  const sink = new RecordingSink();
  await transport.start(sink);
  /** Resolves with the number behind the first stderr line that starts with this word. */
  const stderrNumber = async (word: string): Promise<number> => {
    for (;;) {
      const found = lines.find((text) => text.startsWith(`${word} `));
      if (found) return Number(found.slice(word.length + 1));
      await new Promise<void>((resolve) => wake.push(resolve));
    }
  };
  return { transport, sink, lines, pid: transport.pid ?? 0, stderrNumber };
}

afterEach(async () => {
  await Promise.all([...open].map((transport) => transport.close()));
  open.clear();
  for (const pid of strays) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  strays.clear();
});

describe('starting', () => {
  it('resolves once the process runs, and tells its pid', async () => {
    const { pid, sink } = await start(node('process.stdin.resume()'));
    expect(isRunning(pid)).toBe(true);
    expect(sink.closes).toEqual([]);
  });

  it('says that the command was not found', async () => {
    const transport = new ProcessTransport({ command: 'no-such-program-anywhere' });
    const sink = new RecordingSink();
    await expect(transport.start(sink)).rejects.toMatchObject({
      name: 'ProcessError',
      code: 'SPAWN_FAILED',
      message: expect.stringMatching(
        /^Cannot start "no-such-program-anywhere": the command .* was not found/,
      ),
      exitCode: null,
    });
    await transport.close();
    expect(sink).toMatchObject({ messages: [], errors: [], closes: [] });
    expect(transport.pid).toBeUndefined();
  });

  it('says that the folder to start in does not exist, or is none', async () => {
    const cwd = join(tmpdir(), 'no-such-folder-anywhere');
    await expect(start({ command: process.execPath, cwd })).rejects.toThrow(
      `the folder ${JSON.stringify(cwd)} does not exist; correct "cwd"`,
    );
    await expect(start({ command: process.execPath, cwd: process.execPath })).rejects.toThrow(/is no folder/);
  });

  it('says which file is missing, not executable, or names a missing interpreter', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mcpwire-'));
    const script = join(folder, 'script');
    await writeFile(script, '#!/no/such/interpreter\n');
    await expect(start({ command: script })).rejects.toThrow(/may not be executed/);
    await chmod(script, 0o755);
    await expect(start({ command: script })).rejects.toThrow(/the interpreter/);
    await expect(start({ command: './script', cwd: folder })).rejects.toThrow(/the interpreter/);
    await rm(folder, { recursive: true });
    await expect(start({ command: script })).rejects.toThrow(/the file .* does not exist/);
  });

  it('turns what the system refuses at once into the same error', async () => {
    await expect(start({ command: 'a\0b' })).rejects.toMatchObject({ code: 'SPAWN_FAILED' });
    await expect(start({ command: 'true', args: ['x'.repeat(2 ** 22)] })).rejects.toMatchObject({
      code: 'SPAWN_FAILED',
    });
  });

  it('refuses a spec and options that make no sense', () => {
    const make = (spec: Partial<ProcessSpec>, options?: ProcessOptions) => () =>
      new ProcessTransport({ command: 'true', ...spec }, options);
    expect(make({ command: '' })).toThrow(/command/);
    expect(make({}, { graceMs: -1 })).toThrow(/graceMs/);
    expect(make({}, { graceMs: Number.POSITIVE_INFINITY })).toThrow(/graceMs/);
    expect(make({}, { maxLineBytes: 0 })).toThrow(/maxLineBytes/);
  });

  it('names the server by its program and its first argument that is no option', () => {
    const name = (spec: ProcessSpec) => new ProcessTransport(spec).name;
    expect(name({ command: '/usr/bin/npx', args: ['-y', '@scope/server', '--key=secret'] })).toBe(
      'npx @scope/server',
    );
    expect(name({ command: 'server' })).toBe('server');
    expect(new ProcessTransport({ command: 'x' }, { name: 'files' }).name).toBe('files');
  });

  it('starts once, and not after a close; a close while it starts ends the process', async () => {
    const { transport } = await start(node('process.stdin.resume()'));
    await expect(transport.start(new RecordingSink())).rejects.toMatchObject({ code: 'CLOSED' });

    const closed = new ProcessTransport(node(''));
    await closed.close();
    await expect(closed.start(new RecordingSink())).rejects.toMatchObject({ code: 'CLOSED' });

    const hasty = new ProcessTransport(run('ignores-end-of-input'), { graceMs: 1500 });
    const sink = new RecordingSink();
    const starting = hasty.start(sink).catch((error) => error);
    await hasty.close();
    expect(await starting).toMatchObject({ code: 'CLOSED' });
    expect(isRunning(hasty.pid ?? 0)).toBe(false);
    expect(sink.closes).toEqual([]);
  });
});

describe('what the server is given', () => {
  const report = `process.stdin.resume(); console.log(JSON.stringify({ env: process.env, cwd: process.cwd(), args: process.argv.slice(1) }))`;

  it('is the safe part of the environment and what is named, no more', async () => {
    process.env.MCPWIRE_TEST_SECRET = 'secret';
    const { sink } = await start({ ...node(report), env: { GIVEN: 'yes', HOME: '/elsewhere' } });
    const { env } = (await sink.messageNumber(1)) as { env: Record<string, string> };
    expect(env).toMatchObject({ GIVEN: 'yes', HOME: '/elsewhere', PATH: process.env.PATH });
    expect(env).not.toHaveProperty('MCPWIRE_TEST_SECRET');
    expect(env).not.toHaveProperty('VITEST');
  });

  it('is the whole environment with inheritEnv', async () => {
    process.env.MCPWIRE_TEST_SECRET = 'secret';
    const { sink } = await start({ ...node(report), env: { GIVEN: 'yes' } }, { inheritEnv: true });
    expect(await sink.messageNumber(1)).toMatchObject({
      env: { MCPWIRE_TEST_SECRET: 'secret', GIVEN: 'yes' },
    });
  });

  it('is no shell function', async () => {
    process.env.LC_MESSAGES = '() { :; }; echo';
    try {
      const { sink } = await start(node(report));
      const { env } = (await sink.messageNumber(1)) as { env: Record<string, string> };
      expect(env).not.toHaveProperty('LC_MESSAGES');
    } finally {
      delete process.env.LC_MESSAGES;
    }
  });

  it('is the folder and the arguments as they are, whatever a shell would make of them', async () => {
    const cwd = await realpath(tmpdir());
    const args = ['-e', report, '--', 'a b', '$HOME', '"; exit', '*', ''];
    const { sink } = await start({ command: process.execPath, args, cwd });
    expect(await sink.messageNumber(1)).toMatchObject({ cwd, args: args.slice(3) });
  });
});

describe('messages', () => {
  it('travel both ways, also when every code point arrives in pieces', async () => {
    const { transport, sink } = await start(run('splits-code-points'));
    transport.send(call({ text: 'naïve 日本 😀' }));
    expect(await sink.messageNumber(1)).toMatchObject({
      id: 1,
      result: { content: [{ text: 'naïve 日本 😀' }] },
    });
  });

  it('survive noise on stdout, which is reported line by line', async () => {
    const { transport, sink } = await start(run('noise-on-stdout'));
    transport.send(call({ text: 'heard' }));
    transport.send({ ...ping, id: 2 });
    while (sink.messages.length < 6) await sink.messageNumber(sink.messages.length + 1);
    expect(sink.messages).toContainEqual(expect.objectContaining({ id: 1 }));
    expect(sink.messages).toContainEqual(expect.objectContaining({ id: 2 }));
    const codes = new Set(sink.errors.map(({ code }) => code));
    expect(codes).toEqual(new Set(['INVALID_JSON', 'INVALID_UTF8']));
    expect(sink.closes).toEqual([]);
  });

  it('survive a line that never ends: one error, and memory for none of it', async () => {
    const { transport, sink } = await start(run('never-ending-line'), { maxLineBytes: 100_000 });
    transport.send(call());
    expect(await sink.firstError()).toMatchObject({ code: 'LINE_TOO_LONG' });
    await transport.close();
    expect(sink.errors).toHaveLength(1);
  });

  it('arrive in full from a server that exits as soon as they have left it', async () => {
    const { transport, sink } = await start(run('prints-then-exits'));
    transport.send(call({ size: 8 * 2 ** 20 }));
    expect(await sink.closed()).toMatchObject({ code: 'PROCESS_EXITED', exitCode: 0 });
    const [answer] = sink.messages as { result: { content: { text: string }[] } }[];
    expect(answer?.result.content[0]?.text).toHaveLength(8 * 2 ** 20);
  });

  it('wait for a server that does not read, which the sender is told, and end with it', async () => {
    const { transport, sink, pid } = await start(run('never-reads-stdin'), { graceMs: 1500 });
    const sent = Array.from({ length: 64 }, () => transport.send(call({ text: 'x'.repeat(2 ** 16) })));
    const waiting = sent.at(-1);
    expect(waiting).toBeInstanceOf(Promise);
    await transport.close();
    await waiting;
    expect(isRunning(pid)).toBe(false);
    expect(sink.closes).toEqual([undefined]);
  });

  it('to a server that asks without reading are refused at the bound', async () => {
    const { transport, sink } = await start(run('floods-pings'), {
      maxBufferedBytes: 100_000,
      graceMs: 1500,
    });
    let refused: unknown;
    for (let id = 0; !refused; id += 1) {
      await sink.messageNumber(id + 1);
      try {
        void transport.send({ jsonrpc: '2.0', id, result: {} });
      } catch (error) {
        refused = error;
      }
    }
    expect(refused).toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringMatching(/maxBufferedBytes/),
    });
  });
});

describe('stderr', () => {
  it('is read as fast as it comes', async () => {
    const { transport, sink, lines } = await start(run('megabyte-of-stderr'));
    for (let id = 1; id <= 3; id += 1) {
      transport.send({ ...ping, id });
      await sink.messageNumber(id);
    }
    await transport.close();
    expect(lines.join('\n').length).toBeGreaterThan(3 * 2 ** 20);
    expect(transport.stderrTail.length).toBeLessThanOrEqual(8192);
    expect(transport.stderrTail).toMatch(/^noise .*\n$/s);
  });

  it('is cut into lines, long ones into pieces, the last one without a newline too', async () => {
    const script = `process.stderr.write('one\\r\\n\\ntwo 😀\\n' + 'x'.repeat(300000) + '\\nlast')`;
    const { sink, lines } = await start(node(script));
    await sink.closed();
    expect(lines.slice(0, 3)).toEqual(['one', '', 'two 😀']);
    expect(lines.at(-1)).toBe('last');
    const pieces = lines.slice(3, -1);
    expect(pieces.join('')).toBe('x'.repeat(300_000));
    expect(pieces.length).toBeGreaterThan(1);
  });

  it('may be kept for errors only, or ignored', async () => {
    for (const [stderr, tail] of [
      ['pipe', 'cannot open the database\n'],
      ['ignore', ''],
    ] as const) {
      const { sink } = await start(run('exits-at-once'), { stderr });
      expect(await sink.closed()).toMatchObject({ exitCode: 3, stderrTail: tail });
    }
  });

  it('goes to that of this process by default', async () => {
    const { child } = spawnHost('wait', peer('exits-at-once'));
    expect(await text(child.stderr)).toContain('cannot open the database\n');
  });

  it('costs an error report when its function throws, and nothing else', async () => {
    const { transport, sink } = await start(run('exits-mid-call'), {
      stderr: () => {
        throw new Error('my fault');
      },
    });
    transport.send(call());
    expect(await sink.closed()).toMatchObject({ exitCode: 7 });
    expect(sink.errors[0]).toMatchObject({
      code: 'HANDLER_FAILED',
      message: expect.stringMatching(/my fault/),
    });
  });
});

describe('an end that was not asked for', () => {
  it('is one error with the exit code and the last words on stderr', async () => {
    const { transport, sink, pid } = await start(run('exits-mid-call'), { name: 'cheese' });
    transport.send(call());
    const reason = await sink.closed();
    expect(reason).toBeInstanceOf(ProcessError);
    expect(reason).toMatchObject({
      code: 'PROCESS_EXITED',
      exitCode: 7,
      signal: null,
      stderrTail: 'warming up\nout of cheese\n',
      message:
        'The server "cheese" is gone: it exited with code 7 before it sent a message; its last words on stderr:\nwarming up\nout of cheese',
    });
    await transport.close();
    expect(sink.closes).toHaveLength(1);
    expect(isRunning(pid)).toBe(false);
  });

  it('may come before anything is read or sent', async () => {
    const { transport, sink } = await start(run('exits-at-once'));
    const sent = Promise.resolve(transport.send(call())).catch((error) => error);
    const reason = await sink.closed();
    expect(reason).toMatchObject({ code: 'PROCESS_EXITED', exitCode: 3 });
    expect([undefined, reason]).toContain(await sent);
    expect(() => transport.send(call())).toThrow(reason);
  });

  it('names the signal that killed the process', async () => {
    const { transport, sink } = await start(run('killed-mid-call'));
    transport.send(call());
    expect(await sink.closed()).toMatchObject({
      exitCode: null,
      signal: 'SIGKILL',
      message: expect.stringContaining('it was killed by SIGKILL'),
    });
  });

  it('may be a closed stdout; the process that runs on is ended', async () => {
    const { transport, sink, pid } = await start(run('closes-stdout'), { graceMs: 1500 });
    transport.send(call());
    expect(await sink.closed()).toMatchObject({
      code: 'PROCESS_EXITED',
      exitCode: null,
      message: expect.stringContaining('it closed its output and has not exited'),
    });
    await transport.close();
    expect(isRunning(pid)).toBe(false);
  });

  it('may be a closed stdin, which shows when the next message is sent', async () => {
    const { transport, sink, pid } = await start(run('closes-stdin'), { graceMs: 15000 });
    transport.send(call());
    await sink.messageNumber(1);
    for (let id = 2; sink.closes.length === 0; id += 1) {
      const sent = Promise.resolve(transport.send({ ...ping, id }));
      await Promise.race([sent.catch((error) => expect(error).toBeInstanceOf(ProcessError)), sink.closed()]);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await sink.closed()).toMatchObject({
      code: 'PROCESS_EXITED',
      message: expect.stringContaining('it stopped reading its input and has not exited'),
      cause: { message: expect.stringContaining('EPIPE') },
    });
    await transport.close();
    expect(isRunning(pid)).toBe(false);
  });

  it('is told although a descendant out of reach holds stdout and stderr open; ours are closed', async () => {
    const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
    const before = pipes();
    const { transport, sink, stderrNumber } = await start(run('child-holds-the-pipe'));
    transport.send(call());
    const child = await stderrNumber('child');
    strays.add(child);
    expect(await sink.closed()).toMatchObject({ code: 'PROCESS_EXITED', exitCode: 0 });
    await transport.close();
    expect(isRunning(child)).toBe(true);
    // A handle is closed in a later turn of the event loop.
    while (pipes() > before) await new Promise((resolve) => setImmediate(resolve));
  });

  it('is told although a descendant in the group is deaf to SIGTERM, and before that is killed', async () => {
    const script = `trap '' TERM; sleep 300 & echo "child $!" >&2; exit 5`;
    const { transport, sink, stderrNumber } = await start({ command: 'sh', args: ['-c', script] });
    const child = await stderrNumber('child');
    expect(await sink.closed()).toMatchObject({ exitCode: 5, stderrTail: `child ${child}\n` });
    expect(isRunning(child)).toBe(true);
    await transport.close();
    expect(isRunning(child)).toBe(false);
  });

  it('takes the group along', async () => {
    const spec = { command: 'sh', args: ['-c', 'sleep 300 & echo "child $!" >&2; exit 4'] };
    const { transport, sink, stderrNumber } = await start(spec);
    const child = await stderrNumber('child');
    expect(await sink.closed()).toMatchObject({ exitCode: 4 });
    await transport.close();
    expect(isRunning(child)).toBe(false);
  });
});

describe('closing', () => {
  it('lets a server leave that does so when its input ends, without a signal', async () => {
    const { transport, sink, pid, lines } = await start(run('leaves-slowly'));
    transport.send(ping);
    await sink.messageNumber(1);
    await transport.close();
    expect(lines).toEqual(['left in peace']);
    expect(isRunning(pid)).toBe(false);
    expect(sink.closes).toEqual([undefined]);
  });

  it('tells the sink at once, and the sender that it is closed', async () => {
    const { transport, sink } = await start(run('leaves-slowly'));
    const closed = transport.close();
    expect(sink.closes).toEqual([undefined]);
    expect(() => transport.send(ping)).toThrow(expect.objectContaining({ code: 'CLOSED' }));
    await closed;
  });

  it('hands over what was sent just before', async () => {
    const { transport, lines } = await start(
      node(`process.stdin.on('data', (data) => process.stderr.write(data))`),
    );
    transport.send(ping);
    await transport.close();
    expect(lines.map((text) => JSON.parse(text))).toEqual([ping]);
  });

  it('sends SIGTERM to a server that ignores the end of its input, and SIGKILL to one that ignores that too', async () => {
    const mild = await start(run('ignores-end-of-input'), { graceMs: 1500 });
    const hard = await start(run('ignores-sigterm'), { graceMs: 1500 });
    for (const { transport, sink, pid } of [mild, hard]) {
      transport.send(ping);
      await sink.messageNumber(1);
      await transport.close();
      expect(isRunning(pid)).toBe(false);
    }
    expect(mild.lines).toEqual([]);
    expect(hard.lines).toEqual(['ignored SIGTERM']);
  });

  it('kills at once with a grace of 0', async () => {
    const { transport, sink, pid } = await start(run('ignores-sigterm'), { graceMs: 0 });
    transport.send(ping);
    await sink.messageNumber(1);
    await transport.close();
    await gone(pid);
  });

  it('is the same close however often it is asked for', async () => {
    const { transport, sink, pid } = await start(run('leaves-slowly'));
    await Promise.all([transport.close(), transport.close()]);
    expect(isRunning(pid)).toBe(false);
    await transport.close();
    expect(sink.closes).toHaveLength(1);
  });

  it('ends a server behind a launcher that does not pass the end on', async () => {
    const script = 'exec 3<&0; "$0" "$1" <&3 & echo "server $!" >&2; wait';
    const spec = { command: 'sh', args: ['-c', script, process.execPath, peer('ignores-sigterm')] };
    const { transport, sink, pid, stderrNumber } = await start(spec, { graceMs: 1500 });
    const server = await stderrNumber('server');
    transport.send(ping);
    await sink.messageNumber(1);
    await transport.close();
    expect([isRunning(pid), isRunning(server)]).toEqual([false, false]);
  });

  it('ends what a server leaves behind: in its group, deaf to SIGTERM, or in a session of its own', async () => {
    const kinds = ['plain', 'stubborn', 'detached'];
    const { transport, sink, pid, stderrNumber } = await start(run('leaves-grandchildren', ...kinds));
    const pids = await Promise.all(kinds.map(stderrNumber));
    for (const each of pids) strays.add(each);
    transport.send(ping);
    await sink.messageNumber(1);
    await transport.close();
    expect([pid, ...pids].map(isRunning)).toEqual([false, false, false, false]);
  });
});

describe('a host that goes away', () => {
  const stubborn = peer('ignores-sigterm');

  it('takes its server along when it exits without closing it', async () => {
    const host = spawnHost('exit', stubborn);
    const pid = await host.serverPid();
    await gone(pid);
  });

  it.each(['SIGKILL', 'SIGINT'] as const)('takes its server along when %s ends it', async (signal) => {
    const host = spawnHost('wait', stubborn);
    const pid = await host.serverPid();
    host.child.kill(signal);
    await gone(pid);
  });

  it('is left without a hook or a guard once its servers are closed', async () => {
    const before = process.listenerCount('exit');
    const [one, two] = [await start(run('leaves-slowly')), await start(run('leaves-slowly'))];
    expect(process.listenerCount('exit')).toBe(before + 1);
    await one.transport.close();
    expect(process.listenerCount('exit')).toBe(before + 1);
    await two.transport.close();
    expect(process.listenerCount('exit')).toBe(before);
  });
});

function spawnHost(...args: string[]) {
  const script = fileURLToPath(new URL('./hosts/leaves-its-server.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const serverPid = async () => {
    const [first] = await once(createInterface({ input: child.stdout }), 'line');
    const pid = Number(first);
    strays.add(pid);
    return pid;
  };
  return { child, serverPid };
}
