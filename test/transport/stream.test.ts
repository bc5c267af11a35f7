import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, Socket } from 'node:net';
import { PassThrough, Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { JsonRpcMessage } from '../../src/jsonrpc/index.ts';
import { StreamTransport } from '../../src/transport/index.ts';
import { RecordingSink } from './recording-sink.ts';

const note = (method: string, params?: { [key: string]: unknown }): JsonRpcMessage =>
  params ? { jsonrpc: '2.0', method, params } : { jsonrpc: '2.0', method };
const line = (method: string) => `{"jsonrpc":"2.0","method":"${method}"}\n`;

/** An output that keeps each write and completes it only when told. */
class HeldOutput extends Writable {
  readonly writes: string[] = [];
  #complete: (() => void) | undefined;

  constructor() {
    super({ decodeStrings: false });
  }

  override _write(chunk: string, _encoding: BufferEncoding, done: () => void): void {
    this.writes.push(chunk);
    this.#complete = done;
    this.emit('held');
  }

  get text(): string {
    return this.writes.join('');
  }

  /** Completes the pending write, and with it what the next ones need until the output is empty. */
  complete(): void {
    const complete = this.#complete;
    this.#complete = undefined;
    complete?.();
  }

  open(): void {
    this.on('held', () => this.complete());
    this.complete();
  }
}

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

async function startOn(input: Readable, output: Writable, options = {}) {
  const transport = new StreamTransport(input, output, options);
  const sink = new RecordingSink();
  await transport.start(sink);
  return { transport, sink };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('sending', () => {
  it('joins what one turn of the event loop sends, its promise callbacks included, in one write', async () => {
    const output = new HeldOutput();
    const { transport } = await startOn(new PassThrough(), output);
    await tick();
    setImmediate(() => {
      transport.send(note('one'));
      transport.send(note('two'));
      void Promise.resolve().then(() => transport.send(note('three')));
    });
    await tick();
    await tick();
    expect(output.writes).toEqual([line('one') + line('two') + line('three')]);
  });

  it('returns nothing while there is room, and a promise until there is room again', async () => {
    const output = new HeldOutput();
    const { transport } = await startOn(new PassThrough(), output);
    expect(transport.send(note('small'))).toBeUndefined();
    const room = transport.send(note('big', { text: 'x'.repeat(2 ** 20) }));
    expect(room).toBeInstanceOf(Promise);
    let resolved = false;
    void room?.then(() => {
      resolved = true;
    });
    await tick();
    expect(resolved).toBe(false);
    expect(transport.send(note('more'))).toBe(room);
    output.open();
    await room;
    expect(transport.send(note('again'))).toBeUndefined();
    await tick();
    const methods = output.text
      .trimEnd()
      .split('\n')
      .map((each) => JSON.parse(each).method);
    expect(methods).toEqual(['small', 'big', 'more', 'again']);
  });

  it('resolves that promise when the transport is closed, or its output breaks, before there is room', async () => {
    for (const end of ['close', 'break'] as const) {
      const output = new HeldOutput();
      const { transport, sink } = await startOn(new PassThrough(), output);
      const room = transport.send(note('big', { text: 'x'.repeat(2 ** 20) }));
      await tick();
      if (end === 'close') void transport.close();
      else output.destroy(new Error('gone'));
      await room;
      output.open();
      await sink.closed();
      await transport.close();
    }
  });

  it('cuts a long line into several writes, and never inside a code point', async () => {
    for (const before of ['', 'x']) {
      const output = new HeldOutput();
      const { transport } = await startOn(new PassThrough(), output);
      const message = note('emoji', { text: before + '😀'.repeat(2 ** 18) });
      const room = transport.send(message);
      output.open();
      await tick();
      await room;
      expect(output.writes.length).toBeGreaterThan(1);
      for (const write of output.writes) expect(Buffer.from(write).toString()).toBe(write);
      expect(JSON.parse(output.text)).toEqual(message);
    }
  });

  it('refuses a message once more is waiting than maxBufferedBytes, and goes on when that is read', async () => {
    const output = new HeldOutput();
    const { transport, sink } = await startOn(new PassThrough(), output, { maxBufferedBytes: 1000 });
    transport.send(note('long', { text: 'x'.repeat(1000) }));
    expect(() => transport.send(note('refused'))).toThrow(
      expect.objectContaining({
        code: 'TRANSPORT_FAILED',
        message: expect.stringContaining('maxBufferedBytes'),
      }),
    );
    output.open();
    await tick();
    await tick();
    transport.send(note('accepted'));
    await tick();
    expect(output.text).toContain(line('accepted'));
    expect(output.text).not.toContain('refused');
    expect(sink.closes).toEqual([]);
  });

  it('throws a TypeError for what JSON cannot hold, and sends the rest', async () => {
    const output = new HeldOutput();
    const { transport } = await startOn(new PassThrough(), output);
    transport.send(note('before'));
    expect(() => transport.send(note('bad', { n: 1n }))).toThrow(TypeError);
    transport.send(note('after'));
    await tick();
    expect(output.text).toBe(line('before') + line('after'));
  });
});

describe('receiving', () => {
  it('reports a bad line and delivers its neighbours', async () => {
    const input = new PassThrough();
    const { sink } = await startOn(input, new HeldOutput());
    input.write(`${line('one')}Listening on port 80\n${line('two')}`);
    await sink.messageNumber(2);
    expect(sink.messages).toEqual([note('one'), note('two')]);
    expect(sink.errors).toMatchObject([{ code: 'INVALID_JSON' }]);
  });

  it('delivers an unterminated last line, then says that the other end closed', async () => {
    const input = new PassThrough();
    const { sink } = await startOn(input, new PassThrough(), { name: 'pipe' });
    input.end(line('last').trimEnd());
    expect(await sink.closed()).toMatchObject({ code: 'CLOSED', message: expect.stringContaining('"pipe"') });
    expect(sink.messages).toEqual([note('last')]);
    await tick();
    expect(sink.closes).toHaveLength(1);
  });

  it('goes on sending after the other end has said all, if the sink wants to, until it is closed', async () => {
    const input = new PassThrough();
    const output = new PassThrough();
    const transport = new StreamTransport(input, output);
    const heard: unknown[] = [];
    const all = text(output);
    const ended = new Promise<void>((resolve) => {
      void transport.start({
        message: (value) => heard.push(value),
        error: () => heard.push('error'),
        end: () => {
          heard.push('end');
          resolve();
        },
        close: (reason) => heard.push(reason ?? 'closed'),
      });
    });
    input.end(line('last').trimEnd());
    await ended;
    await tick();
    expect(heard).toEqual([note('last'), 'end']);
    transport.send(note('answer'));
    await transport.close();
    expect(heard).toEqual([note('last'), 'end', 'closed']);
    expect(await all).toBe(line('answer'));
  });

  it('accepts an input that yields strings', async () => {
    const { sink } = await startOn(Readable.from([line('one'), line('two')]), new HeldOutput());
    await sink.messageNumber(2);
  });

  it('delivers nothing any more to a sink that closes on a message', async () => {
    const input = new PassThrough();
    const transport = new StreamTransport(input, new PassThrough());
    const heard: unknown[] = [];
    await transport.start({
      message: (value) => {
        heard.push(value);
        void transport.close();
      },
      error: () => heard.push('error'),
      close: (reason) => heard.push(reason ?? 'closed'),
    });
    input.write(`${line('one')}${line('two')}no JSON\n`);
    await tick();
    await transport.close();
    expect(heard).toEqual([note('one'), 'closed']);
  });

  it('stops reading while its output is full if pauseWhenFull is set, and only then', async () => {
    for (const pauseWhenFull of [true, false]) {
      const input = new PassThrough();
      const output = new HeldOutput();
      const { transport, sink } = await startOn(input, output, { pauseWhenFull });
      const room = transport.send(note('big', { text: 'x'.repeat(2 ** 20) }));
      input.write(line('one'));
      await tick();
      expect(sink.messages).toEqual(pauseWhenFull ? [] : [note('one')]);
      output.open();
      await room;
      await sink.messageNumber(1);
      await transport.close();
    }
  });
});

describe('an output that breaks', () => {
  it('still delivers what the other end sent before, and closes with the reason', async () => {
    const input = new PassThrough();
    const output = new HeldOutput();
    const { transport, sink } = await startOn(input, output, { name: 'pipe' });
    output.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    await tick();
    const refusal = Promise.resolve(transport.send(note('too late'))).catch((error) => error);
    input.end(line('sent before'));
    const reason = await sink.closed();
    expect(sink.messages).toEqual([note('sent before')]);
    expect(reason).toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: 'Cannot write to "pipe": write EPIPE',
    });
    expect(await refusal).toBe(reason);
    expect(() => transport.send(note('later still'))).toThrow(expect.objectContaining({ code: 'CLOSED' }));
  });

  it('closes even if the input goes on for ever', async () => {
    const input = new PassThrough();
    const output = new HeldOutput();
    const { sink } = await startOn(input, output);
    output.destroy();
    expect(await sink.closed()).toMatchObject({ code: 'CLOSED' });
    expect(input.destroyed).toBe(true);
  });
});

