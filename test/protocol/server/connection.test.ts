import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type JsonObject, McpError } from '../../../src/jsonrpc/index.ts';
import { McpServer, type RequestContext } from '../../../src/protocol/index.ts';
import {
  createLinkedPair,
  type StreamOptions,
  StreamTransport,
  type Transport,
} from '../../../src/transport/index.ts';
import { statelessMeta, WireClient } from './wire-client.ts';

const ANYTHING = { type: 'object' } as const;
const INFO = { name: 'test', version: '1' };

function gated() {
  const server = new McpServer(INFO);
  const finish: ((value: string) => void)[] = [];
  const signals: AbortSignal[] = [];
  server.tool({ name: 'wait', inputSchema: ANYTHING }, (_args, { signal }) => {
    signals.push(signal);
    return new Promise<string>((resolve) => {
      finish.push(resolve);
    });
  });
  return { server, finish, signals };
}

const call = (id: unknown) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'wait', _meta: statelessMeta() },
});

describe('a connection', () => {
  it('answers a second request with a running id by an error without that id', async () => {
    const { server, finish } = gated();
    const client = await WireClient.connect(server);
    client.send(call(1), call(1));
    expect(await client.take()).toEqual({
      jsonrpc: '2.0',
      error: { code: -32600, message: expect.any(String) },
    });
    finish[0]?.('first');
    expect(await client.take()).toMatchObject({ id: 1, result: {} });
    expect(await client.rest()).toEqual([]);
  });

  it('leaves a running id out of the error for a frame that is no message', async () => {
    const { server, finish } = gated();
    const client = await WireClient.connect(server);
    client.send(call(1), { jsonrpc: '2.0', id: 1, method: 5 }, { jsonrpc: '2.0', id: 2, method: 5 });
    expect(await client.take()).toEqual({
      jsonrpc: '2.0',
      error: { code: -32600, message: expect.any(String) },
    });
    expect(await client.take()).toMatchObject({ id: 2, error: { code: -32600 } });
    finish[0]?.('first');
    expect(await client.take()).toMatchObject({ id: 1, result: {} });
  });

  it('keeps ids as they came', async () => {
    const { server, finish } = gated();
    const client = await WireClient.connect(server);
    const ids = [0, '0', '', -1, 2 ** 53 - 1, 'ünï🙂', '__proto__', 'constructor'];
    client.send(...ids.map(call));
    await client.rest();
    for (const resolve of finish) resolve('x');
    expect((await client.rest()).map(({ id }) => id)).toEqual(ids);
  });

  it('runs no more requests at once than it may', async () => {
    const server = new McpServer({ ...INFO, maxConcurrentRequests: 2 });
    server.tool({ name: 'wait', inputSchema: ANYTHING }, () => new Promise(() => {}));
    const client = await WireClient.connect(server);
    client.send(call(1), call(2), call(3));
    expect(await client.take()).toMatchObject({ id: 3, error: { code: -32603 } });
    expect(await client.rest()).toEqual([]);
  });

  it('aborts what runs when the client goes away', async () => {
    const { server, signals } = gated();
    const client = await WireClient.connect(server);
    client.send(call(1));
    await client.rest();
    expect(signals[0]?.aborted).toBe(false);
    await client.close();
    await client.rest();
    expect(signals[0]?.aborted).toBe(true);
  });

  it('closes when what runs is answered, and takes nothing new meanwhile', async () => {
    const { server, finish } = gated();
    const [ours, theirs] = createLinkedPair();
    const connection = server.connect(theirs);
    const received: JsonObject[] = [];
    await ours.start({
      message: (message) => received.push(message as JsonObject),
      error: () => {},
      close: () => {},
    });
    const send = (message: object) => void ours.send(message as never);
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    send(call(1));
    await turn();
    const closing = connection.close();
    send(call(2));
    await turn();
    expect(received).toMatchObject([
      { id: 2, error: { code: -32603, message: expect.stringContaining('shutting down') } },
    ]);
    finish[0]?.('late');
    await closing;
    await connection.closed;
    await turn();
    expect(received[1]).toMatchObject({ id: 1, result: { content: [{ text: 'late' }] } });
  });

  it('gives up what takes longer than drainMs when it closes', async () => {
    const { server, signals } = gated();
    const [ours, theirs] = createLinkedPair();
    const connection = server.connect(theirs, { drainMs: 1 });
    await ours.start({ message: () => {}, error: () => {}, close: () => {} });
    void ours.send(call(1) as never);
    await new Promise((resolve) => setImmediate(resolve));
    await connection.close();
    expect(signals[0]?.aborted).toBe(true);
  });

  it('reports a transport that does not start, and ends', async () => {
    const errors: McpError[] = [];
    const server = new McpServer({ ...INFO, onError: (error) => errors.push(error) });
    const broken: Transport = {
      name: 'broken',
      start: () => Promise.reject(new McpError('SPAWN_FAILED', 'no such thing')),
      send: () => {},
      close: async () => {},
    };
    await server.connect(broken).closed;
    expect(errors).toMatchObject([{ code: 'TRANSPORT_FAILED', cause: { code: 'SPAWN_FAILED' } }]);
  });

  it('answers nothing to notifications and responses that mean nothing to it', async () => {
    const { server } = gated();
    const { wire } = await WireClient.speak(server, '2025-11-25');
    wire.send(
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 5, progress: 1 } },
      { jsonrpc: '2.0', method: 'notifications/progress' },
      { jsonrpc: '2.0', method: 'notifications/cancelled' },
      { jsonrpc: '2.0', method: 'tools/list' },
      { jsonrpc: '2.0', id: 99, result: {} },
      { jsonrpc: '2.0', id: 99, error: { code: 1, message: 'x' } },
      { jsonrpc: '2.0', id: 99, result: 1, error: 2 },
    );
    expect(await wire.rest()).toEqual([]);
    expect(await wire.request('ping')).toMatchObject({ result: {} });
  });
});

