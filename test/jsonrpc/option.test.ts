import { describe, expect, it } from 'vitest';
import {
  assertArray,
  assertFunction,
  assertObject,
  assertSignal,
  atLeastOne,
  kindOf,
  notNegative,
  oneOf,
  positive,
  shown,
  timerMs,
  wholeNumber,
} from '../../src/jsonrpc/option.ts';

/** What no compiler has seen. */
// biome-ignore lint/suspicious/noExplicitAny: it is the point of these tests to pass what the types do not allow.
type Any = any;

const milliseconds = (value: Any) => positive('o', value, 'milliseconds');
const choice = (value: Any) => oneOf('o', value, ['a', true, 'b']);
const signal = (value: Any) => assertSignal('o', value);

describe('a check of an option', () => {
  it.each<[string, (value: Any) => unknown, Any, string]>([
    ['no positive number', milliseconds, 0, 'a positive number of milliseconds, not 0'],
    ['no positive number', milliseconds, Number.NaN, 'a positive number of milliseconds, not NaN'],
    ['no positive number', milliseconds, '5', 'a positive number of milliseconds, not "5"'],
    ['a negative number', (value) => notNegative('o', value), -1, 'a number, 0 or more, not -1'],
    ['too long for a timer', (value) => timerMs('o', value), 2 ** 31, /below 2 \*\* 31, not 2147483648$/],
    ['below one', (value) => atLeastOne('o', value), 0.5, 'at least 1, not 0.5'],
    ['a broken number', (value) => wholeNumber('o', value), 1.5, /whole number of at least 1, .* not 1\.5$/],
    ['none of the choices', choice, 'c', '"a", true or "b", not "c"'],
    ['no function', (value) => assertFunction('o', value), 'x', 'a function, not a string'],
    ['no function', (value) => assertFunction('o', value), null, 'a function, not null'],
    ['no object', (value) => assertObject('o', value), [], 'an object, not an array'],
    ['no array', (value) => assertArray('o', value), {}, 'an array, not an object'],
    ['no signal', signal, {}, 'an AbortSignal, not an object'],
    ['no signal', signal, new AbortController(), 'an AbortSignal, not an object'],
    ['no signal', signal, null, 'an AbortSignal, not null'],
  ] as [string, (value: Any) => unknown, Any, string][])('refuses %s', (_, check, value, wanted) => {
    expect(() => check(value)).toThrow(TypeError);
    expect(() => check(value)).toThrow(
      typeof wanted === 'string' ? new TypeError(`o must be ${wanted}`) : wanted,
    );
  });

  it('lets pass what is right', () => {
    expect(milliseconds(Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY);
    expect(notNegative('o', 0)).toBe(0);
    expect(timerMs('o', 2 ** 31 - 1)).toBe(2 ** 31 - 1);
    expect(atLeastOne('o', 1.5)).toBe(1.5);
    expect(wholeNumber('o', Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY);
    expect(choice(true)).toBe(true);
    signal(undefined);
    signal(AbortSignal.abort());
    assertFunction('o', () => {});
    assertObject('o', {});
    assertArray('o', []);
  });

  it('shows a long text in part, and none of one that may be a secret', () => {
    expect(shown('x'.repeat(1000)).length).toBeLessThan(150);
    expect(kindOf('secret')).toBe('a string');
    expect([undefined, 1n, () => {}, Symbol('s'), Promise.resolve()].map(kindOf)).toEqual([
      'undefined',
      '1',
      'a function',
      'a symbol',
      'a promise',
    ]);
  });
});
