import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonRpcMessage, McpError } from '../../src/jsonrpc/index.ts';
import { bind } from '../../src/transport/bind.ts';
import {
  listenSocket,
  type SocketListenOptions,
  type SocketTarget,
  SocketTransport,
  type Transport,
} from '../../src/transport/index.ts';
import { RecordingSink } from './recording-sink.ts';

const note = (method: string): JsonRpcMessage => ({ jsonrpc: '2.0', method });
const onPosix = process.platform !== 'win32';

let folder: string;
const closers: { close(): Promise<void> }[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcpwire-'));
});

afterEach(async () => {
  await Promise.all(closers.splice(0).map((each) => each.close()));
  rmSync(folder, { recursive: true, force: true });
});

const socketPath = () => (onPosix ? join(folder, 's.sock') : `\\\\.\\pipe\\${folder.replaceAll('\\', '-')}`);

/** Listens, and keeps each client's transport with the sink it was started with. */
async function listen(options: SocketListenOptions) {
  const clients: { transport: Transport; sink: RecordingSink }[] = [];
  const errors: McpError[] = [];
  const waiting: (() => void)[] = [];
  const listener = await listenSocket(
    { ...options, onError: (error) => errors.push(error) },
    async (transport) => {
      const sink = new RecordingSink();
      await transport.start(sink);
      clients.push({ transport, sink });
      for (const wake of waiting.splice(0)) wake();
    },
  );
  closers.push(listener);
  const client = async (number: number) => {
    while (clients.length < number) await new Promise<void>((resolve) => waiting.push(resolve));
    return clients[number - 1] as (typeof clients)[number];
  };
  return { listener, client, errors };
}

async function dial(target: SocketTarget, options = {}) {
  const transport = new SocketTransport(target, options);
  const sink = new RecordingSink();
  await transport.start(sink);
  closers.push(transport);
  return { transport, sink };
}

/** Makes a socket file whose server is dead. */
function leaveStaleSocket(path: string): void {
  const script = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
  try {
    execFileSync(process.execPath, ['-e', script, path], { stdio: 'ignore' });
  } catch {
    // It died as it was told to.
  }
}

describe.each([
  ['a Unix domain socket', () => ({ path: socketPath() })],
  ['a TCP port', () => ({ port: 0 })],
] as const)('over %s', (_, target) => {
  it('carries messages both ways, each once and in order', async () => {
    const { listener, client } = await listen(target());
    const { transport, sink } = await dial(listener.target);
    const server = await client(1);
    for (const method of ['one', 'two', 'three']) transport.send(note(method));
    await server.sink.messageNumber(3);
    expect(server.sink.messages).toEqual([note('one'), note('two'), note('three')]);
    server.transport.send(note('back'));
    expect(await sink.messageNumber(1)).toEqual(note('back'));
  });

  it('tells each end that the other closed, and delivers what was sent before', async () => {
    for (const closing of ['client', 'server'] as const) {
      const { listener, client } = await listen(target());
      const near = await dial(listener.target);
      const far = await client(1);
      const [closer, other] = closing === 'client' ? [near, far] : [far, near];
      closer.transport.send(note('last words'));
      await closer.transport.close();
      const reason = await other.sink.closed();
      expect(reason).toMatchObject({
        code: 'CLOSED',
        message: `"${other.transport.name}" ended the connection`,
      });
      expect(other.sink.messages).toEqual([note('last words')]);
      expect(closer.sink.closes).toEqual([undefined]);
      await listener.close();
    }
  });

  it('ends all connections when the listener closes, and listens no more', async () => {
    const { listener, client } = await listen(target());
    const near = await dial(listener.target);
    await client(1);
    expect(listener.connections).toBe(1);
    await listener.close();
    expect(listener.connections).toBe(0);
    expect((await near.sink.closed())?.code).toBe('CLOSED');
    await expect(dial(listener.target)).rejects.toMatchObject({ code: 'TRANSPORT_FAILED' });
  });

  it('turns away a client beyond maxConnections, says so, and has room again when one leaves', async () => {
    const { listener, client, errors } = await listen({ ...target(), maxConnections: 1 });
    const first = await dial(listener.target);
    const server = await client(1);
    const second = await dial(listener.target);
    expect((await second.sink.closed())?.message).toMatch(/ended the connection|closed/);
    expect(errors[0]?.message).toMatch(/1 are connected; raise maxConnections/);
    await first.transport.close();
    await server.sink.closed();
    const third = await dial(listener.target);
    third.transport.send(note('hello'));
    expect(await (await client(2)).sink.messageNumber(1)).toEqual(note('hello'));
  });

  it('lets a client go whose handler throws, and tells onError', async () => {
    const errors: McpError[] = [];
    const options = { ...target(), onError: (error: McpError) => errors.push(error) };
    const listener = await listenSocket(options, () => {
      throw new Error('not today');
    });
    closers.push(listener);
    const { sink } = await dial(listener.target);
    expect((await sink.closed())?.code).toBe('CLOSED');
    expect(errors[0]).toMatchObject({ code: 'HANDLER_FAILED', message: expect.stringMatching(/not today/) });
  });

  it('loses nothing that a client sends before its transport is started', async () => {
    const transports: Transport[] = [];
    const other = new RecordingSink();
    const listener = await listenSocket(target(), async (transport) => {
      if (transports.push(transport) > 1) await transport.start(other);
    });
    closers.push(listener);
    const early = await dial(listener.target);
    early.transport.send(note('early'));
    // Sent later and on another connection: when it is here, the first one has come as well.
    (await dial(listener.target)).transport.send(note('later'));
    await other.messageNumber(1);
    const sink = new RecordingSink();
    await transports[0]?.start(sink);
    expect(await sink.messageNumber(1)).toEqual(note('early'));
  });

  it('answers the raw bytes of a client that knows only lines', async () => {
    const { listener, client } = await listen(target());
    const socket = connect(listener.target as { path: string });
    socket.write('{"jsonrpc":"2.0",');
    socket.write('"method":"ping","id":1}\r\n\n{"jsonrpc":"2.0","method":"last"}');
    const { transport, sink } = await client(1);
    await sink.messageNumber(1);
    transport.send({ jsonrpc: '2.0', id: 1, result: {} });
    const [bytes] = await once(socket, 'data');
    expect(bytes.toString()).toBe('{"jsonrpc":"2.0","id":1,"result":{}}\n');
    socket.end();
    expect(await sink.messageNumber(2)).toEqual(note('last'));
  });
});

