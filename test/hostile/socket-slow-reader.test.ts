import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import type { JsonRpcMessage } from '../../src/jsonrpc/index.ts';
import { listenSocket, type Transport } from '../../src/transport/index.ts';
import { RecordingSink } from '../transport/recording-sink.ts';

const BIG: JsonRpcMessage = { jsonrpc: '2.0', method: 'big', params: { text: 'x'.repeat(2 ** 20) } };
const LINE = '{"jsonrpc":"2.0","method":"hello"}\n';

it('a client that does not read is read from no more, and is refused more than maxBufferedBytes', async () => {
  const clients: { transport: Transport; sink: RecordingSink }[] = [];
  const listener = await listenSocket({ port: 0, maxBufferedBytes: 4 * 2 ** 20 }, (transport) => {
    const sink = new RecordingSink();
    clients.push({ transport, sink });
    return transport.start(sink);
  });
  const dial = async () => {
    const socket = connect(listener.target.port as number, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(LINE);
    return socket;
  };
  const slow = (await dial()).pause();
  const another = await dial();
  while (clients.length < 2) await new Promise((resolve) => setImmediate(resolve));
  const [first, second] = clients as [(typeof clients)[0], (typeof clients)[0]];
  await first.sink.messageNumber(1);
  const sendTooMuch = () => {
    for (let sent = 0; sent < 1000; sent++) void first.transport.send(BIG);
  };
  expect(sendTooMuch).toThrow(/has not read the last \d+ bytes; raise maxBufferedBytes/);
  slow.write(LINE);
  // Sent later and on another connection: when it is here, what came before it could have been.
  another.write(LINE);
  await second.sink.messageNumber(2);
  expect(first.sink.messages).toHaveLength(1);
  slow.resume();
  await first.sink.messageNumber(2);
  slow.destroy();
  another.destroy();
  await listener.close();
});