describe('a client that asks for more than it reads', () => {
  const CHUNK = 200_000;
  const COUNT = 60;

  function flooded(options: StreamOptions) {
    const errors: McpError[] = [];
    const server = new McpServer({ ...INFO, onError: (error) => errors.push(error) });
    let begun = 0;
    server.tool({ name: 'big', inputSchema: ANYTHING }, () => {
      begun++;
      return 'x'.repeat(CHUNK);
    });
    const input = new PassThrough();
    const output = new PassThrough();
    const transport = new StreamTransport(input, output, { pauseWhenFull: true, ...options });
    const connection = server.connect(transport);
    const ids = Array.from({ length: COUNT }, (_, id) => id);
    const lines = ids.map(
      (id) => `${JSON.stringify({ ...call(id), params: { name: 'big', _meta: statelessMeta() } })}\n`,
    );
    return { connection, errors, input, output, ids, text: lines.join(''), begun: () => begun };
  }

  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('gets every answer, in order, once it reads, though all came at once and the input has ended', async () => {
    const { connection, errors, input, output, ids, text, begun } = flooded({ maxBufferedBytes: 20 * CHUNK });
    input.end(text);
    for (let turns = 0; turns < 20; turns++) await turn();
    expect(begun()).toBeLessThan(20);
    const answered: unknown[] = [];
    for await (const line of createInterface(output)) answered.push(JSON.parse(line).id);
    expect(answered).toEqual(ids);
    expect(errors).toEqual([]);
    await connection.closed;
  });

  it('is cut off when it can be told of a change no more, and the others are told', async () => {
    const errors: McpError[] = [];
    const server = new McpServer({ ...INFO, onError: (error) => errors.push(error) });
    const other = await WireClient.speak(server, '2025-11-25');
    const [ours, theirs] = createLinkedPair();
    const connection = server.connect({
      name: 'full',
      start: (sink) => theirs.start(sink),
      close: () => theirs.close(),
      send: (message) => {
        if ('method' in message) throw new McpError('TRANSPORT_FAILED', 'no room');
        return theirs.send(message);
      },
    });
    await ours.start({ message: () => {}, error: () => {}, close: () => {} });
    void ours.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25' },
    });
    void ours.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await turn();
    server.tool({ name: 'new' }, () => 'x');
    await connection.closed;
    expect(errors).toMatchObject([{ code: 'TRANSPORT_FAILED', message: 'no room' }]);
    expect(await other.wire.take()).toMatchObject({ method: 'notifications/tools/list_changed' });
  });

  it('is cut off when its transport does not stop it and it has asked too often', async () => {
    const errors: McpError[] = [];
    const server = new McpServer({ ...INFO, onError: (error) => errors.push(error) });
    const [ours, theirs] = createLinkedPair();
    const connection = server.connect({
      name: 'full',
      start: (sink) => theirs.start(sink),
      close: () => theirs.close(),
      send: () => new Promise(() => {}),
    });
    await ours.start({ message: () => {}, error: () => {}, close: () => {} });
    for (let id = 0; id < 65_538; id++) void ours.send({ jsonrpc: '2.0', id, method: 'ping' });
    await connection.closed;
    expect(errors).toMatchObject([{ code: 'TRANSPORT_FAILED', message: expect.stringContaining('65536') }]);
  });

  it('is cut off when an answer can no longer be kept for it', async () => {
    const { connection, errors, input, text } = flooded({ maxBufferedBytes: 2 * CHUNK });
    input.write(text);
    await connection.closed;
    expect(errors.some(({ code }) => code === 'TRANSPORT_FAILED')).toBe(true);
  });
});

describe('an answer over a stream', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** What the server writes at once to a call of `handler`, and after some time. */
  async function written(handler: (context: RequestContext) => unknown) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const server = new McpServer(INFO);
    server.tool({ name: 'wait' }, (_args, context) => {
      handler(context);
      return 'done';
    });
    const [input, output] = [new PassThrough(), new PassThrough()];
    server.connect(new StreamTransport(input, output));
    const { params } = call(1);
    const _meta = { ...params._meta, progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'info' };
    input.write(`${JSON.stringify({ ...call(1), params: { ...params, _meta } })}\n`);
    await once(output, 'readable');
    const atOnce = String(output.read());
    await vi.advanceTimersByTimeAsync(10);
    const later = output.read();
    return { atOnce, later: later && String(later) };
  }

  it('waits a moment after progress, lest both arrive as one', async () => {
    const { atOnce, later } = await written((context) => context.progress(1));
    expect(JSON.parse(atOnce)).toMatchObject({ method: 'notifications/progress' });
    expect(JSON.parse(later)).toMatchObject({ id: 1, result: {} });
  });

  it('waits for nothing after a log message', async () => {
    const { atOnce, later } = await written((context) => context.log('info', 'x'));
    expect(atOnce.trim().split('\n')).toHaveLength(2);
    expect(later).toBeNull();
  });

  it('waits for nothing where progress was long ago', async () => {
    const { atOnce } = await written((context) => {
      context.progress(1);
      vi.advanceTimersByTime(10);
    });
    expect(atOnce.trim().split('\n')).toHaveLength(2);
  });
});
