import fc from 'fast-check';
import { expect } from 'vitest';
import { parseBody } from '../../src/transport/http/body.ts';
import { Refusal } from '../../src/transport/http/refusal.ts';
import { fuzz } from './property.ts';

const awkward = fc.string({
  unit: fc.constantFrom('"', '\\', '[', ']', '{', '}', 'a', '\u2028'),
  maxLength: 6,
});
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 8 },
    awkward,
    fc.constantFrom<unknown>(null, true, 0, -1.5e300),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(awkward, tie('any'), { maxKeys: 3 }),
  ),
})).any;

/** The depth that is counted in the text of a body is the depth of its value. */
fuzz({
  name: 'http-depth',
  inputs: fc.record({
    json: fc
      .tuple(value, fc.constantFrom(undefined, 1))
      .map(([any, indent]) => JSON.stringify(any, null, indent)),
    maxDepth: fc.integer({ min: 1, max: 6 }),
  }),
  holds({ json, maxDepth }) {
    const parsed: unknown = JSON.parse(json);
    const body = parseBody(json, maxDepth);
    if (depthOf(parsed) > maxDepth) expect(body).toBeInstanceOf(Refusal);
    else expect(body).toStrictEqual(parsed);
  },
});

function depthOf(any: unknown): number {
  if (typeof any !== 'object' || any === null) return 0;
  return 1 + Math.max(0, ...Object.values(any).map(depthOf));
}