describe('connecting', () => {
  it('says what is wrong when nobody listens', async () => {
    const path = socketPath();
    await expect(dial({ path })).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringContaining(`Cannot connect to "unix:${path}": connect ENOENT`),
    });
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as { port: number };
    await new Promise((resolve) => free.close(resolve));
    await expect(dial({ port })).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: `Cannot connect to "tcp:127.0.0.1:${port}": connect ECONNREFUSED 127.0.0.1:${port}; nothing listens there`,
    });
  });

  it('can be closed before it is started, and then not started', async () => {
    const transport = new SocketTransport({ port: 1 });
    await transport.close();
    await expect(transport.start(new RecordingSink())).rejects.toMatchObject({ code: 'CLOSED' });
    expect(() => transport.send(note('x'))).toThrow(/not open/);
  });

  it('refuses targets that make no sense', () => {
    for (const target of [
      {},
      { port: -1 },
      { port: 65_536 },
      { port: 1.5 },
      { path: '' },
      { path: 'a\0b' },
      { path: 'x'.repeat(300) },
      { path: '/x', port: 1 },
    ]) {
      // Sound: the types refuse these as well.
      expect(() => new SocketTransport(target as SocketTarget)).toThrow(TypeError);
    }
    expect(() => new SocketTransport({ port: 1 }, { connectTimeoutMs: 0 })).toThrow(/connectTimeoutMs/);
    expect(() => new SocketTransport({ port: 1 }, { maxLineBytes: 0 })).toThrow(/maxLineBytes/);
  });
});

describe('listening', () => {
  it('is for this machine alone unless a host is named', async () => {
    const { listener } = await listen({ port: 0 });
    expect(listener.target.host).toBe('127.0.0.1');
    expect(listener.target.port).toBeGreaterThan(0);
  });

  it('refuses a port that is taken', async () => {
    const { listener } = await listen({ port: 0 });
    const { port = 0 } = listener.target;
    await expect(listen({ port })).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringMatching(/another server listens there/),
    });
  });

  it('refuses options that make no sense', async () => {
    await expect(listenSocket({ port: 0, maxConnections: 0 }, () => {})).rejects.toThrow(/maxConnections/);
    await expect(listenSocket({ port: 0, maxLineBytes: 0 }, () => {})).rejects.toThrow(/maxLineBytes/);
  });

  describe.runIf(onPosix)('on a socket file', () => {
    it('lets only the owner connect, whatever the mask of the process, which stays what it was', async () => {
      const before = process.umask(0);
      try {
        const { listener } = await listen({ path: socketPath() });
        expect(statSync(socketPath()).mode & 0o777).toBe(0o600);
        expect(process.umask()).toBe(0);
        await listener.close();
        expect(existsSync(socketPath())).toBe(false);
      } finally {
        process.umask(before);
      }
    });

    it('lets nobody else in from the moment that there is a file', async () => {
      const before = process.umask(0);
      const server = createServer();
      let mode: number | undefined;
      server.once('listening', () => {
        mode = statSync(socketPath()).mode & 0o077;
      });
      try {
        await bind(server, { path: socketPath() });
        expect(mode).toBe(0);
      } finally {
        process.umask(before);
        server.close();
      }
    });

    it('replaces the file that a dead server left', async () => {
      leaveStaleSocket(socketPath());
      expect(statSync(socketPath()).isSocket()).toBe(true);
      const { listener, client } = await listen({ path: socketPath() });
      const { transport } = await dial(listener.target);
      transport.send(note('hello'));
      expect(await (await client(1)).sink.messageNumber(1)).toEqual(note('hello'));
      expect(statSync(socketPath()).mode & 0o777).toBe(0o600);
    });

    it('does not touch the file of a server that lives', async () => {
      const { listener } = await listen({ path: socketPath() });
      await expect(listen({ path: socketPath() })).rejects.toMatchObject({
        code: 'TRANSPORT_FAILED',
        message: `Cannot listen on "unix:${socketPath()}": another server listens there`,
      });
      await dial(listener.target);
    });

    it('does not touch a file that is no socket', async () => {
      writeFileSync(socketPath(), 'precious');
      await expect(listen({ path: socketPath() })).rejects.toThrow(/is no socket/);
      expect(statSync(socketPath()).size).toBe(8);
    });

    it('says which folder is missing', async () => {
      await expect(listen({ path: join(folder, 'none', 's.sock') })).rejects.toMatchObject({
        code: 'TRANSPORT_FAILED',
      });
    });
  });
});

it('lets the process end when both ends are closed', async () => {
  const script = `
    import { listenSocket, SocketTransport } from ${JSON.stringify(new URL('../../dist/transport/index.js', import.meta.url).href)};
    const sink = { message() {}, error() {}, close() {} };
    const listener = await listenSocket({ port: 0 }, (transport) => transport.start(sink));
    const client = new SocketTransport(listener.target);
    await client.start(sink);
    await client.close();
    await listener.close();
    console.log('done');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect({ output, code }).toEqual({ output: 'done\n', code: 0 });
});
