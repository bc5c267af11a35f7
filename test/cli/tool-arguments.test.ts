import { describe, expect, it } from 'vitest';
import { parseArguments, typePairs } from '../../src/cli/tool-arguments.ts';
import { UsageError } from '../../src/cli/usage.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    flag: { type: 'boolean' },
    list: { type: 'array' },
    map: { type: 'object' },
    maybe: { type: ['string', 'null'] },
    either: { anyOf: [{ type: 'number' }, { type: 'string' }] },
    choice: { enum: ['1', '2'] },
    open: true,
    ['__proto__']: { type: 'number' },
  },
};

const type = (word: string) => {
  const args = parseArguments([word]);
  return args.from === 'pairs' ? typePairs(args.pairs, SCHEMA) : args;
};

describe('parseArguments', () => {
  it('reads nothing, one JSON object, or the wish for standard input', () => {
    expect(parseArguments([])).toEqual({ from: 'nothing' });
    expect(parseArguments(['-'])).toEqual({ from: 'stdin' });
    expect(parseArguments([' {"a": [1]}'])).toEqual({ from: 'json', value: { a: [1] } });
  });

  it('splits pairs at the first equals sign', () => {
    expect(parseArguments(['a=b=c', 'd='])).toEqual({
      from: 'pairs',
      pairs: [
        { key: 'a', text: 'b=c' },
        { key: 'd', text: '' },
      ],
    });
  });

  it('refuses one that is given twice', () => {
    expect(() => parseArguments(['a=1', 'b=2', 'a=3'])).toThrow(
      new UsageError('Argument "a" is given twice'),
    );
  });
});

describe('typePairs', () => {
  it.each<[string, unknown]>([
    ['text=5', { text: '5' }],
    ['text={"a":1}', { text: '{"a":1}' }],
    ['count=5', { count: 5 }],
    ['count=-7', { count: -7 }],
    ['ratio=1.5e3', { ratio: 1500 }],
    ['flag=true', { flag: true }],
    ['list=[1,"a"]', { list: [1, 'a'] }],
    ['map={"a":1}', { map: { a: 1 } }],
    ['maybe=null', { maybe: null }],
    ['maybe=5', { maybe: '5' }],
    ['either=5', { either: 5 }],
    ['either=five', { either: 'five' }],
    ['choice=1', { choice: '1' }],
    ['open=5', { open: '5' }],
    ['unknown=5', { unknown: '5' }],
    ['toString=5', { toString: '5' }],
  ])('reads %s as the schema says', (word, expected) => {
    expect(type(word)).toEqual(expected);
  });

  it('makes an argument named __proto__ a member like any other', () => {
    expect(Object.entries(type('__proto__=5'))).toEqual([['__proto__', 5]]);
  });

  it('leaves everything text where there is no schema', () => {
    expect(typePairs([{ key: 'a', text: '5' }], undefined)).toEqual({ a: '5' });
  });

  it.each([
    ['count=x', 'Argument "count" must be integer: "x" is not'],
    ['count=1.5', 'Argument "count" must be integer: "1.5" is not'],
    ['ratio=', 'Argument "ratio" must be number: "" is not'],
    ['flag=yes', 'Argument "flag" must be boolean: "yes" is not'],
    ['list={}', 'Argument "list" must be array: "{}" is not'],
    ['map=[]', 'Argument "map" must be object: "[]" is not'],
  ])('refuses %s', (word, message) => {
    expect(() => type(word)).toThrow(new UsageError(message));
  });
});
