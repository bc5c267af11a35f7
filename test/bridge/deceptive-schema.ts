import type { JsonSchema } from '../../src/protocol/index.ts';

/**
 * A schema of an object without a fault that could be seen, which the compiler refuses all the same: its dynamic references
 * mean something else on each of the thousands of ways that lead to them.
 */
export function deceptiveSchema(): JsonSchema {
  const size = 18;
  const numbers = Array.from({ length: size }, (_, n) => n);
  const each = (member: string, of: (n: number) => object) =>
    Object.fromEntries(numbers.map((n) => [`${member}${n}`, of(n)]));
  const last = {
    properties: each('p', (n) => ({ $dynamicRef: `#x${n}` })),
    $defs: each('a', (n) => ({ $dynamicAnchor: `x${n}` })),
  };
  const resource = (n: number) => ({
    $id: `https://example.com/r${n}`,
    $defs: { a: { $dynamicAnchor: `x${n}`, type: 'object' } },
    ...(n < size - 2 ? { anyOf: [{ $ref: `r${n + 1}` }, { $ref: `r${n + 2}` }] } : last),
  });
  return { type: 'object', $defs: each('r', resource), $ref: 'https://example.com/r0' };
}
