import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CharacterSets } from '../../../src/protocol/schema/pattern/characters.ts';
import { isLinear } from '../../../src/protocol/schema/pattern/proof.ts';
import { parsePattern } from '../../../src/protocol/schema/pattern/syntax.ts';
import { compilePattern, MAX_PATTERN_CHARS, patternFault } from '../../../src/protocol/schema/pattern.ts';
import { MAX_VALIDATION_STEPS, resetSteps, StepsExhausted } from '../../../src/protocol/schema/steps.ts';

function isLeftToTheRuntime(source: string): boolean {
  return isLinear(parsePattern(source, true), new CharacterSets('u'));
}

describe('patterns that the runtime may match itself', () => {
  it.each([
    '^[a-z]+$',
    '^[a-z0-9]+(-[a-z0-9]+)*$',
    '^[\\w.-]+@[\\w.-]+\\.\\w+$',
    '^(?=.*[A-Z])(?=.*\\d).{8,}$',
    '^v\\d+\\.\\d+\\.\\d+$',
    '^(a|ab)(c|bcd)$',
    '^.{1,5000}$',
    '^$|^x+$',
    'foo|bar',
  ])('%s', (source) => {
    expect(isLeftToTheRuntime(source)).toBe(true);
  });

  it.each([
    ['email', z.email()],
    ['uuid', z.uuid()],
    ['date', z.iso.date()],
    ['date-time', z.iso.datetime({ offset: true })],
    ['ipv4', z.ipv4()],
    ['ipv6', z.ipv6()],
    ['base64', z.base64()],
    ['hostname', z.hostname()],
  ])('those that zod gives for %s', (_name, schema) => {
    expect(isLeftToTheRuntime(String(z.toJSONSchema(schema).pattern))).toBe(true);
  });
});

describe('patterns that the runtime could take forever to match', () => {
  it.each([
    ['(a|a)*b', 'a', false],
    ['^(a|aa)+$', 'a', true],
    ['^(a+)+$', 'ab', false],
    ['^(\\w+\\s?)*$', 'ab ', true],
    ['^(a*)*$', 'a', true],
    ['^(?:a?){30}a{30}$', 'a', false],
    ['(.*)*=', 'x', false],
    ['\\s+$', ' x', false],
    ['^(?!(?:a|a)*b)', 'a', true],
    ['(?<=(?:a|a)*)b', 'a', false],
    ['^.*a.*a.*a.*b', 'a', false],
  ])('%s is matched in steps linear in the text', (source, unit, expected) => {
    expect(isLeftToTheRuntime(source)).toBe(false);
    expect(patternFault(source)).toBeUndefined();
    resetSteps();
    expect(compilePattern(source).test(unit.repeat(300))).toBe(expected);
  });

  it('gives up when the steps of a validation are used up', () => {
    const pattern = compilePattern('^(?:.*(?=.*x))*y');
    resetSteps();
    expect(() => pattern.test('z'.repeat(MAX_VALIDATION_STEPS / 500))).toThrow(StepsExhausted);
  });
});

describe('patterns that are refused', () => {
  it.each([
    ['(', 'it is no regular expression'],
    ['^(a)\\1$', 'it refers back to a group'],
    ['^(?<x>a)\\k<x>$', 'it refers back to a group'],
    ['^(?:(?:a{1,1000}){1,1000})*$', 'it repeats too much'],
    [`${'('.repeat(200)}a${')'.repeat(200)}`, 'its groups nest deeper than 100'],
    ['a'.repeat(MAX_PATTERN_CHARS + 1), `it has more than ${MAX_PATTERN_CHARS} characters`],
  ])('%s', (source, reason) => {
    expect(patternFault(source)).toBe(reason);
    expect(() => compilePattern(source)).toThrow(reason);
  });
});

it('takes patterns that are well-formed only without the u flag', () => {
  const pattern = compilePattern('^\\_\\@[\\w-.]{2}a{x$');
  expect(pattern.test('_@-.a{x')).toBe(true);
  expect(pattern.test('_@-.a')).toBe(false);
});
