import fc from 'fast-check';
import { expect } from 'vitest';
import { classify } from '../../src/jsonrpc/index.ts';
import { messageText } from './arbitraries.ts';
import { fuzz } from './property.ts';

const anyValue = fc.jsonValue({ maxDepth: 2 });
const id = fc.oneof(
  fc.constantFrom<unknown>(0, '', null, -1, 1.5, 2 ** 53, true, {}, []),
  fc.integer(),
  fc.string(),
);
const object = fc.dictionary(fc.string(), anyValue, { maxKeys: 2 });
const error = fc.record(
  {
    code: fc.oneof(fc.integer(), fc.constantFrom<unknown>(-32601, 1.5, '1', null)),
    message: fc.oneof(fc.string(), fc.constantFrom<unknown>(1, null)),
    data: anyValue,
  },
  { requiredKeys: [] },
);
const messageLike = fc.record(
  {
    jsonrpc: fc.constantFrom<unknown>('2.0', '2.0', '2.0', '2.0', '1.0', 2, null),
    id,
    method: fc.oneof(fc.string(), fc.string(), fc.constantFrom<unknown>(null, 1)),
    params: fc.oneof(object, object, anyValue),
    result: fc.oneof(object, object, anyValue),
    error: fc.oneof(error, error, anyValue),
    extra: anyValue,
  },
  { requiredKeys: [] },
);

/** Every JSON value has a kind, the one that the specification's shapes give it, and is kept as it came. */
fuzz({
  name: 'classify',
  inputs: fc.oneof(
    { weight: 6, arbitrary: messageLike.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: messageText },
    { weight: 1, arbitrary: fc.json() },
  ),
  holds(json) {
    const value: unknown = JSON.parse(json);
    const classified = classify(value);
    expect(classified.kind).toBe(kindByShape(value));
    if (classified.kind === 'invalid') {
      expect(classified.reason).not.toBe('');
      expect(classified.id).toStrictEqual(isObject(value) && isId(value.id) ? value.id : undefined);
    } else {
      expect(classified.kind === 'batch' ? classified.items : classified.message).toBe(value);
      expect(value).toStrictEqual(JSON.parse(json));
    }
  },
});

/** The shapes once more, as a table. */
function kindByShape(value: unknown): string {
  if (Array.isArray(value)) return 'batch';
  if (!isObject(value) || value.jsonrpc !== '2.0') return 'invalid';
  const has = (member: string) => Object.hasOwn(value, member);
  if (['method', 'result', 'error'].filter(has).length !== 1) return 'invalid';
  const isCall = isText(value.method) && (!has('params') || isObject(value.params));
  const shapes = {
    request: isCall && isId(value.id),
    notification: isCall && !has('id'),
    result: isObject(value.result) && isId(value.id),
    error:
      isObject(value.error) &&
      Number.isInteger(value.error.code) &&
      isText(value.error.message) &&
      (!has('id') || value.id === null || isId(value.id)),
  };
  return Object.entries(shapes).find(([, fits]) => fits)?.[0] ?? 'invalid';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return Object.prototype.toString.call(value) === '[object Object]';
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isId(value: unknown): boolean {
  return isText(value) || (typeof value === 'number' && value % 1 === 0 && Math.abs(value) < 2 ** 53);
}
