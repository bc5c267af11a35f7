import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { expect } from 'vitest';
import { cut, cuts, messageText } from './arbitraries.ts';
import { readLines } from './lines.ts';
import { fuzz } from './property.ts';

const OWN_ERRORS = ['INVALID_JSON', 'INVALID_UTF8', 'LINE_TOO_LONG'];

/** Whatever came before it, a message on a line of its own is read; what was no message is named by the framer. */
fuzz({
  name: 'line-noise',
  inputs: fc.record({
    noise: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('hex')),
    json: messageText,
    cuts,
  }),
  holds({ noise, json, cuts: lengths }) {
    const line = Buffer.from(json);
    const bytes = Buffer.concat([Buffer.from(noise, 'hex'), Buffer.from('\n'), line, Buffer.from('\n')]);
    const heard = readLines(cut(bytes, lengths), line.length);
    expect(heard.pop()).toStrictEqual({ message: JSON.parse(json) });
    for (const said of heard) {
      if ('error' in said) expect(OWN_ERRORS).toContain(said.error);
    }
  },
});
