import fc from 'fast-check';
import { expect } from 'vitest';
import { McpError } from '../../src/jsonrpc/index.ts';
import { inspectSchema } from '../../src/protocol/json-schema.ts';
import { compileNow } from '../protocol/compile-now.ts';
import { fuzz } from './property.ts';
import { value } from './schemas.ts';

const KEYWORDS = [
  ...[
    '$schema',
    '$id',
    '$anchor',
    '$ref',
    '$dynamicRef',
    '$dynamicAnchor',
    '$recursiveRef',
    '$recursiveAnchor',
  ],
  ...['$defs', 'definitions', 'type', 'enum', 'const', 'format', 'pattern', 'required', 'dependencies'],
  ...['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...[
    'items',
    'prefixItems',
    'additionalItems',
    'unevaluatedItems',
    'contains',
    'minContains',
    'uniqueItems',
  ],
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'dependentRequired'],
  ...['minimum', 'multipleOf', 'minLength', '__proto__', 'constructor', 'x', '\ud800'],
];
const WORDS = [
  ...[
    '#',
    '#/$defs/a',
    '#a',
    'a',
    'b#a',
    'https://example.com/a',
    'urn:a:b',
    '#/definitions/a/x',
    '#/x',
    '//',
  ],
  ...[
    'http://json-schema.org/draft-07/schema#',
    'http://json-schema.org/draft-06/schema#',
    'string',
    'object',
    'email',
  ],
  ...[
    'https://json-schema.org/draft/2019-09/schema',
    'https://json-schema.org/draft/2020-12/schema',
    '(',
    '^a',
    '(a|a)*',
    '\ud800',
  ],
];

/** Anything at all that has the keywords of schemas in it. */
const { anything } = fc.letrec((tie) => ({
  anything: fc.oneof(
    { depthSize: 'medium' },
    fc.constantFrom<unknown>(true, false, null, 0, 1, -1, ...WORDS),
    fc.array(tie('anything'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.constantFrom(...KEYWORDS, 'a'), tie('anything')), { maxLength: 4 })
      .map((entries) =>
        JSON.parse(`{${entries.map(([key, member]) => `${JSON.stringify(key)}:${JSON.stringify(member)}`)}}`),
      ),
  ),
}));

/** Whatever a peer calls a schema, it is refused with a reason or it checks whatever a peer calls a value. */
fuzz({
  name: 'schema-total',
  inputs: fc.tuple(anything, fc.array(fc.oneof(value, anything), { minLength: 1, maxLength: 3 })),
  holds([schema, values]) {
    const fault = inspectSchema(schema);
    if (fault !== undefined) {
      expect(fault.reason).not.toBe('');
      expect(() => compileNow(schema)).toThrow(expect.objectContaining({ code: 'INVALID_SCHEMA' }));
      return;
    }
    let compiled: ReturnType<typeof compileNow>;
    try {
      compiled = compileNow(schema);
    } catch (error) {
      expect(error).toBeInstanceOf(McpError);
      expect(error).toMatchObject({ message: expect.stringMatching(/dynamic references|nested|call stack/) });
      return;
    }
    for (const value of values) {
      const message = compiled.validate(value)?.message ?? 'ok';
      expect(message).not.toMatch(/cannot be checked|undefined|\[object/);
      expect(message).not.toBe('');
    }
  },
});
