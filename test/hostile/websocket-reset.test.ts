import { afterEach, describe, expect, it } from 'vitest';
import { TEXT } from '../transport/websocket-peers.ts';
import { type Ends, SIDES } from './websocket-ends.ts';

let ends: Ends;
afterEach(() => ends.close());

const NO_FIN = 0x7f;

describe.each(SIDES)('%s whose peer breaks the connection', (_, makeEnds) => {
  it.each([
    ['within a frame', (ends: Ends) => ends.frame(TEXT, '{"jsonrpc"').subarray(0, 7)],
    ['between two fragments', (ends: Ends) => ends.frame(TEXT & NO_FIN, '{"jsonrpc"')],
  ])('%s has every whole message that came before, and says that it is lost', async (_where, part) => {
    ends = await makeEnds();
    ends.socket.write(Buffer.concat([ends.frame(TEXT, '[1]'), part(ends)]));
    await ends.sink.messageNumber(1);
    const waiting = ends.transport.send({
      jsonrpc: '2.0',
      method: 'a',
      params: { text: 'x'.repeat(2 ** 24) },
    });
    ends.socket.resetAndDestroy();
    expect(await ends.sink.closed()).toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringMatching(/^The connection to ".*" was lost: (read|write) E(CONNRESET|PIPE)$/),
    });
    await waiting;
    expect(ends.sink.messages).toEqual([[1]]);
    expect(ends.sink.closes).toHaveLength(1);
    expect(() => ends.transport.send({ jsonrpc: '2.0', method: 'a' })).toThrow(/was lost/);
    await ends.transport.close();
  });
});
