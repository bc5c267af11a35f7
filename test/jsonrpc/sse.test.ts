import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import {
  encodeEvent,
  type McpError,
  SseDecoder,
  type SseDecoderOptions,
  type SseEvent,
} from '../../src/jsonrpc/index.ts';

interface Read {
  events: SseEvent[];
  errors: McpError[];
  comments: number;
  lastEventId: string | undefined;
  retryMs: number | undefined;
}

function read(chunks: Iterable<Uint8Array | string>, options?: SseDecoderOptions, end = true): Read {
  const events: SseEvent[] = [];
  const errors: McpError[] = [];
  let comments = 0;
  const sink = {
    event: (event: SseEvent) => void events.push(event),
    comment: () => void comments++,
    error: (error: McpError) => void errors.push(error),
  };
  const decoder = new SseDecoder(sink, options);
  for (const chunk of chunks) decoder.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  if (end) decoder.end();
  return { events, errors, comments, lastEventId: decoder.lastEventId, retryMs: decoder.retryMs };
}

/** The same bytes whole, cut in two at every offset, and one by one: each must read the same. */
function readAnyCut(text: string | Buffer, options?: SseDecoderOptions): Read {
  const bytes = Buffer.from(text);
  const whole = read([bytes], options);
  for (let cut = 1; cut < bytes.length; cut++) {
    expect(read([bytes.subarray(0, cut), bytes.subarray(cut)], options)).toEqual(whole);
  }
  expect(
    read(
      Array.from(bytes, (byte) => Buffer.of(byte)),
      options,
    ),
  ).toEqual(whole);
  return whole;
}

const data = (result: Read) => result.events.map((event) => event.data);

