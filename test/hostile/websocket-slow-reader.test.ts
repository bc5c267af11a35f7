import type { Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { JsonRpcMessage } from '../../src/jsonrpc/index.ts';
import { dialWebSocket, maskedFrame, rawClient, TEXT } from '../transport/websocket-peers.ts';
import { clientEnds, type Ends, listen, SIDES, serverEnds } from './websocket-ends.ts';

let ends: { close(): Promise<unknown> };
afterEach(async () => {
  vi.useRealTimers();
  await ends.close();
});

const MiB = 2 ** 20;
const BIG: JsonRpcMessage = { jsonrpc: '2.0', method: 'big', params: { text: 'x'.repeat(MiB) } };

function sendTooMuch({ transport }: Pick<Ends, 'transport'>): void {
  for (let sent = 0; sent < 1000; sent++) void transport.send(BIG);
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Reads that many bytes or a little more, and then no more. */
async function take(socket: Socket, bytes: number): Promise<void> {
  for (let taken = 0; taken < bytes; await turn()) {
    taken += socket.read()?.length ?? 0;
  }
}

describe.each(SIDES)('%s whose peer does not read', (_, makeEnds) => {
  it('refuses more than maxBufferedBytes', async () => {
    const made = await makeEnds({ maxBufferedBytes: 4 * MiB });
    ends = made;
    made.socket.pause();
    expect(() => sendTooMuch(made)).toThrow(/has not read the last \d+ bytes; raise maxBufferedBytes/);
  });

  it('keeps it as long as it takes something, though no pong can come through, and gives it up when it does not', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] });
    const made = await makeEnds({ keepAliveMs: 1000 });
    ends = made;
    const ping = async () => {
      vi.advanceTimersByTime(1000);
      await turn(); // It looks once what has come by then is read.
    };
    made.socket.pause();
    const room = made.transport.send({ ...BIG, method: 'x'.repeat(64 * MiB) });
    await ping();
    for (let round = 0; round < 2; round++) {
      // More than the buffers of the system hold: when it has come, something has left us.
      await take(made.socket, 24 * MiB);
      await ping();
      expect(made.sink.closes).toEqual([]);
    }
    await ping();
    expect((await made.sink.closed())?.message).toMatch(/did not answer a ping within 1000 ms/);
    await room;
  });
});

it('a server does not read from a client that does not read either', async () => {
  const { listener, url, client } = await listen();
  ends = listener;
  const { socket: slow } = await rawClient(url);
  slow.pause();
  const another = await dialWebSocket(url);
  const [first, second] = [await client(1), await client(2)];
  void first.transport.send({ ...BIG, method: 'x'.repeat(12 * MiB) });
  slow.write(maskedFrame(TEXT, '[1]'));
  // Sent later and on another connection: when it is here, what came before it could have been.
  another.transport.send(BIG);
  await second.sink.messageNumber(1);
  expect(first.sink.messages).toEqual([]);
  slow.resume();
  expect(await first.sink.messageNumber(1)).toEqual([1]);
  slow.destroy();
  await another.transport.close();
});

it('closing does not wait for a peer that does not read', async () => {
  for (const makeEnds of [clientEnds, serverEnds]) {
    const made = await makeEnds();
    ends = made;
    made.socket.pause();
    void made.transport.send({ ...BIG, method: 'x'.repeat(12 * MiB) });
    await made.transport.close();
    expect(made.sink.closes).toEqual([undefined]);
    await made.close();
  }
});
