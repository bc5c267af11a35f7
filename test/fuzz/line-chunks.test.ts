import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { expect } from 'vitest';
import { cut, cuts, messageText, noise } from './arbitraries.ts';
import { readLines, readPlainly } from './lines.ts';
import { fuzz } from './property.ts';

const line = fc.oneof(
  messageText.map((json) => Buffer.from(json).toString('hex')),
  noise,
);
const ending = fc.constantFrom('0a', '0d0a', '0a', '0d0d0a');

/** However the bytes are cut, they read as each line does by itself. */
fuzz({
  name: 'line-chunks',
  inputs: fc.record({
    bytes: fc
      .tuple(fc.array(fc.tuple(line, ending), { maxLength: 6 }), fc.oneof(fc.constant(''), line))
      .map(([lines, unterminated]) => [...lines.flat(), unterminated].join('')),
    cuts,
    maxLineBytes: fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 60 })),
  }),
  holds({ bytes: hex, cuts: lengths, maxLineBytes }) {
    const bytes = Buffer.from(hex, 'hex');
    expect(readLines(cut(bytes, lengths), maxLineBytes)).toStrictEqual(readPlainly(bytes, maxLineBytes));
  },
});
