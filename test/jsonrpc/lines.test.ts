import { Buffer } from 'node:buffer';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DEFAULT_MAX_LINE_BYTES, encodeLine, LineDecoder, McpError } from '../../src/jsonrpc/index.ts';
import { MESSAGES } from './messages.ts';

/** What a decoder said, in order: a parsed value, or the code of an error. */
type Heard = { message: unknown } | { error: string };

interface ReadOptions {
  maxLineBytes?: number;
  end?: boolean;
}

function read(chunks: Iterable<Uint8Array>, { maxLineBytes, end = true }: ReadOptions = {}): Heard[] {
  const heard: Heard[] = [];
  const decoder = new LineDecoder(
    {
      message: (message) => heard.push({ message }),
      error: (error) => heard.push({ error: error.code }),
    },
    maxLineBytes === undefined ? {} : { maxLineBytes },
  );
  for (const chunk of chunks) decoder.push(chunk);
  if (end) decoder.end();
  return heard;
}

/** Blank lines say nothing, and make a chunk large enough not to be read byte by byte. */
const BLANK_LINES = Buffer.alloc(17, '\n');

/** The same bytes whole, cut in two at every offset, with an empty chunk at the cut, and one by one: all read alike. */
function readAnyCut(input: string | Buffer, options?: ReadOptions): Heard[] {
  const bytes = Buffer.from(input);
  const whole = read([bytes], options);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const [head, tail] = [bytes.subarray(0, cut), bytes.subarray(cut)];
    expect(read([head, tail], options), `cut at ${cut}`).toStrictEqual(whole);
    expect(read([head, Buffer.alloc(0), tail], options), `cut twice at ${cut}`).toStrictEqual(whole);
    const large = Buffer.concat([tail, BLANK_LINES]);
    expect(read([head, large], options), `cut at ${cut}, before a large chunk`).toStrictEqual(whole);
  }
  expect(read(inChunks(bytes, 1), options), 'one by one').toStrictEqual(whole);
  return whole;
}

