import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { MESSAGES } from '../jsonrpc/messages.ts';

/** Bytes as hexadecimal text: what an input file can hold. */
export type Hex = string;

const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\n', '\r\n', '\u2028', '\u0085', '\ufffd', '\ufeff', '\ud83d', ''),
  },
);

/** A message as text, with an envelope that is right and contents that are anything. */
const envelope = fc
  .record({
    id: fc.oneof(fc.integer(), text),
    method: text,
    content: fc.dictionary(text, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 3 }),
    extra: fc.jsonValue({ maxDepth: 1 }),
    kind: fc.constantFrom('request', 'notification', 'result', 'error'),
  })
  .map(({ id, method, content, extra, kind }) => {
    const bodies = {
      request: { id, method, params: content },
      notification: { method, params: content },
      result: { id, result: content },
      error: { id, error: { code: -32000, message: method, data: content } },
    };
    return JSON.stringify({ jsonrpc: '2.0', ...bodies[kind], extra });
  });

/** One JSON-RPC message as text, without a newline in it. */
export const messageText = fc.oneof(
  { weight: 2, arbitrary: envelope },
  { weight: 1, arbitrary: fc.constantFrom(...MESSAGES.map(({ json }) => json)) },
);

/** What a line may hold beside a message: noise, blanks, bytes that are no UTF-8. Never a newline. */
export const noise: fc.Arbitrary<Hex> = fc
  .oneof(
    fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
    text.map((line) => Buffer.from(line)),
    fc.constantFrom('', ' ', '\r', '\t\r', '\ufeff', '{', '1 2', '\u00a0').map((line) => Buffer.from(line)),
  )
  .map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0x0a)).toString('hex'));

/** Where to cut a run of bytes: each number is the length of the next chunk, over and over. */
export const cuts = fc.array(fc.nat(20), { maxLength: 8 });

/** The bytes in chunks of these lengths. The first of a round is at least 1; no lengths at all cut nothing. */
export function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const round = lengths.length === 0 ? [bytes.length] : lengths;
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    for (const [turn, length] of round.entries()) {
      const end = at + (turn === 0 ? Math.max(length, 1) : length);
      chunks.push(bytes.subarray(at, end));
      at = end;
    }
  }
  return chunks;
}
