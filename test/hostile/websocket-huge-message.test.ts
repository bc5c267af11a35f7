import { afterEach, describe, expect, it } from 'vitest';
import { closeCodeOf, TEXT } from '../transport/websocket-peers.ts';
import { type Ends, SIDES } from './websocket-ends.ts';

let ends: Ends;
afterEach(() => ends.close());

const NO_FIN = 0x7f;
const CONTINUATION = 0x80;
const MASKED = 0x80;
const TOO_LONG = /a message exceeds 100 bytes; raise maxMessageBytes to accept it$/;

/** The beginning of a frame that says how long it will be. */
function announced({ frame }: Ends, bytes: bigint): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(bytes);
  const mask = (frame(TEXT)[1] as number) & MASKED;
  return Buffer.concat([Buffer.from([TEXT, 127 | mask]), length]);
}

describe.each(SIDES)('%s ends the connection with 1009', (_, makeEnds) => {
  it('on a message above maxMessageBytes, before it has come', async () => {
    ends = await makeEnds({ maxMessageBytes: 100 });
    ends.socket.write(ends.frame(TEXT, `"${'x'.repeat(98)}"`));
    await ends.sink.messageNumber(1);
    ends.socket.write(ends.frame(TEXT, 'x'.repeat(101)).subarray(0, 4));
    expect(await closeCodeOf(ends.socket)).toBe(1009);
    expect((await ends.sink.closed())?.message).toMatch(TOO_LONG);
  });

  it('on fragments that come to more together', async () => {
    ends = await makeEnds({ maxMessageBytes: 100 });
    ends.socket.write(ends.frame(TEXT & NO_FIN, 'x'.repeat(60)));
    ends.socket.write(ends.frame(CONTINUATION & NO_FIN, 'x'.repeat(60)));
    expect(await closeCodeOf(ends.socket)).toBe(1009);
    expect((await ends.sink.closed())?.message).toMatch(TOO_LONG);
  });

  it.each([2n ** 32n, 2n ** 62n])('on a frame that says it has %d bytes', async (bytes) => {
    ends = await makeEnds({ maxMessageBytes: 100 });
    ends.socket.write(announced(ends, bytes));
    expect(await closeCodeOf(ends.socket)).toBe(1009);
    expect((await ends.sink.closed())?.code).toBe('TRANSPORT_FAILED');
  });
});

describe.each(SIDES)('%s ends the connection with 1008', (_, makeEnds) => {
  it('on a message in more fragments than anybody needs', async () => {
    ends = await makeEnds();
    const fragments = [ends.frame(TEXT & NO_FIN, '1')];
    for (let count = 0; count < 20_000; count++) fragments.push(ends.frame(CONTINUATION & NO_FIN, '1'));
    ends.socket.write(Buffer.concat(fragments));
    expect(await closeCodeOf(ends.socket)).toBe(1008);
    expect((await ends.sink.closed())?.message).toMatch(/fragments/);
  });
});
