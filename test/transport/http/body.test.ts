import { describe, expect, it } from 'vitest';
import { checkParsedBody, decodeBody, parseBody } from '../../../src/transport/http/body.ts';
import { Refusal } from '../../../src/transport/http/refusal.ts';

const bytes = (...values: number[]) => Uint8Array.from(values);
const nested = (depth: number, inner = '') => '['.repeat(depth) + inner + ']'.repeat(depth);

describe('a body as text', () => {
  it('is UTF-8', () => {
    expect(decodeBody(Buffer.from('"世界 🌍"'))).toBe('"世界 🌍"');
  });

  it('may start with a byte order mark, which is not part of it', () => {
    expect(decodeBody(Buffer.from('\ufeff{}'))).toBe('{}');
  });

  it.each([
    ['a lone continuation byte', bytes(0x22, 0x80, 0x22)],
    ['an overlong form', bytes(0x22, 0xc0, 0xaf, 0x22)],
    ['a surrogate', bytes(0x22, 0xed, 0xa0, 0x80, 0x22)],
    ['a cut sequence', bytes(0x22, 0xe4, 0xb8)],
    ['Latin-1', bytes(0x22, 0xe9, 0x22)],
  ])('is refused when it holds %s', (_name, body) => {
    const refusal = decodeBody(body);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({ status: 400, body: { error: { code: -32700 } } });
  });

  it('keeps a replacement character that the client wrote', () => {
    expect(decodeBody(Buffer.from('"\ufffd"'))).toBe('"\ufffd"');
  });
});

describe('a body as JSON', () => {
  it('is parsed whatever it means', () => {
    expect(parseBody('{"a":[1]}', 256)).toEqual({ a: [1] });
    expect(parseBody('null', 256)).toBeNull();
    expect(parseBody('[]', 256)).toEqual([]);
  });

  it.each(['', ' ', '{', '{"a":}', "{'a':1}", '{} {}', 'NaN', '[1,]', '\u0000'])(
    'is refused when it is %j',
    (text) => {
      const refusal = parseBody(text, 256);
      expect(refusal).toBeInstanceOf(Refusal);
      expect(refusal).toMatchObject({ status: 400, body: { error: { code: -32700 } } });
    },
  );

  it('does not repeat what it could not parse', () => {
    const refusal = parseBody('{"password":"hunter2"', 256);
    expect(JSON.stringify(refusal)).not.toContain('hunter2');
  });

  it.each([1, 2, 3, 256])('may nest exactly %i levels', (depth) => {
    expect(parseBody(nested(depth, ' '.repeat(2)), depth)).toBeInstanceOf(Array);
    expect(parseBody(nested(depth + 1, ' '.repeat(2)), depth)).toBeInstanceOf(Refusal);
  });

  it('counts objects and arrays alike, and siblings once', () => {
    expect(parseBody('{"a":[{"b":[]}]}', 4)).toEqual({ a: [{ b: [] }] });
    expect(parseBody('{"a":[{"b":[]}]}', 3)).toBeInstanceOf(Refusal);
    expect(parseBody('[[],[],[],[],[],[]]', 2)).toHaveLength(6);
  });

  it('does not count brackets in strings, whatever they escape', () => {
    const strings = ['[[[[[[', '\\[[[[', '"[[[[[', '\\"[[[[', '\\\\"{{{{', '\\', 'a\\\\'];
    expect(parseBody(JSON.stringify(strings), 1)).toEqual(strings);
    expect(parseBody(JSON.stringify([...strings, [[]]]), 2)).toBeInstanceOf(Refusal);
  });

  it.each(['[', '{"a":', '"[', '\\', '\\"'])('refuses a million of %j without harm', (piece) => {
    expect(parseBody(piece.repeat(1_000_000), 256)).toBeInstanceOf(Refusal);
  });

  it('refuses a deep but complete body without harm', () => {
    expect(parseBody(nested(1_000_000), 256)).toMatchObject({
      body: {
        error: { code: -32700, message: 'Cannot parse the body: it is nested deeper than 256 levels' },
      },
    });
  });

  it('bounds a body that a framework parsed in the same way', () => {
    expect(checkParsedBody(JSON.parse(nested(256)), 256)).toBeUndefined();
    expect(checkParsedBody(JSON.parse(nested(257)), 256)?.status).toBe(400);
    expect(checkParsedBody(JSON.parse(nested(100_000)), 256)?.status).toBe(400);
    expect(checkParsedBody('text', 1)).toBeUndefined();
    expect(checkParsedBody(null, 1)).toBeUndefined();
  });
});
