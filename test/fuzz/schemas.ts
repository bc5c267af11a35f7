import fc from 'fast-check';

const NAMES = ['a', 'b', 'ab', 'o'] as const;
const name = fc.constantFrom(...NAMES);
const count = fc.nat(3);

/** Values that the schemas of {@link schema} have something to say about. */
export const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(null, true, false, 0, 1, 2.5, -3, '', 'a', 'ab', 'abc', '😀'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;

const scalarKeywords = fc.oneof(
  fc
    .constantFrom('string', 'number', 'integer', 'boolean', 'object', 'array', 'null')
    .map((type) => ({ type })),
  fc.constantFrom(['string', 'null'], ['object', 'array', 'integer']).map((type) => ({ type: [...type] })),
  value.map((only) => ({ const: only })),
  fc
    .uniqueArray(value, { minLength: 1, maxLength: 3, selector: (item) => JSON.stringify(item) })
    .map((list) => ({ enum: list })),
  fc
    .tuple(
      fc.constantFrom('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'),
      fc.integer({ min: -2, max: 2 }),
    )
    .map(([keyword, limit]) => ({ [keyword]: limit })),
  fc
    .tuple(
      fc.constantFrom('minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'),
      count,
    )
    .map(([keyword, limit]) => ({ [keyword]: limit })),
  fc.constantFrom('^a', 'b$', '^.{2}$').map((pattern) => ({ pattern })),
  fc.uniqueArray(name, { maxLength: 2 }).map((required) => ({ required })),
  fc
    .tuple(name, fc.uniqueArray(name, { maxLength: 2 }))
    .map(([key, names]) => ({ dependentRequired: { [key]: names } })),
  fc.boolean().map((uniqueItems) => ({ uniqueItems })),
  fc.constantFrom('first', 'second').map((target) => ({ $ref: `#/$defs/${target}` })),
);

const { schema: anySchema } = fc.letrec<{ schema: unknown; keywords: Record<string, unknown> }>((tie) => ({
  keywords: fc.oneof(
    { depthSize: 'small' },
    { weight: 3, arbitrary: scalarKeywords },
    fc
      .tuple(
        fc.constantFrom('allOf', 'anyOf', 'oneOf', 'prefixItems'),
        fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
      )
      .map(([keyword, list]) => ({ [keyword]: list })),
    fc
      .tuple(
        fc.constantFrom('not', 'if', 'items', 'contains', 'additionalProperties', 'propertyNames'),
        tie('schema'),
      )
      .map(([keyword, inner]) => ({ [keyword]: inner })),
    fc.tuple(tie('schema'), tie('schema'), tie('schema')).map(([condition, yes, no]) =>
      Object.fromEntries([
        ['if', condition],
        ['then', yes],
        ['else', no],
      ]),
    ),
    fc
      .tuple(
        fc.constantFrom('properties', 'dependentSchemas'),
        fc.dictionary(name, tie('schema'), { maxKeys: 3, noNullPrototype: true }),
      )
      .map(([keyword, map]) => ({ [keyword]: map })),
    fc
      .tuple(fc.constantFrom('^a', 'o'), tie('schema'))
      .map(([pattern, inner]) => ({ patternProperties: { [pattern]: inner } })),
  ),
  schema: fc.oneof(
    { depthSize: 'small' },
    { weight: 1, arbitrary: fc.boolean() },
    {
      weight: 6,
      arbitrary: fc.array(tie('keywords'), { maxLength: 3 }).map((parts) => Object.assign({}, ...parts)),
    },
  ),
}));

/** Schemas of the newest dialect, each with two definitions to refer to. */
export const schema = fc.tuple(anySchema, anySchema, anySchema).map(([root, first, second]) => ({
  ...(typeof root === 'boolean' ? { allOf: [root] } : (root as object)),
  $defs: { first, second },
}));
