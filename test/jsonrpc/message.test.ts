import { describe, expect, it } from 'vitest';
import { type Classified, classify, encodeLine, isRequestId } from '../../src/jsonrpc/index.ts';
import { INVALID_MESSAGES, MESSAGES, VALID_MESSAGES } from './messages.ts';

describe('classify', () => {
  it.each(VALID_MESSAGES)('takes $name for what it is: $kind', ({ json, kind, id }) => {
    const value: unknown = JSON.parse(json);
    const classified = classify(value);
    expect(classified.kind).toBe(kind);
    // The very value that came in: no member is lost or renamed.
    expect(payload(classified)).toBe(value);
    expect(JSON.stringify(payload(classified))).toBe(json);
    if (id !== undefined) expect(value).toHaveProperty('id', id);
  });

  it.each(INVALID_MESSAGES)('refuses $name', ({ json, reason, id }) => {
    const expected = id === undefined ? { kind: 'invalid', reason } : { kind: 'invalid', reason, id };
    expect(classify(JSON.parse(json))).toStrictEqual(expected);
  });

  it('takes a member that is undefined for an absent one, as JSON would', () => {
    const spread = { id: undefined, result: undefined, error: undefined, params: undefined };
    expect(classify({ jsonrpc: '2.0', ...spread, method: 'm' }).kind).toBe('notification');
    expect(classify({ jsonrpc: '2.0', method: undefined, error: undefined, id: 1, result: {} }).kind).toBe(
      'result',
    );
    expect(classify({ jsonrpc: '2.0', result: undefined, error: { code: 1, message: '' } }).kind).toBe(
      'error',
    );
  });

  it('leaves the prototype of what it classifies alone', () => {
    classify(JSON.parse('{"__proto__":{"jsonrpc":"2.0"},"constructor":{"prototype":{"method":"m"}}}'));
    expect(Object.hasOwn(Object.prototype, 'jsonrpc')).toBe(false);
    expect(Object.hasOwn(Object.prototype, 'method')).toBe(false);
  });

  it.each([undefined, () => {}, Symbol('s'), 1n, Number.NaN])('refuses %s, which is no JSON', (value) => {
    expect(classify(value)).toStrictEqual({ kind: 'invalid', reason: 'a message must be a JSON object' });
  });
});

describe('isRequestId', () => {
  it.each([0, -0, 1, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, '', '0', 'a'])(
    'takes %j',
    (id) => {
      expect(isRequestId(id)).toBe(true);
    },
  );

  it.each([
    1.5,
    2 ** 53,
    -(2 ** 53),
    1e300,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    null,
    undefined,
    true,
    {},
    [],
  ])('refuses %s', (id) => {
    expect(isRequestId(id)).toBe(false);
  });
});

describe('encodeLine', () => {
  it.each(MESSAGES)('writes $name as the line it came from', ({ json }) => {
    const value: unknown = JSON.parse(json);
    // Sound for this test: JSON that is no object is encoded by the same expression.
    expect(encodeLine(value as object)).toBe(`${json}\n`);
  });

  it('keeps a message with line breaks on one line', () => {
    const line = encodeLine({ jsonrpc: '2.0', method: 'a\nb\r\nc', params: { '\n': '\n' } });
    expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(line).not.toContain('\r');
  });

  it('throws a TypeError for what JSON cannot hold', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(() => encodeLine(cycle)).toThrow(TypeError);
    expect(() => encodeLine({ big: 1n })).toThrow(TypeError);
  });
});

function payload(classified: Classified): unknown {
  switch (classified.kind) {
    case 'batch':
      return classified.items;
    case 'invalid':
      return undefined;
    default:
      return classified.message;
  }
}
