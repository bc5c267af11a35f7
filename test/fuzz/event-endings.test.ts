import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { expect } from 'vitest';
import { cut, cuts, messageText } from './arbitraries.ts';
import { readEvents } from './events.ts';
import { fuzz } from './property.ts';

const line = fc.oneof(
  messageText.map((json) => `data: ${json}`),
  fc
    .tuple(
      fc.constantFrom('data:', 'data: ', 'event:', 'id:', 'retry: ', ':', 'x', ''),
      fc.string({ unit: 'binary', maxLength: 6 }),
    )
    .map(([field, value]) => field + value.replaceAll(/[\r\n]/g, '')),
  fc.constantFrom('', 'data', 'data:', 'retry:10'),
);
const ending = fc.constantFrom('\n', '\r', '\r\n');

/** However the lines end, one like the other or not, and however the bytes are cut, the same events are read. */
fuzz({
  name: 'event-endings',
  inputs: fc.record({ lines: fc.array(fc.tuple(line, ending), { maxLength: 10 }), cuts }),
  holds({ lines, cuts: lengths }) {
    const plain = lines.map(([text]) => `${text}\n`).join('');
    const mixed = lines.map(([text, end], at) => text + endingAt(lines, at, end)).join('');
    const expected = readEvents([Buffer.from(plain)]);
    expect(readEvents(cut(Buffer.from(mixed), lengths))).toStrictEqual(expected);
  },
});

/** LF behind CR would be one line end, not the end of an empty line. */
function endingAt(lines: readonly (readonly [string, string])[], at: number, end: string): string {
  const before = lines[at - 1];
  return end === '\n' && lines[at]?.[0] === '' && before?.[1] === '\r' ? '\r\n' : end;
}