function* inChunks(bytes: Buffer, chunkBytes: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

function messages(...values: unknown[]): Heard[] {
  return values.map((message) => ({ message }));
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('LineDecoder', () => {
  it.each(MESSAGES)('reads $name, cut anywhere', ({ json }) => {
    expect(readAnyCut(`${json}\n`)).toStrictEqual(messages(JSON.parse(json)));
  });

  it('reads all named messages from one chunk, in order', () => {
    const text = MESSAGES.map(({ json }) => `${json}\n`).join('');
    expect(read([Buffer.from(text)])).toStrictEqual(
      messages(...MESSAGES.map(({ json }) => JSON.parse(json))),
    );
  });

  it('reads ten thousand messages from one chunk, in order', () => {
    const ids = Array.from({ length: 10_000 }, (_, id) => id);
    const text = ids.map((id) => `{"id":${id}}\n`).join('');
    expect(read([Buffer.from(text)])).toStrictEqual(messages(...ids.map((id) => ({ id }))));
  });

  it('delivers a message as soon as its newline is there', () => {
    const bytes = Buffer.from('{"a":1}\n{"b":2}');
    expect(read([bytes], { end: false })).toStrictEqual(messages({ a: 1 }));
  });

  describe('ends a line at 0x0A and nowhere else', () => {
    it.each([
      ['U+2028', '\u2028'],
      ['U+2029', '\u2029'],
      ['U+0085', '\u0085'],
    ])('%s inside a string is part of it', (_name, separator) => {
      expect(readAnyCut(`{"text":"a${separator}b"}\n{"c":1}\n`)).toStrictEqual(
        messages({ text: `a${separator}b` }, { c: 1 }),
      );
    });

    it('a carriage return alone is white space', () => {
      expect(readAnyCut('{"a":\r1}\n')).toStrictEqual(messages({ a: 1 }));
    });

    it('a carriage return before the newline belongs to neither line', () => {
      expect(readAnyCut('{"a":1}\r\n{"b":2}\r\n')).toStrictEqual(messages({ a: 1 }, { b: 2 }));
    });

    it('U+0A0A and U+010A hold that byte in UTF-16 only', () => {
      expect(readAnyCut('{"text":"\u0a0a\u010a"}\n')).toStrictEqual(messages({ text: '\u0a0a\u010a' }));
    });
  });

  it('passes over blank lines', () => {
    expect(readAnyCut('\n\r\n  \n\t\r\n{"a":1}\n\n\n{"b":2}\n \n')).toStrictEqual(
      messages({ a: 1 }, { b: 2 }),
    );
  });

  it.each([
    ['a no-break space', '\u00a0'],
    ['U+2028', '\u2028'],
    ['a vertical tab', '\u000b'],
    ['a byte order mark that is not the first', '\ufeff'],
  ])('reports a line of %s, which is no blank of JSON', (_name, text) => {
    expect(readAnyCut(`{"a":1}\n${text}\n{"b":2}\n`)).toStrictEqual([
      { message: { a: 1 } },
      { error: 'INVALID_JSON' },
      { message: { b: 2 } },
    ]);
  });

  describe('strips one byte order mark', () => {
    it('at the very start', () => {
      expect(readAnyCut('\ufeff{"a":1}\n')).toStrictEqual(messages({ a: 1 }));
    });

    it('in front of a blank line', () => {
      expect(readAnyCut('\ufeff\r\n{"a":1}\n')).toStrictEqual(messages({ a: 1 }));
    });

    it('but not a second one', () => {
      expect(readAnyCut('\ufeff\ufeff{"a":1}\n{"b":2}\n')).toStrictEqual([
        { error: 'INVALID_JSON' },
        { message: { b: 2 } },
      ]);
    });

    it('nor one at the start of a later line, even after a line that was skipped', () => {
      expect(readAnyCut('\n\ufeff{"a":1}\n')).toStrictEqual([{ error: 'INVALID_JSON' }]);
      expect(readAnyCut('{"long":"line"}\n\ufeff{"a":1}\n', { maxLineBytes: 12 })).toStrictEqual([
        { error: 'LINE_TOO_LONG' },
        { error: 'INVALID_JSON' },
      ]);
      expect(readAnyCut(Buffer.from('ff0aefbbbf7b7d0a', 'hex'))).toStrictEqual([
        { error: 'INVALID_UTF8' },
        { error: 'INVALID_JSON' },
      ]);
    });

    it('nor one inside a string', () => {
      expect(readAnyCut('{"a":"\ufeff"}\n')).toStrictEqual(messages({ a: '\ufeff' }));
    });
  });

  describe('reports a line that is not UTF-8 and keeps its neighbours', () => {
    it.each([
      ['a lone continuation byte', '80'],
      ['a start byte without its continuation', 'c3'],
      ['a sequence that is cut short', 'e282'],
      ['an overlong NUL', 'c080'],
      ['an overlong newline, which ends no line', 'c08a'],
      ['half of a surrogate pair', 'eda080'],
      ['a code point above U+10FFFF', 'f4908080'],
      ['a byte that UTF-8 never has', 'ff'],
    ])('%s', (_name, hex) => {
      const bad = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(hex, 'hex'), Buffer.from('"}\n')]);
      const bytes = Buffer.concat([Buffer.from('{"before":1}\n'), bad, Buffer.from('{"after":1}\n')]);
      expect(readAnyCut(bytes)).toStrictEqual([
        { message: { before: 1 } },
        { error: 'INVALID_UTF8' },
        { message: { after: 1 } },
      ]);
    });

    it('while a replacement character that was sent is text like any other', () => {
      expect(readAnyCut('{"a":"\ufffd"}\r\n{"b":1}\n')).toStrictEqual(messages({ a: '\ufffd' }, { b: 1 }));
    });

    it('and tells the two apart in one chunk', () => {
      const bytes = Buffer.concat([Buffer.from('{"a":"\ufffd"}\n'), Buffer.from('22ff220a', 'hex')]);
      expect(readAnyCut(bytes)).toStrictEqual([{ message: { a: '\ufffd' } }, { error: 'INVALID_UTF8' }]);
    });
  });

  describe('reports a line that is not JSON and keeps its neighbours', () => {
    it.each([
      'Server listening on stdio',
      '{"a":1',
      '{"a":1}}',
      "{'a':1}",
      '{"a":1} {"b":2}',
      'undefined',
      '\0',
    ])('%j', (noise) => {
      expect(readAnyCut(`{"before":1}\n${noise}\n{"after":1}\n`)).toStrictEqual([
        { message: { before: 1 } },
        { error: 'INVALID_JSON' },
        { message: { after: 1 } },
      ]);
    });

    it('quoting its beginning only', () => {
      const errors: McpError[] = [];
      const decoder = new LineDecoder({ message: () => {}, error: (error) => errors.push(error) });
      decoder.push(Buffer.from(`oops\t${'x'.repeat(10_000)}\n`));
      expect(errors).toHaveLength(1);
      expect(errors[0]).toBeInstanceOf(McpError);
      expect(errors[0]?.message).toMatch(/^Cannot read a line: it is not JSON: "oops\\txxx/);
      expect(errors[0]?.message.length).toBeLessThan(200);
      expect(errors[0]?.cause).toBeInstanceOf(SyntaxError);
    });
  });

  describe('tells of bad lines in a row', () => {
    /** What is said of so many of them, and of a message behind. */
    function said(count: number): string[] {
      const heard: string[] = [];
      const decoder = new LineDecoder({
        message: (value) => heard.push(JSON.stringify(value)),
        error: ({ message }) => heard.push(message),
      });
      decoder.push(Buffer.from(`${'y\n'.repeat(count)}1\n`));
      return heard;
    }

    it('each of the first 32', () => {
      const each = Array.from({ length: 32 }, () => 'Cannot read a line: it is not JSON: "y"');
      expect(said(32)).toStrictEqual([...each, '1']);
    });

    it('and of the others how many there were: when they have doubled, and when a message comes', () => {
      expect(said(1000).slice(32)).toStrictEqual([
        ...[32, 64, 128, 256, 488].map(
          (more) => `Cannot read ${more} more lines in a row: they are not JSON`,
        ),
        '1',
      ]);
    });

    it('which cannot be told from good ones by what they begin with', () => {
      const good = [
        '1',
        '-1.5e3 ',
        '"a"',
        ' true',
        'null\r',
        'false',
        '[]',
        '[ 1]',
        ' {}',
        '{ "a":1}',
        '[["a"]]',
        '[-1]',
      ];
      for (const line of good) {
        const text = `${'y\n'.repeat(50)}${line}\n`;
        expect(read([Buffer.from(text)]).at(-1), line).toStrictEqual({ message: JSON.parse(line) });
      }
      for (const line of ['{x', '[x]', '1-1', 'truey', '"', '{"a"', '[1', '\u00a0', 'nul']) {
        const text = `${'y\n'.repeat(31 + 32)}${line}\n`;
        expect(read([Buffer.from(text)], { end: false }), line).toHaveLength(32 + 1);
      }
    });
  });

  describe('says that there is a flood', () => {
    const MIB = 1024 * 1024;

    function floods(chunks: Iterable<Buffer>, maxLineBytes: number): number[] {
      const floods: number[] = [];
      const sink = { message: () => {}, error: () => {}, flood: (bytes: number) => void floods.push(bytes) };
      const decoder = new LineDecoder(sink, { maxLineBytes });
      for (const chunk of chunks) decoder.push(chunk);
      return floods;
    }

    it('once, when 256 MiB held no message', () => {
      const chunks = Array<Buffer>(600).fill(Buffer.alloc(MIB, 'x'));
      expect(floods(chunks.slice(0, 256), 1000)).toStrictEqual([]);
      expect(floods(chunks, 1000)).toStrictEqual([257 * MIB]);
    });

    it('or four times the longest line', () => {
      const chunks = Array<Buffer>(401).fill(Buffer.alloc(MIB, 'x'));
      expect(floods(chunks.slice(0, 400), 100 * MIB)).toStrictEqual([]);
      expect(floods(chunks, 100 * MIB)).toStrictEqual([401 * MIB]);
    });

    it('but not when there is one between', () => {
      const chunks = Array<Buffer>(256).fill(Buffer.alloc(MIB, 'x'));
      expect(floods([...chunks, Buffer.from('\n1\n'), ...chunks], 1000)).toStrictEqual([]);
    });
  });

  describe('at the end of input', () => {
    it('delivers an unterminated last line', () => {
      expect(readAnyCut('{"a":1}\n{"b":2}')).toStrictEqual(messages({ a: 1 }, { b: 2 }));
      expect(readAnyCut('{"b":2}\r')).toStrictEqual(messages({ b: 2 }));
    });

    it('reports an unterminated last line that is not JSON', () => {
      expect(readAnyCut('{"a":1}\n{"b":')).toStrictEqual([{ message: { a: 1 } }, { error: 'INVALID_JSON' }]);
    });

    it('reports a code point that is cut short', () => {
      expect(readAnyCut(Buffer.from('7b7d0a22e282', 'hex'))).toStrictEqual([
        { message: {} },
        { error: 'INVALID_UTF8' },
      ]);
    });

    it('says nothing more of a line that was too long', () => {
      expect(readAnyCut('"0123456789', { maxLineBytes: 8 })).toStrictEqual([{ error: 'LINE_TOO_LONG' }]);
    });

    it('says nothing of an empty input, nor of blanks', () => {
      expect(readAnyCut('')).toStrictEqual([]);
      expect(readAnyCut(' \r')).toStrictEqual([]);
      expect(readAnyCut('\ufeff')).toStrictEqual([]);
    });
  });

  describe('holds a line to maxLineBytes', () => {
    // 10 bytes: 8 characters, one of them of three bytes.
    const line = '"123456€"';
    const atLimit = { maxLineBytes: Buffer.byteLength(line) };
    const belowLimit = { maxLineBytes: Buffer.byteLength(line) - 1 };

    it.each(['\n', '\r\n', ''])('a line of exactly that many bytes before %j is read', (ending) => {
      expect(readAnyCut(`1\n${line}${ending}`, atLimit)).toStrictEqual(messages(1, '123456€'));
    });

    it.each(['\n', '\r\n', ''])('a line of one byte more before %j is one error', (ending) => {
      expect(readAnyCut(`1\n${line}${ending}`, belowLimit)).toStrictEqual([
        { message: 1 },
        { error: 'LINE_TOO_LONG' },
      ]);
    });

    it('a carriage return inside the line counts', () => {
      expect(readAnyCut(`${line}\r\r\n`, atLimit)).toStrictEqual([{ error: 'LINE_TOO_LONG' }]);
      expect(readAnyCut(`${line}\r \n`, atLimit)).toStrictEqual([{ error: 'LINE_TOO_LONG' }]);
    });

    it('a longer line costs one error and none of its neighbours', () => {
      const text = `1\n2\n${'x'.repeat(100)}\n3\n${'y'.repeat(9)}\n4\n`;
      expect(readAnyCut(text, { maxLineBytes: 8 })).toStrictEqual([
        ...messages(1, 2),
        { error: 'LINE_TOO_LONG' },
        { message: 3 },
        { error: 'LINE_TOO_LONG' },
        { message: 4 },
      ]);
    });

    it('a blank line of more bytes is too long as well', () => {
      expect(readAnyCut(`${' '.repeat(9)}\n1\n`, { maxLineBytes: 8 })).toStrictEqual([
        { error: 'LINE_TOO_LONG' },
        { message: 1 },
      ]);
    });

    it('a longer line is reported when it gets too long, not when it ends', () => {
      const chunks = [Buffer.from('"12345'), Buffer.from('6789')];
      expect(read(chunks, { maxLineBytes: 8, end: false })).toStrictEqual([{ error: 'LINE_TOO_LONG' }]);
    });

    it('the message names the limit and the option', () => {
      const errors: McpError[] = [];
      const sink = { message: () => {}, error: (error: McpError) => void errors.push(error) };
      new LineDecoder(sink, { maxLineBytes: 8 }).push(Buffer.from('123456789'));
      expect(errors.map(({ message }) => message)).toStrictEqual([
        'Cannot read a line: it exceeds 8 bytes; raise maxLineBytes to accept it',
      ]);
    });

    describe('and says of a longer one which message it was', () => {
      const long = 'x'.repeat(3000);
      const value = `{"content":[{"type":"text","text":"${long}"}]}`;
      const response = (id: unknown) => ({ id, isResponse: true });
      const request = (id: unknown) => ({ id, isResponse: false });

      /** What is said of the line, whole and cut anywhere near its ends. */
      function lostIn(line: string): unknown {
        const bytes = Buffer.from(`${line}\n`);
        const cuts = Array.from({ length: 120 }, (_, at) => at);
        const lost = [0, ...cuts, ...cuts.map((at) => bytes.length - at)].map((cut) => {
          const heard: unknown[] = [];
          const sink = {
            message: () => {},
            error: (_: McpError, message?: object) => void heard.push(message),
          };
          const decoder = new LineDecoder(sink, { maxLineBytes: 2000 });
          for (const chunk of [bytes.subarray(0, cut), bytes.subarray(cut)]) decoder.push(chunk);
          expect(heard).toHaveLength(1);
          return heard[0];
        });
        for (const each of lost) expect(each).toStrictEqual(lost[0]);
        return lost[0];
      }

      it.each([
        ['{"jsonrpc":"2.0","id":5,"result":VALUE}', response(5)],
        ['{ "jsonrpc" : "2.0" , "id" : "a\\"}b" , "result" : VALUE }', response('a"}b')],
        ['{"id":0,"jsonrpc":"2.0","error":VALUE}', response(0)],
        ['{"jsonrpc":"2.0","id":5,"method":"m","params":VALUE}', request(5)],
        ['{"jsonrpc":"2.0","params":{"id":6},"id":5,"method":"m","x":VALUE}', request(5)],
        ['{"result":VALUE,"jsonrpc":"2.0","id":5}', response(5)],
        ['{"result":VALUE,"jsonrpc": "2.0", "id": "a" } \r', response('a')],
        ['{"jsonrpc":"2.0","result":VALUE,"id":5}', response(5)],
        ['{"method":"m","params":VALUE,"jsonrpc":"2.0","id":5}', request(5)],
      ])('%s', (line, lost) => {
        expect(lostIn(line.replace('VALUE', value))).toStrictEqual(lost);
      });

      it.each([
        ['no id', '{"jsonrpc":"2.0","result":VALUE}'],
        ['an id of something else', '{"jsonrpc":"2.0","result":{"x":VALUE,"id":5}}'],
        ['an id in a string', '{"jsonrpc":"2.0","result":VALUE,"x":",\\"id\\":5}"}'],
        ['an id in an array', '[{"jsonrpc":"2.0","result":VALUE,"id":5}]'],
        ['an id between two long values', '{"jsonrpc":"2.0","result":VALUE,"id":5,"x":VALUE}'],
        ['no version', '{"result":VALUE,"id":5}'],
        ['neither a response nor a call', '{"jsonrpc":"2.0","id":5,"x":VALUE}'],
        ['both', '{"jsonrpc":"2.0","id":5,"method":"m","result":VALUE}'],
        ['an id that is none', '{"jsonrpc":"2.0","id":1.5,"result":VALUE,"id":5}'],
        ['a notification', '{"jsonrpc":"2.0","method":"m","params":VALUE}'],
        ['a line that breaks off', '{"jsonrpc":"2.0","result":VALUE,"id":5'],
        ['no object', '5, {"jsonrpc":"2.0","result":VALUE,"id":5}'],
      ])('nothing where there is %s', (_what, line) => {
        expect(lostIn(line.replaceAll('VALUE', value))).toBeUndefined();
      });
    });

    it('is 64 MiB by default', () => {
      expect(DEFAULT_MAX_LINE_BYTES).toBe(67_108_864);
      const half = Buffer.alloc(DEFAULT_MAX_LINE_BYTES / 2, '1');
      expect(read([half, half], { end: false })).toStrictEqual([]);
      expect(read([half, half, Buffer.from('1')], { end: false })).toStrictEqual([
        { error: 'LINE_TOO_LONG' },
      ]);
    });

    it.each([0, -1, Number.NaN])('%s is refused', (maxLineBytes) => {
      expect(() => read([], { maxLineBytes })).toThrow(TypeError);
    });

    it('Infinity leaves the longest string this runtime can hold', () => {
      expect(read([Buffer.from('1\n')], { maxLineBytes: Number.POSITIVE_INFINITY })).toStrictEqual(
        messages(1),
      );
    });
  });

  describe('reads a long line in time that grows with its length', () => {
    /** Counts the bytes that the decoder looks at, copies or allocates: what it costs, whatever the machine. */
    function countBytes() {
      const counted = { searched: 0, copied: 0, allocated: 0 };
      const { copy, indexOf, lastIndexOf, set } = Buffer.prototype;
      const { concat, allocUnsafe } = Buffer;
      vi.spyOn(Buffer.prototype, 'copy').mockImplementation(function (this: Buffer, ...args) {
        const bytes = copy.apply(this, args);
        counted.copied += bytes;
        return bytes;
      });
      vi.spyOn(Buffer.prototype, 'set').mockImplementation(function (this: Buffer, ...args: unknown[]) {
        // Sound: these are the parameters of the method that is spied on.
        const [source, offset] = args as [ArrayLike<number>, number | undefined];
        counted.copied += source.length;
        set.call(this, source, offset);
      });
      vi.spyOn(Buffer, 'concat').mockImplementation((...args) => {
        const joined = concat.apply(Buffer, args);
        counted.copied += joined.length;
        return joined;
      });
      vi.spyOn(Buffer, 'allocUnsafe').mockImplementation((size) => {
        counted.allocated += size;
        return allocUnsafe.call(Buffer, size);
      });
      vi.spyOn(Buffer.prototype, 'indexOf').mockImplementation(function (this: Buffer, value) {
        counted.searched += this.length;
        return indexOf.call(this, value);
      });
      vi.spyOn(Buffer.prototype, 'lastIndexOf').mockImplementation(function (this: Buffer, value) {
        counted.searched += this.length;
        return lastIndexOf.call(this, value);
      });
      return counted;
    }

    const MIB = 1024 * 1024;
    const chunkBytes = 4096;

    it('8 MiB in chunks of 4 KiB', () => {
      const text = 'x'.repeat(8 * MIB);
      const bytes = Buffer.from(`{"text":"${text}"}\n{"next":1}\n`);
      const chunks = [];
      for (let at = 0; at < bytes.length; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes));
      const counted = countBytes();
      const heard = read(chunks);
      vi.restoreAllMocks();
      expect(heard).toStrictEqual(messages({ text }, { next: 1 }));
      expect(counted.searched).toBeGreaterThan(0);
      expect(counted.searched).toBeLessThan(2 * bytes.length);
      expect(counted.copied).toBeLessThan(4 * bytes.length);
      expect(counted.allocated).toBeLessThan(4 * bytes.length);
    });

    it('and buffers nothing of a line that is too long, however long it goes on', () => {
      const chunk = Buffer.alloc(chunkBytes, 'x');
      const heard: Heard[] = [];
      const decoder = new LineDecoder(
        {
          message: (message) => heard.push({ message }),
          error: (error) => heard.push({ error: error.code }),
        },
        { maxLineBytes: 2 * chunkBytes },
      );
      const counted = countBytes();
      for (let sent = 0; sent < 2048; sent++) decoder.push(chunk);
      decoder.push(Buffer.from('\n{"next":1}\n'));
      vi.restoreAllMocks();
      expect(heard).toStrictEqual([{ error: 'LINE_TOO_LONG' }, { message: { next: 1 } }]);
      expect(counted.copied).toBeLessThanOrEqual(4 * chunkBytes);
      expect(counted.allocated).toBeLessThanOrEqual(4 * chunkBytes);
    });
  });

  describe('reads a long line of characters of one to four bytes', () => {
    const text = 'a\u00e9\u20ac\u{1f600}'.repeat(30_000);
    const bytes = Buffer.from(`1\n${JSON.stringify(text)}\n2\n`);

    it.each([5, 1021, 2048, 4093, 65_536, 150_001])('in chunks of %i bytes', (chunkBytes) => {
      expect(read(inChunks(bytes, chunkBytes))).toStrictEqual(messages(1, text, 2));
    });

    it.each([5, 1021, 65_536])('in chunks of %i bytes, and reports one that is not UTF-8', (chunkBytes) => {
      for (const at of [10, 70_000, bytes.length - 5]) {
        const broken = Buffer.from(bytes);
        broken[at] = 0xff;
        expect(read(inChunks(broken, chunkBytes))).toStrictEqual([
          { message: 1 },
          { error: 'INVALID_UTF8' },
          { message: 2 },
        ]);
      }
    });
  });

  it('reads a line that nests a million deep like any other', () => {
    const depth = 1_000_000;
    const heard = read([
      Buffer.from(`${'['.repeat(depth)}${']'.repeat(depth)}\n1\n${'['.repeat(depth)}\n2\n`),
    ]);
    expect(heard.slice(1)).toStrictEqual([{ message: 1 }, { error: 'INVALID_JSON' }, { message: 2 }]);
    let [nested] = heard.map((said) => ('message' in said ? said.message : undefined));
    let levels = 0;
    for (; Array.isArray(nested); levels++) [nested] = nested;
    expect(levels).toBe(depth);
  });

  it('keeps no chunk: its owner may fill it anew', () => {
    const chunk = Buffer.alloc(4);
    const heard: Heard[] = [];
    const decoder = new LineDecoder({
      message: (message) => heard.push({ message }),
      error: (error) => heard.push({ error: error.code }),
    });
    for (const part of ['{"a"', ':"bc', '"}\n1', '23\n ']) {
      chunk.write(part, 'latin1');
      decoder.push(chunk);
    }
    expect(heard).toStrictEqual(messages({ a: 'bc' }, 123));
  });

  it('reads a view into a larger buffer', () => {
    const bytes = new TextEncoder().encode('xx{"a":1}\nxx');
    expect(read([new Uint8Array(bytes.buffer, 2, 8)])).toStrictEqual(messages({ a: 1 }));
  });

  it('reads what the encoder wrote, many messages in one write', () => {
    const values = [{ text: 'a\nb\u2028' }, { big: 'y'.repeat(100_000) }, {}];
    expect(read([Buffer.from(values.map(encodeLine).join(''))])).toStrictEqual(messages(...values));
  });
});