describe('SseDecoder', () => {
  it.each([
    ['LF', '\n'],
    ['CR', '\r'],
    ['CRLF', '\r\n'],
  ])('reads lines that end with %s', (_, eol) => {
    const text = ['event: message', 'id: 7', 'data: {"a":1}', '', 'data: {"b":2}', '', ''].join(eol);
    expect(readAnyCut(text).events).toEqual([
      { data: '{"a":1}', event: 'message', id: '7', unterminated: false },
      { data: '{"b":2}', event: 'message', id: '7', unterminated: false },
    ]);
  });

  it('reads mixed line ends', () => {
    expect(data(readAnyCut('data: 1\r\r\ndata: 2\n\rdata: 3\r\n\ndata: 4\r\n\r\ndata: 5\r\r'))).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
    ]);
  });

  it('joins several lines of data with newlines', () => {
    expect(data(readAnyCut('data: {\ndata:"a":\ndata:  1}\n\n'))).toEqual(['{\n"a":\n 1}']);
  });

  it('takes off one space behind the colon and no more', () => {
    expect(data(readAnyCut('data:x\n\ndata: x\n\ndata:  x\n\ndata:\tx\n\n'))).toEqual([
      'x',
      'x',
      ' x',
      '\tx',
    ]);
  });

  it('counts comments and keeps them out of the data', () => {
    const result = readAnyCut(': hello\n:\n\ndata: 1\n:in between\ndata: 2\n\n');
    expect(data(result)).toEqual(['1\n2']);
    expect(result.comments).toBe(3);
  });

  it('ignores fields that it does not know', () => {
    expect(data(readAnyCut('datum: 1\nDATA: 2\ndata : 3\n data: 4\nx\ndata: 5\n\n'))).toEqual(['5']);
  });

  it('drops one byte order mark at the very start', () => {
    expect(data(readAnyCut('\ufeffdata: 1\n\n'))).toEqual(['1']);
    expect(data(readAnyCut('\ufeff\ufeffdata: 1\n\ndata: 2\n\n'))).toEqual(['2']);
    expect(data(readAnyCut(Buffer.from([0xef, 0xbb, 0x0a, ...Buffer.from('data: 1\n\n')])))).toEqual(['1']);
    expect(data(readAnyCut(Buffer.from([0xef, 0xbb])))).toEqual([]);
  });

  it('reads code points that are cut between chunks', () => {
    expect(data(readAnyCut('data: "é世界🌍"\n\n'))).toEqual(['"é世界🌍"']);
  });

  it('reads bytes that are no UTF-8 as U+FFFD', () => {
    const text = Buffer.concat([
      Buffer.from('data: a'),
      Buffer.of(0xff, 0xe4, 0xb8),
      Buffer.from('\n\ndata: b\n\n'),
    ]);
    expect(data(readAnyCut(text))).toEqual(['a\ufffd\ufffd', 'b']);
  });

  it('delivers no event for empty data, but remembers its id and retry time', () => {
    const result = readAnyCut('id: prime-1\nretry: 500\ndata: \n\n');
    expect(result).toEqual({ events: [], errors: [], comments: 0, lastEventId: 'prime-1', retryMs: 500 });
  });

  it('keeps the id until another one or an empty one comes', () => {
    const result = readAnyCut('id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n');
    expect(result.events.map((event) => event.id)).toEqual(['1', '1', '']);
    expect(result.lastEventId).toBe('');
  });

  it('ignores an id that contains NUL', () => {
    expect(readAnyCut('id: 1\ndata: a\n\nid: 2\u00003\ndata: b\n\n').lastEventId).toBe('1');
  });

  it('does not take the id of an event that never ended', () => {
    expect(readAnyCut('id: 1\ndata: a\n\nid: 2\n').lastEventId).toBe('1');
  });

  it('takes a retry time of digits only', () => {
    expect(readAnyCut('retry: 10\n\nretry: 1e3\nretry: -5\nretry: 12ms\nretry:\n\n').retryMs).toBe(10);
  });

  it('forgets the event type behind each event', () => {
    expect(
      readAnyCut('event: endpoint\ndata: /x\n\ndata: 1\n\nevent: a\n\ndata: 2\n\n').events.map(
        (e) => e.event,
      ),
    ).toEqual(['endpoint', 'message', 'message']);
  });

  describe('at the end of the stream', () => {
    it.each(['data: {"a":1}', 'data: {"a":1}\n', 'data: {"a":\ndata: 1}\r\n'])(
      'delivers whole JSON that only lacks the blank line: %j',
      (text) => {
        const result = readAnyCut(`id: 9\n${text}`);
        expect(result.events).toHaveLength(1);
        expect(result.events[0]).toMatchObject({ id: '9', unterminated: true });
        expect(JSON.parse(result.events[0]?.data ?? '')).toEqual({ a: 1 });
        expect(result.errors).toEqual([]);
        expect(result.lastEventId).toBe('9');
      },
    );

    it.each(['data: {"a":1', 'data: 12', 'data: "x"\n', 'data: {"a":1}x'])(
      'reports an event that was cut off: %j',
      (text) => {
        const result = readAnyCut(`id: 9\n${text}`);
        expect(result.events).toEqual([]);
        expect(result.errors.map((error) => error.code)).toEqual(['INVALID_JSON']);
        expect(result.lastEventId).toBeUndefined();
      },
    );

    it('says nothing of an event without data', () => {
      expect(readAnyCut('data: 1\n\nid: 4\nevent: x\ndata:').errors).toEqual([]);
    });
  });

  it.each([5, 1021, 2048, 4093, 65_536])(
    'reads a long event of characters of one to four bytes in chunks of %i bytes, and replaces what is not UTF-8',
    (chunkBytes) => {
      const text = 'a\u00e9\u20ac\u{1f600}'.repeat(30_000);
      const bytes = Buffer.from(`data: ${text}\n\n`);
      const chunks = (of: Buffer) =>
        Array.from({ length: Math.ceil(of.length / chunkBytes) }, (_, at) =>
          of.subarray(at * chunkBytes, (at + 1) * chunkBytes),
        );
      expect(data(read(chunks(bytes)))).toEqual([text]);
      const broken = Buffer.from(bytes);
      broken[70_000] = 0xff;
      expect(data(read(chunks(broken)))).toEqual([broken.toString().slice(6, -2)]);
    },
  );

  describe('with an event over the limit', () => {
    it('skips it with one error and reads on behind it', () => {
      const text = `data: 1\n\ndata: ${'x'.repeat(60)}\ndata: more\nid: 5\n\ndata: 2\n\n`;
      const result = readAnyCut(text, { maxEventBytes: 40 });
      expect(data(result)).toEqual(['1', '2']);
      expect(result.errors.map((error) => error.code)).toEqual(['EVENT_TOO_LONG']);
    });

    it('counts all data lines of the event', () => {
      const result = readAnyCut(`${'data: 34\n'.repeat(6)}\ndata: 2\n\n`, { maxEventBytes: 40 });
      expect(data(result)).toEqual(['2']);
      expect(result.errors).toHaveLength(1);
    });

    it('takes an event of exactly the limit', () => {
      expect(data(readAnyCut('data: 7890\r\n\r\n', { maxEventBytes: 10 }))).toEqual(['7890']);
      expect(data(readAnyCut('data: 78901\r\n\r\n', { maxEventBytes: 10 }))).toEqual([]);
      expect(data(readAnyCut('\ufeffdata: é9\n\n', { maxEventBytes: 9 }))).toEqual(['é9']);
      expect(data(readAnyCut('\ufeffdata: é90\n\n', { maxEventBytes: 9 }))).toEqual([]);
    });

    it('does not count comments, however many there are', () => {
      const result = readAnyCut(`${':\r\n'.repeat(40)}data: 1\n\n`, { maxEventBytes: 10 });
      expect(data(result)).toEqual(['1']);
      expect(result.errors).toEqual([]);
    });
  });

  it('does not keep the chunk', () => {
    const chunk = Buffer.from('data: {"a":');
    const events: string[] = [];
    const decoder = new SseDecoder({ event: (event) => void events.push(event.data), error: () => {} });
    decoder.push(chunk);
    chunk.fill(0);
    decoder.push(Buffer.from('1}\n\n'));
    expect(events).toEqual(['{"a":1}']);
  });

  it('reads a plain Uint8Array', () => {
    expect(data(read([new Uint8Array(Buffer.from('data: 1234567890123456\n\n'))]))).toEqual([
      '1234567890123456',
    ]);
  });

  it('refuses a limit that is no positive number', () => {
    const sink = { event() {}, error() {} };
    expect(() => new SseDecoder(sink, { maxEventBytes: 0 })).toThrow(/maxEventBytes/);
    expect(() => new SseDecoder(sink, { maxEventBytes: Number.NaN })).toThrow(/maxEventBytes/);
  });
});

describe('encodeEvent', () => {
  it('writes one line of data and a blank line', () => {
    expect(encodeEvent({ data: '{"a":1}' })).toBe('data: {"a":1}\n\n');
  });

  it('writes type, id and retry time before the data', () => {
    expect(encodeEvent({ data: '', id: 'e1', event: 'message', retry: 500 })).toBe(
      'event: message\nid: e1\nretry: 500\ndata: \n\n',
    );
  });

  it('writes each line of the data as a line of its own, which decode to the same data', () => {
    const text = encodeEvent({ data: 'a\nb\r\nc\rd\n' });
    expect(text).toBe('data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n');
    expect(data(read([text]))).toEqual(['a\nb\nc\nd\n']);
  });

  it.each([{ id: 'a\nb' }, { id: 'a\rb' }, { id: 'a\0b' }, { event: 'a\nb' }, { retry: -1 }, { retry: 1.5 }])(
    'refuses what the format cannot carry: %j',
    (fields) => {
      expect(() => encodeEvent({ data: 'x', ...fields })).toThrow(TypeError);
    },
  );
});
