import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { McpServer, serveStdio } from '../../../src/protocol/index.ts';

const HOST = fileURLToPath(new URL('./hosts/serves-stdio.mjs', import.meta.url));
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A server in a process of its own, and its streams in the hands of a test. */
class Host {
  readonly child: ChildProcessWithoutNullStreams;
  readonly exited: Promise<unknown[]>;
  readonly stderr: Promise<string>;
  readonly #lines: AsyncIterator<string>;

  constructor() {
    this.child = spawn(process.execPath, [HOST]);
    this.exited = once(this.child, 'exit');
    this.stderr = text(this.child.stderr).catch(() => 'closed');
    this.#lines = createInterface(this.child.stdout)[Symbol.asyncIterator]();
  }

  write(...messages: (object | string)[]): void {
    this.child.stdin.write(messages.map(line).join(''));
  }

  end(...messages: (object | string)[]): void {
    this.child.stdin.end(messages.map(line).join(''));
  }

  /** The next line, which must be JSON; undefined at the end. */
  async next() {
    const { value, done } = await this.#lines.next();
    return done ? undefined : JSON.parse(value);
  }
}

const line = (message: object | string) =>
  `${typeof message === 'string' ? message : JSON.stringify(message)}\n`;

const call = (id: number | string, name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args, _meta: META },
});

const running: Host[] = [];
function host(): Host {
  const started = new Host();
  running.push(started);
  return started;
}

afterEach(async () => {
  for (const { child, exited } of running.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
  }
});

describe('a server on standard streams', () => {
  it('answers, and exits by itself when its input ends', async () => {
    const server = host();
    server.write(call(1, 'echo', { text: 'hello' }));
    expect(await server.next()).toMatchObject({ id: 1, result: { content: [{ text: 'hello' }] } });
    server.end();
    expect(await server.exited).toEqual([0, null]);
    expect(await server.stderr).toBe('ended\n');
  });

  it('answers what it has read before the end of its input, slow answers included', async () => {
    const server = host();
    server.end(call(1, 'slow', { ms: 300 }), call(2, 'echo', { text: 'quick' }));
    expect(await server.next()).toMatchObject({ id: 2, result: { content: [{ text: 'quick' }] } });
    expect(await server.next()).toMatchObject({ id: 1, result: { content: [{ text: 'done' }] } });
    expect(await server.next()).toBeUndefined();
    expect(await server.exited).toEqual([0, null]);
  });

  it('gives up what takes too long after the end of its input, and exits', async () => {
    const server = host();
    server.end(call(1, 'slow', { ms: 600_000 }));
    expect(await server.next()).toBeUndefined();
    expect(await server.exited).toEqual([0, null]);
  });

  it('answers an unterminated last line', async () => {
    const server = host();
    server.child.stdin.end(JSON.stringify(call(1, 'echo', { text: 'no newline' })));
    expect(await server.next()).toMatchObject({ id: 1 });
  });

  it('exits in spite of a timer that a handler left behind', async () => {
    const server = host();
    server.end(call(1, 'linger'));
    expect(await server.next()).toMatchObject({ id: 1 });
    expect(await server.exited).toEqual([0, null]);
  });

  it('cuts nothing of an output that is larger than a pipe holds', async () => {
    const server = host();
    server.end(call(1, 'big', { chars: 4_000_000 }), call(2, 'echo', { text: 'last' }));
    const big = await server.next();
    expect(big.result.content[0].text).toHaveLength(4_000_000);
    expect(await server.next()).toMatchObject({ id: 2 });
    expect(await server.exited).toEqual([0, null]);
  });

  it('keeps what handlers print out of its output', async () => {
    const server = host();
    server.end(call(1, 'print'));
    expect(await server.next()).toMatchObject({ id: 1, result: { content: [{ text: 'printed' }] } });
    expect(await server.next()).toBeUndefined();
    const printed = await server.stderr;
    for (const by of ['log', 'info', 'debug']) expect(printed).toContain(`printed by ${by}\n`);
    expect(printed).toContain('by table');
    expect(printed).toContain("{ printed: 'by dir' }");
  });

  it('ends without a stack trace when the client vanishes while it answers', async () => {
    const server = host();
    server.write(call(1, 'echo', { text: 'x' }));
    await server.next();
    server.child.stdout.destroy();
    server.write(call(2, 'big', { chars: 1_000_000 }), call(3, 'echo', { text: 'x' }));
    server.child.stdin.on('error', () => {});
    expect(await server.exited).toEqual([0, null]);
    expect(await server.stderr).toBe('ended\n');
  });

  it('survives that its standard error is closed', async () => {
    const server = host();
    server.child.stderr.destroy();
    server.write(call(1, 'print'), call(2, 'print'), call(3, 'echo', { text: 'still here' }));
    for (const id of [1, 2, 3]) expect(await server.next()).toMatchObject({ id });
    server.end();
    expect(await server.exited).toEqual([0, null]);
  });

  it('answers each bad line once and goes on', async () => {
    const server = host();
    server.write(
      '{"jsonrpc":"2.0","id":1,',
      { jsonrpc: '1.0', id: 2, method: 'ping' },
      { jsonrpc: '2.0', id: 3, method: 7 },
      { jsonrpc: '2.0', id: null, method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/nobody/knows' },
      '[]',
      call('good', 'echo', { text: 'still here' }),
    );
    expect(await server.next()).toEqual({
      jsonrpc: '2.0',
      error: { code: -32700, message: expect.any(String) },
    });
    expect(await server.next()).toMatchObject({ id: 2, error: { code: -32600 } });
    expect(await server.next()).toMatchObject({ id: 3, error: { code: -32600 } });
    expect(await server.next()).toEqual({
      jsonrpc: '2.0',
      error: { code: -32600, message: expect.any(String) },
    });
    expect(await server.next()).toEqual({
      jsonrpc: '2.0',
      error: { code: -32600, message: expect.any(String) },
    });
    expect(await server.next()).toMatchObject({ id: 'good', result: {} });
  });
});

describe('serveStdio over given streams', () => {
  it('serves them, redirects nothing if told so, and ends on close after answering', async () => {
    const input = new PassThrough();
    const output = new PassThrough();
    const server = new McpServer({ name: 'given', version: '1' });
    let finish = (_value: string) => {};
    server.tool(
      { name: 'wait', inputSchema: { type: 'object' } },
      () => new Promise((resolve) => (finish = resolve)),
    );
    const { log } = console;
    const stdio = serveStdio(server, { input, output, redirectConsole: false });
    expect(console.log).toBe(log);
    input.write(line(call(1, 'wait')));
    await new Promise((resolve) => setImmediate(resolve));
    const closing = stdio.close();
    finish('answered');
    await closing;
    await stdio.waiting();
    expect(JSON.parse(await text(output))).toMatchObject({
      id: 1,
      result: { content: [{ text: 'answered' }] },
    });
  });

  it('gives the console back when it ends', async () => {
    const { log } = console;
    const input = new PassThrough();
    const stdio = serveStdio(new McpServer({ name: 'given', version: '1' }), {
      input,
      output: new PassThrough(),
    });
    expect(console.log).not.toBe(log);
    input.end();
    await stdio.waiting();
    expect(console.log).toBe(log);
  });
});
