import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { decodeHeaderValue, encodeHeaderValue } from '../../src/protocol/headers.ts';
import { fuzz } from './property.ts';

/** What HTTP lets stand in a header value, with nothing that a recipient may trim. */
const LEGAL = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/;

fuzz({
  name: 'header-values',
  inputs: fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.string().map((text) => `=?base64?${text}?=`),
    fc.string().map((text) => ` ${text}\t`),
  ),
  holds(value) {
    const header = encodeHeaderValue(value);
    if (!LEGAL.test(header)) throw new Error(`no legal header value: ${JSON.stringify(header)}`);
    // Half a surrogate pair cannot be carried as UTF-8; everything else comes back as it was.
    const isUnicode = Buffer.from(value).toString() === value;
    if (isUnicode && decodeHeaderValue(header) !== value) {
      throw new Error(`${JSON.stringify(value)} came back as ${JSON.stringify(decodeHeaderValue(header))}`);
    }
  },
});