describe('closing', () => {
  it('writes all that was sent before it ends the output', async () => {
    const output = new PassThrough();
    const { transport, sink } = await startOn(new PassThrough(), output);
    const all = text(output);
    for (let n = 0; n < 2000; n += 1) transport.send(note('many', { n, pad: 'x'.repeat(1000) }));
    await transport.close();
    expect(sink.closes).toEqual([undefined]);
    const lines = (await all).trimEnd().split('\n');
    expect(lines).toHaveLength(2000);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ params: { n: 1999 } });
  });

  it('closes the sink once however often it is called, before or after the other end closes', async () => {
    const input = new PassThrough();
    const output = new PassThrough();
    const { transport, sink } = await startOn(input, output.resume());
    input.end();
    await Promise.all([transport.close(), transport.close()]);
    await transport.close();
    expect(sink.closes).toHaveLength(1);
    expect(output.writableFinished).toBe(true);
  });

  it('ends its output and destroys its input when the other end closes', async () => {
    const input = new PassThrough({ emitClose: false, autoDestroy: false });
    const output = new HeldOutput();
    const { transport } = await startOn(input, output);
    transport.send(note('unread'));
    input.end();
    await tick();
    output.open();
    await once(output, 'finish');
    expect(output.text).toBe(line('unread'));
    await transport.close();
    expect(input.destroyed).toBe(true);
  });

  it('reads on and throws away while it closes, so that the other end is not blocked in a write', async () => {
    const input = new PassThrough();
    const output = new HeldOutput();
    const transport = new StreamTransport(input, output);
    input.write('x'.repeat(2 ** 20));
    output.write('x');
    const closed = transport.close();
    await once(input, 'drain');
    output.open();
    await closed;
  });

  it('cuts an output that takes nothing for three seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const output = new HeldOutput();
    const { transport } = await startOn(new PassThrough(), output);
    transport.send(note('unread'));
    const closed = transport.close();
    await tick();
    vi.advanceTimersByTime(3000);
    await closed;
    expect(output.destroyed).toBe(true);
  });

  it('gives an output that takes a little at a time as long as it needs', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const output = new HeldOutput();
    const { transport } = await startOn(new PassThrough(), output);
    const message = note('slow', { text: 'x'.repeat(2 ** 20) });
    void transport.send(message);
    const closed = transport.close();
    while (!output.writableFinished) {
      await tick();
      vi.advanceTimersByTime(2000);
      output.complete();
    }
    await closed;
    expect(JSON.parse(output.text)).toEqual(message);
  });

  it('can be closed before it is started, and not started then', async () => {
    const input = new PassThrough();
    const output = new PassThrough().resume();
    const transport = new StreamTransport(input, output);
    await transport.close();
    expect([input.destroyed, output.writableFinished]).toEqual([true, true]);
    await expect(transport.start(new RecordingSink())).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('takes no message before it is started or after it is closed', async () => {
    const transport = new StreamTransport(new PassThrough(), new PassThrough().resume());
    const refusal = expect.objectContaining({ code: 'CLOSED' });
    expect(() => transport.send(note('early'))).toThrow(refusal);
    await transport.start(new RecordingSink());
    await transport.close();
    expect(() => transport.send(note('late'))).toThrow(refusal);
  });

  it('starts once', async () => {
    const { transport } = await startOn(new PassThrough(), new PassThrough());
    await expect(transport.start(new RecordingSink())).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('does not start on a stream that has ended', async () => {
    const input = new PassThrough();
    input.destroy();
    const transport = new StreamTransport(input, new PassThrough());
    await expect(transport.start(new RecordingSink())).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('survives errors of its streams before it is started and after it is closed', async () => {
    const input = new PassThrough();
    const output = new PassThrough();
    const transport = new StreamTransport(input, output);
    input.emit('error', new Error('before'));
    await expect(transport.start(new RecordingSink())).rejects.toMatchObject({ message: /before/ });
    output.resume();
    await transport.close();
    input.emit('error', new Error('after'));
    output.emit('error', new Error('after'));
  });

  it('refuses options that make no sense', () => {
    const make = (options: object) => () =>
      new StreamTransport(new PassThrough(), new PassThrough(), options);
    expect(make({ maxLineBytes: 0 })).toThrow(/maxLineBytes/);
    expect(make({ maxBufferedBytes: Number.NaN })).toThrow(/maxBufferedBytes/);
  });
});

describe('over a socket', () => {
  it('loses nothing of what was sent before a close while both ends send', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const socket = new Socket().connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1');
    const [accepted] = await once(server, 'connection');
    const far = await startOn(accepted, accepted);
    const near = await startOn(socket, socket);
    for (let n = 0; n < 64; n += 1) {
      void near.transport.send(note('near', { n, pad: 'x'.repeat(2 ** 17) }));
      void far.transport.send(note('far', { n, pad: 'x'.repeat(2 ** 10) }));
    }
    await near.transport.close();
    expect(await far.sink.closed()).toMatchObject({ code: 'CLOSED' });
    expect(far.sink.messages).toHaveLength(64);
    expect(far.sink.errors).toEqual([]);
    await far.transport.close();
    expect([socket.destroyed, accepted.destroyed]).toEqual([true, true]);
    server.close();
  });
});

describe('over the standard streams of a process', () => {
  it('loses nothing of an output larger than a pipe holds when the process exits after closing', async () => {
    const script = fileURLToPath(new URL('./hosts/answers-much-and-exits.mjs', import.meta.url));
    const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(child.stdout, 'readable');
    const lines = (await text(child.stdout)).trimEnd().split('\n');
    expect(lines).toHaveLength(9);
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual(note('last'));
    if (child.exitCode === null) await once(child, 'exit');
    expect(child.exitCode).toBe(0);
  });
});

describe('a long piece of work', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('on what was read lets everything else have its turn between two chunks', async () => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const input = new PassThrough({ highWaterMark: 1024 * 1024 });
    const transport = new StreamTransport(input, new PassThrough());
    const heard: string[] = [];
    const allRead = new Promise<void>((resolve) => {
      void transport.start({
        message: () => {
          heard.push('message');
          now += 4;
          if (heard.filter((each) => each === 'message').length === 6) resolve();
        },
        error: () => {},
        close: () => {},
      });
    });
    input.on('pause', () => setImmediate(() => heard.push('turn')));
    for (let sent = 0; sent < 6; sent++) input.write(`{"x":"${'x'.repeat(5000)}"}\n`);
    await allRead;
    const [message, turn] = ['message', 'turn'];
    expect(heard).toEqual([message, message, turn, message, message, turn, message, message]);
    await transport.close();
  });

  it('of junk ends the connection when there is too much of it', async () => {
    const input = new PassThrough();
    const { sink } = await startOn(input, new PassThrough(), { name: 'yes' });
    const piece = Buffer.alloc(1024 * 1024, 'x');
    while (sink.closes.length === 0) if (!input.write(piece)) await tick();
    expect(sink.closes).toMatchObject([
      {
        code: 'TRANSPORT_FAILED',
        message: expect.stringMatching(/^Gave up "yes": among the last \d+ bytes/),
      },
    ]);
  });
});
