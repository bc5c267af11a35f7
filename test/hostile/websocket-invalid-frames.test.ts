import { afterEach, describe, expect, it } from 'vitest';
import { BINARY, closeCodeOf, frame, maskedFrame, PING, TEXT } from '../transport/websocket-peers.ts';
import { type Ends, SIDES } from './websocket-ends.ts';

let ends: Ends;
afterEach(() => ends.close());

const NO_FIN = 0x7f;
const CONTINUATION = 0x80;
const NOTE = '{"jsonrpc":"2.0","method":"a"}';

type Case = [what: string, bytes: (ends: Ends) => Buffer[], code: number, message: RegExp];

const CASES: Case[] = [
  [
    'a binary message',
    ({ frame }) => [frame(BINARY, NOTE)],
    1003,
    /sent a binary message: MCP messages are text$/,
  ],
  ['text that is not UTF-8', ({ frame }) => [frame(TEXT, Buffer.from([0xff]))], 1007, /invalid UTF-8/],
  ['a frame of an unknown type', ({ frame }) => [frame(0x83)], 1002, /invalid opcode 3/],
  ['a continuation of nothing', ({ frame }) => [frame(CONTINUATION, NOTE)], 1002, /invalid opcode 0/],
  [
    'a message within a message',
    ({ frame }) => [frame(TEXT & NO_FIN, '{'), frame(TEXT, NOTE)],
    1002,
    /invalid opcode 1/,
  ],
  ['a compressed message', ({ frame }) => [frame(TEXT | 0x40, NOTE)], 1002, /RSV1/],
  ['a ping in fragments', ({ frame }) => [frame(PING & NO_FIN)], 1002, /FIN/],
  ['a ping that is too long', ({ frame }) => [frame(PING, 'x'.repeat(126))], 1002, /payload length 126/],
  [
    'a frame that is masked wrongly',
    (ends) => [(ends.frame === frame ? maskedFrame : frame)(TEXT, NOTE)],
    1002,
    /MASK/,
  ],
];

describe.each(SIDES)('%s ends the connection on', (_, makeEnds) => {
  it.each(CASES)('%s', async (_what, bytes, code, message) => {
    ends = await makeEnds();
    // What came before is delivered, what comes behind is not.
    ends.socket.write(Buffer.concat([ends.frame(TEXT, NOTE), ...bytes(ends), ends.frame(TEXT, NOTE)]));
    expect(await closeCodeOf(ends.socket)).toBe(code);
    expect(await ends.sink.closed()).toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringMatching(message),
    });
    expect(ends.sink.messages).toHaveLength(1);
  });
});
