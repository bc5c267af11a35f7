import { afterEach, describe, expect, it } from 'vitest';
import type { JsonRpcMessage } from '../../src/jsonrpc/index.ts';
import {
  HttpClientTransport,
  httpErrorOf,
  LegacySseTransport,
  type Transport,
} from '../../src/transport/index.ts';
import { RecordingSink } from '../../test/transport/recording-sink.ts';
import { startEverything, startWire } from './http-server.ts';

const headers = { 'mcp-protocol-version': '2025-11-25' };
const initialize: JsonRpcMessage = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'by-hand', version: '1' },
  },
};
const initialized: JsonRpcMessage = { jsonrpc: '2.0', method: 'notifications/initialized' };
const call = (id: number, name: string, args: object, meta = {}): JsonRpcMessage => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args, _meta: meta },
});

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of cleanups.splice(0).reverse()) await close();
});

/** Waits for the response with this id; what else comes is passed over. */
async function answer(sink: RecordingSink, id: number): Promise<unknown> {
  for (let count = 1; ; count++) {
    const message = await sink.messageNumber(count);
    if (isAnswer(message, id)) return message;
  }
}

function isAnswer(message: unknown, id: number): boolean {
  return (
    typeof message === 'object' &&
    message !== null &&
    'id' in message &&
    message.id === id &&
    !('method' in message)
  );
}

async function open<T extends Transport>(transport: T): Promise<RecordingSink> {
  const sink = new RecordingSink();
  await transport.start(sink);
  cleanups.push(() => transport.close());
  return sink;
}

async function everything(mode: 'streamableHttp' | 'sse'): Promise<string> {
  const { origin, stop } = await startEverything(mode);
  cleanups.push(stop);
  return origin;
}

describe('the reference server "everything" over Streamable HTTP', () => {
  async function session(origin: string): Promise<{ transport: HttpClientTransport; sink: RecordingSink }> {
    const transport = new HttpClientTransport(`${origin}/mcp`);
    const sink = await open(transport);
    await transport.send(initialize);
    await transport.send(initialized, { headers });
    return { transport, sink };
  }

  it('opens a session, answers, streams, cancels and ends', async () => {
    const { transport, sink } = await session(await everything('streamableHttp'));
    expect(transport.sessionId).toMatch(/^[0-9a-f-]{36}$/);
    expect(await answer(sink, 1)).toMatchObject({ result: { protocolVersion: '2025-11-25' } });
    expect(await transport.openStream({ headers })).toBe(true);

    await transport.send(call(2, 'echo', { message: 'hé' }), { headers });
    expect(await answer(sink, 2)).toMatchObject({
      result: { content: [{ type: 'text', text: 'Echo: hé' }] },
    });

    const work = call(
      3,
      'trigger-long-running-operation',
      { duration: 0.3, steps: 3 },
      { progressToken: 'p' },
    );
    await transport.send(work, { headers });
    const progress = sink.messages.filter((message) =>
      JSON.stringify(message).includes('notifications/progress'),
    );
    expect(progress).toHaveLength(3);
    expect(sink.messages.indexOf(progress[2])).toBeLessThan(sink.messages.indexOf(await answer(sink, 3)));

    const given = transport.send(call(4, 'trigger-long-running-operation', { duration: 60, steps: 2 }), {
      headers,
    });
    transport.abandon(4);
    await given;

    await transport.deleteSession({ headers });
    await expect(transport.send(call(5, 'echo', { message: 'x' }), { headers })).rejects.toThrow(
      /not initialized/,
    );
    expect(sink.errors).toEqual([]);
  });

  it('has forgotten the session when it was started again, and opens another', async () => {
    const first = await startEverything('streamableHttp');
    const { transport, sink } = await session(first.origin);
    const id = transport.sessionId;
    await first.stop();
    cleanups.push((await startEverything('streamableHttp', first.port)).stop);
    const error = await transport.send(call(2, 'echo', { message: 'x' }), { headers }).catch(httpErrorOf);
    expect(error).toMatchObject({ sessionLost: true });
    transport.forgetSession();
    await transport.send(initialize);
    await transport.send(initialized, { headers });
    expect(transport.sessionId).not.toBe(id);
    await transport.send(call(3, 'echo', { message: 'x' }), { headers });
    expect(await answer(sink, 3)).toMatchObject({ result: { content: [{ text: 'Echo: x' }] } });
  });

  it('replays what a request missed whose connection broke', async () => {
    const wire = await startWire(await everything('streamableHttp'));
    cleanups.push(wire.stop);
    const { transport, sink } = await session(wire.origin);
    transport.resumable = true;
    // Short: this server replays what it has, but sends nothing new on a stream that was resumed.
    const work = call(
      2,
      'trigger-long-running-operation',
      { duration: 0.4, steps: 4 },
      { progressToken: 'p' },
    );
    const sent = transport.send(work, { headers });
    await sink.messageNumber(2);
    wire.cut();
    await sent;
    expect(await answer(sink, 2)).toMatchObject({ result: { content: [{ type: 'text' }] } });
    const steps = sink.messages.flatMap(
      (message) => /"progress":(\d)/.exec(JSON.stringify(message))?.[1] ?? [],
    );
    expect(steps).toEqual(['1', '2', '3', '4']);
  });
});

describe('the reference server "everything" over HTTP+SSE', () => {
  it('answers on its one stream and notices the end of it', async () => {
    const transport = new LegacySseTransport(`${await everything('sse')}/sse`);
    const sink = await open(transport);
    await transport.send(initialize);
    expect(await answer(sink, 1)).toMatchObject({
      result: { serverInfo: { name: 'mcp-servers/everything' } },
    });
    await transport.send(initialized);
    await transport.send(call(2, 'echo', { message: 'hé' }));
    expect(await answer(sink, 2)).toMatchObject({
      result: { content: [{ type: 'text', text: 'Echo: hé' }] },
    });
    await transport.close();
    expect(sink.closes).toEqual([undefined]);
    expect(sink.errors).toEqual([]);
  });
});
