import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { expect } from 'vitest';
import { encodeLine } from '../../src/jsonrpc/index.ts';
import { cut, cuts, messageText } from './arbitraries.ts';
import { readLines } from './lines.ts';
import { fuzz } from './property.ts';

/** What is encoded is decoded as it was, one line a message. */
fuzz({
  name: 'line-identity',
  inputs: fc.record({ messages: fc.array(messageText, { maxLength: 8 }), cuts }),
  holds({ messages, cuts: lengths }) {
    // Sound: what is no object among the named messages is encoded by the same expression.
    const values = messages.map((json) => JSON.parse(json) as object);
    const encoded = values.map(encodeLine).join('');
    expect(encoded.split('\n')).toHaveLength(values.length + 1);
    const heard = readLines(cut(Buffer.from(encoded), lengths));
    expect(heard).toStrictEqual(values.map((message) => ({ message })));
  },
});
