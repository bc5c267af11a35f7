import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { expect } from 'vitest';
import { cut, cuts, messageText } from './arbitraries.ts';
import { readEvents } from './events.ts';
import { fuzz } from './property.ts';

const field = fc.constantFrom('data:', 'data: ', 'event:', 'id: ', 'retry:', ':', 'data', '');
const value = fc.oneof(fc.string({ unit: 'binary', maxLength: 10 }), messageText);
const line = fc.oneof(
  fc.tuple(field, value).map((parts) => parts.join('')),
  fc.constantFrom('', '', '\ufeff', 'data: \ufffd', 'retry: 1000', 'id: \0'),
);
const ending = fc.constantFrom('\n', '\r\n', '\r', '\n\n', '\r\n\r\n');

/** However the bytes are cut, and also where they are no UTF-8, the same events are read from them. */
fuzz({
  name: 'event-chunks',
  inputs: fc.record({
    bytes: fc
      .array(fc.tuple(line, ending, fc.uint8Array({ maxLength: 2 })), { maxLength: 8 })
      .map((lines) => lines.flatMap(([text, end, raw]) => [Buffer.from(text), Buffer.from(end), raw]))
      .map((parts) => Buffer.concat(parts).toString('hex')),
    cuts,
    maxEventBytes: fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 60 })),
  }),
  holds({ bytes: hex, cuts: lengths, maxEventBytes }) {
    const bytes = Buffer.from(hex, 'hex');
    const whole = readEvents([bytes], maxEventBytes);
    expect(readEvents(cut(bytes, lengths), maxEventBytes)).toStrictEqual(whole);
    expect(readEvents(cut(bytes, [1]), maxEventBytes)).toStrictEqual(whole);
  },
});
