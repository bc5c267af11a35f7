import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { expect } from 'vitest';
import { encodeEvent, SseDecoder, type SseEvent } from '../../src/jsonrpc/index.ts';
import { cut, cuts, messageText } from './arbitraries.ts';
import { fuzz } from './property.ts';

const oneLine = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
  .map((text) => text.replaceAll(/[\0\r\n]/g, '-'));

/** What is encoded is decoded, with all its fields; only line ends within the data become one kind. */
fuzz({
  name: 'event-identity',
  inputs: fc.record({
    data: fc.oneof(
      messageText,
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.constantFrom('\r', 'a\nb', '\r\n\n'),
    ),
    event: fc.option(oneLine, { nil: undefined }),
    id: fc.option(oneLine, { nil: undefined }),
    retry: fc.option(fc.nat(), { nil: undefined }),
    cuts,
  }),
  holds({ data, event, id, retry, cuts: lengths }) {
    const text = encodeEvent({
      data,
      ...(event === undefined ? {} : { event }),
      ...(id === undefined ? {} : { id }),
      ...(retry === undefined ? {} : { retry }),
    });
    const events: SseEvent[] = [];
    const decoder = new SseDecoder({
      event: (one) => void events.push(one),
      error: (error) => {
        throw error;
      },
    });
    for (const chunk of cut(Buffer.from(text), lengths)) decoder.push(chunk);
    decoder.end();
    const expected = {
      data: data.replaceAll(/\r\n|\r/g, '\n'),
      event: event ?? 'message',
      id,
      unterminated: false,
    };
    expect(events).toStrictEqual(data === '' ? [] : [expected]);
    expect([decoder.lastEventId, decoder.retryMs]).toStrictEqual([id, retry]);
  },
});
