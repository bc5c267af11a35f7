import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { McpError } from '../../src/jsonrpc/index.ts';
import {
  inspectSchema,
  MAX_SCHEMA_BRANCHES,
  MAX_SCHEMA_CHARS,
  MAX_SCHEMA_DEPTH,
  MAX_SCHEMA_VALUES,
  MAX_SUBSCHEMAS,
  schemaFingerprint,
} from '../../src/protocol/json-schema.ts';
import { compileNow } from './compile-now.ts';

const require = createRequire(import.meta.url);
const DRAFT_07 = 'http://json-schema.org/draft-07/schema#';
const DRAFT_06 = 'http://json-schema.org/draft-06/schema#';
const DRAFT_2019 = 'https://json-schema.org/draft/2019-09/schema';
const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema';

/** The message of the first violation, or "ok". */
function check(schema: unknown, value: unknown): string {
  return compileNow(schema).validate(value)?.message ?? 'ok';
}

/** What both doors say of a schema that cannot be used. */
function fault(schema: unknown): string {
  const found = inspectSchema(schema);
  if (found === undefined) return 'none';
  expect(() => compileNow(schema)).toThrow(found.reason);
  return `${found.path} ${found.reason}`;
}

function nested(levels: number, wrap: (inner: unknown) => unknown, inner: unknown = {}): unknown {
  let schema = inner;
  for (let level = 0; level < levels; level++) schema = wrap(schema);
  return schema;
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

describe('loading', () => {
  it('answers with a promise until the compiler is loaded, and at once from then on', async () => {
    vi.resetModules();
    const { compileSchema } = await import('../../src/protocol/json-schema.ts');
    const schema = { type: 'object' };
    const both = [compileSchema(schema), compileSchema({ ...schema })];
    expect(both.map((compiled) => compiled instanceof Promise)).toEqual([true, true]);
    const [compiled, other] = await Promise.all(both);
    expect(other).toBe(compiled);
    expect(compileSchema(schema)).toBe(compiled);
    expect(compiled?.validate(1)?.keyword).toBe('type');
  });

  it('refuses a schema with the promise as well', async () => {
    vi.resetModules();
    const { compileSchema } = await import('../../src/protocol/json-schema.ts');
    await expect(compileSchema({ type: 5 })).rejects.toMatchObject({ code: 'INVALID_SCHEMA' });
    expect(() => compileSchema({ type: 5 })).toThrow(expect.objectContaining({ code: 'INVALID_SCHEMA' }));
  });

  it('says what is missing when the compiler cannot be loaded, and looks again the next time', async () => {
    vi.resetModules();
    vi.doMock('ajv/dist/core.js', () => {
      throw new Error("Cannot find package 'ajv' imported from /home/somebody/app.js");
    });
    const { compileSchema } = await import('../../src/protocol/json-schema.ts');
    const failed = await Promise.resolve(compileSchema({})).catch((error: unknown) => error);
    expect(failed).toMatchObject({
      code: 'LOAD_FAILED',
      message: expect.stringMatching(/^Cannot load the package ajv: [^/]*\(docs\/bundling\.md\)$/),
    });
    vi.doUnmock('ajv/dist/core.js');
    expect((await compileSchema({})).validate(1)).toBeUndefined();
  });
});

describe('violations', () => {
  const person = {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 2, maxLength: 4 },
      age: { type: 'integer', minimum: 0 },
      role: { enum: ['admin', 'guest'] },
    },
    required: ['name', 'age'],
    additionalProperties: false,
  };

  it.each([
    [{ name: 'Ada', age: 36 }, 'ok'],
    ['Ada', 'the value must be object, not string'],
    [{}, 'the value must have properties "name", "age"'],
    [{ name: 'Ada' }, 'the value must have property "age"'],
    [{ name: 'Ada', age: -1 }, '/age must be >= 0'],
    [{ name: 'Ada', age: 1.5 }, '/age must be integer, not number'],
    [{ name: 'A', age: 1 }, '/name must have at least 2 characters'],
    [{ name: 'Ada Lovelace', age: 1 }, '/name must have at most 4 characters'],
    [{ name: 'Ada', age: 1, role: 'king' }, '/role must be one of "admin", "guest"'],
    [
      { name: 'Ada', age: 1, nmae: '' },
      'the value must not have property "nmae" (it may have "name", "age", "role")',
    ],
  ])('says of %j: %s', (value, message) => {
    expect(check(person, value)).toBe(message);
  });

  it.each([
    [{ const: 'a' }, 'b', 'the value must be "a"'],
    [{ const: { a: [1] } }, { a: [2] }, 'the value must be {"a":[1]}'],
    [{ enum: [] }, 'b', 'the value must be one of no values at all'],
    [{ multipleOf: 0.01 }, 19.995, 'the value must be a multiple of 0.01'],
    [{ exclusiveMaximum: 3 }, 3, 'the value must be < 3'],
    [{ minItems: 1 }, [], 'the value must have at least 1 item'],
    [{ maxItems: 1 }, [1, 2], 'the value must have at most 1 item'],
    [
      { uniqueItems: true },
      [1, '1', { a: 1, b: 2 }, { b: 2, a: 1 }],
      'the value must not have two equal items',
    ],
    [
      { contains: { type: 'string' }, minContains: 2 },
      ['x'],
      'the value must have at least 2 items of the kind that "contains" describes',
    ],
    [{ prefixItems: [true], items: false }, [1, 2], 'the value must have at most 1 item'],
    [{ minProperties: 1 }, {}, 'the value must have at least 1 property'],
    [{ maxProperties: 0 }, { a: 1 }, 'the value must have at most 0 properties'],
    [
      { propertyNames: { maxLength: 1 } },
      { ab: 1 },
      'the value must not have property "ab": the name must have at most 1 character',
    ],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, 'the value must have property "b" because it has "a"'],
    [{ properties: { a: false } }, { a: 1 }, '/a is not allowed'],
    [{ not: { type: 'null' } }, null, 'the value must not be what "not" describes'],
    [{ pattern: '^a+$' }, 'b', 'the value must match the pattern "^a+$"'],
    [{ format: 'date' }, '2026-02-30', 'the value must be in the format "date"'],
    [{ type: ['string', 'null'] }, [], 'the value must be string or null, not array'],
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    [{ if: { required: ['a'] }, then: { required: ['b'] } }, { a: 1 }, 'the value must have property "b"'],
    [{ items: { type: 'number' } }, [1, 'x'], '/1 must be number, not string'],
    [false, 1, 'the value is not allowed'],
  ])('names the rule of %j', (schema, value, message) => {
    expect(check(schema, value)).toBe(message);
  });

  it('sums up why no alternative matched', () => {
    const schema = { anyOf: [{ type: 'string' }, { type: 'null' }, { const: 5 }] };
    expect(check(schema, 7)).toBe(
      'the value must match one of the alternatives: must be 5; or must be string or null',
    );
  });

  it('puts the alternative that was meant before those with another constant', () => {
    const shape = (kind: string, member: string) => ({
      properties: { kind: { const: kind }, [member]: { type: 'number' } },
      required: ['kind', member],
    });
    const schema = { oneOf: [shape('circle', 'radius'), shape('square', 'side')] };
    expect(check(schema, { kind: 'square', side: 'x' })).toMatch(
      /^the value must match exactly one of the alternatives: .*\/side must be number, not string/,
    );
  });

  it('gives the path as a JSON pointer and the keyword apart from the message', () => {
    const schema = { properties: { 'a/b~c': { items: { enum: [{ x: 1 }, 'y'] } } } };
    expect(compileNow(schema).validate({ 'a/b~c': ['y', 'z'] })).toMatchObject({
      path: '/a~1b~0c/1',
      keyword: 'enum',
    });
  });

  it('keeps the message short, whatever the schema and the value hold', () => {
    const long = 'x'.repeat(100_000);
    const schema = {
      properties: {
        [long]: { type: 'string' },
        e: { enum: times(5000, (index) => `${index} ${'y'.repeat(85)}`) },
      },
      additionalProperties: false,
    };
    for (const value of [{ [long]: 1 }, { [`${long}y`]: 1 }, { e: long }]) {
      expect(check(schema, value).length).toBeLessThan(2000);
    }
  });

  it('does not hold on to a value after it was checked', async () => {
    const compiled = compileNow({ type: 'string' });
    expect(compiled.validate({})?.keyword).toBe('type');
    expect(compiled.validate('x')).toBeUndefined();
  });
});

describe('schema dialects', () => {
  it.each([
    [undefined, 'ok'],
    [DRAFT_2020, 'ok'],
    ['http://json-schema.org/draft-07/schema', 'ok'],
    ['https://json-schema.org/draft-06/schema#', 'ok'],
    [DRAFT_2019, 'ok'],
  ])('compiles under $schema %s', ($schema, expected) => {
    expect(check($schema === undefined ? { type: 'string' } : { $schema, type: 'string' }, 'x')).toBe(
      expected,
    );
  });

  it.each([
    'http://json-schema.org/draft-04/schema#',
    'http://json-schema.org/schema#',
    'https://example.com/own',
    '',
  ])('refuses the unknown dialect %j', ($schema) => {
    expect(fault({ $schema })).toBe(
      `/$schema must name a supported dialect (2020-12, 2019-09, draft-07, draft-06): ${JSON.stringify($schema)}`,
    );
  });

  it('applies the keywords of its own dialect and no others', () => {
    const tuple = { items: [{ type: 'string' }], additionalItems: false };
    expect(check({ $schema: DRAFT_07, ...tuple }, ['a', 1])).toBe('the value must have at most 1 item');
    expect(check({ $schema: DRAFT_2019, ...tuple }, [1])).toBe('/0 must be string, not integer');
    expect(fault({ $schema: DRAFT_2020, ...tuple })).toBe('/items must be a schema: an object or a boolean');
    expect(check({ $schema: DRAFT_07, prefixItems: [{ type: 'string' }] }, [1])).toBe('ok');
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    const conditional = { if: true, then: false };
    expect(check({ $schema: DRAFT_06, ...conditional }, 1)).toBe('ok');
    expect(check({ $schema: DRAFT_07, ...conditional }, 1)).toBe('the value is not allowed');
    expect(check({ $schema: DRAFT_07, dependentRequired: { a: ['b'] } }, { a: 1 })).toBe('ok');
    expect(check({ $schema: DRAFT_07, dependencies: { a: ['b'], c: { required: ['d'] } } }, { c: 1 })).toBe(
      'the value must have property "d"',
    );
  });

  it('ignores what stands beside a $ref in draft-07, and minds it since', () => {
    const schema = {
      definitions: { any: true },
      properties: { a: { $ref: '#/definitions/any', type: 'string' } },
    };
    expect(check({ $schema: DRAFT_07, ...schema }, { a: 1 })).toBe('ok');
    expect(check(schema, { a: 1 })).toBe('/a must be string, not integer');
  });

  it('refuses a mixture of dialects, and a part that repeats the dialect is none', () => {
    const mixture = ($schema: string) => ({
      $schema: DRAFT_2020,
      properties: { a: { $schema, type: 'string' } },
    });
    expect(fault(mixture(DRAFT_07))).toBe(
      '/properties/a/$schema must be the same everywhere: the schema is 2020-12',
    );
    expect(fault(mixture(DRAFT_2020))).toBe('none');
  });

  it('ignores unknown keywords and formats, those of the compiler included', () => {
    const schema = {
      type: 'string',
      nullable: true,
      discriminator: { propertyName: 'x' },
      $async: true,
      $data: 1,
      id: 7,
      format: 'hostname-of-mine',
      formatMinimum: 'z',
      'x-mcp-header': 'Region',
      steps: { countsMembers: true },
      enumOfValues: [1],
    };
    expect(check(schema, 'a')).toBe('ok');
    expect(check(schema, null)).toBe('the value must be string, not null');
    expect(check({ format: 'constructor' }, 'a')).toBe('ok');
  });

  it.each([
    ['email', 'ada@example.com', 'ada'],
    ['uri', 'https://example.com/', 'example'],
    ['date', '2026-07-28', '28.7.2026'],
    ['date-time', '2026-07-28T12:00:00Z', '2026-07-28 noon'],
    ['uuid', '123e4567-e89b-12d3-a456-426614174000', '123'],
    ['ipv4', '127.0.0.1', '127.0.0.256'],
  ])('checks the format %s, on strings only', (format, good, bad) => {
    expect(check({ format }, good)).toBe('ok');
    expect(check({ format }, 5)).toBe('ok');
    expect(check({ format }, bad)).toBe(`the value must be in the format "${format}"`);
  });
});

describe('validity of the schema itself', () => {
  it.each([
    [{ type: 'sting' }, '/type must be a type or an array of unique types'],
    [{ properties: [] }, '/properties must be an object of schemas'],
    [{ properties: { a: { required: true } } }, '/properties/a/required must be an array of unique strings'],
    [{ properties: { 'a/b': 5 } }, '/properties/a~1b must be a schema: an object or a boolean'],
    [{ minimum: '0' }, '/minimum must be a number'],
    [{ minLength: -1 }, '/minLength must be a non-negative integer'],
    [{ multipleOf: 0 }, '/multipleOf must be a number above 0'],
    [{ anyOf: [] }, '/anyOf must be an array of at least one schema'],
    [{ enum: 'a' }, '/enum must be an array'],
    [{ pattern: '(' }, '/pattern must be a pattern that can be matched safely'],
    [
      { patternProperties: { '[': true } },
      '/patternProperties/[ must be a pattern that can be matched safely',
    ],
    [{ properties: { '\ud800': {} } }, '/properties/\ud800 has half a character in its name'],
    [
      { patternProperties: { '😀\udc00': {} } },
      '/patternProperties/😀\udc00 has half a character in its name',
    ],
    [{ $id: 'a#b' }, '/$id must be a URI reference without a fragment'],
    [{ $ref: 5 }, '/$ref must be a string'],
    [{ title: 5 }, '/title must be a string'],
    [null, ' must be an object or a boolean'],
    [[], ' must be an object or a boolean'],
    [{ default: () => 1 }, ' must be JSON: it holds a function'],
    [{ enum: [10n] }, ' must be JSON: it holds a bigint'],
  ])('refuses %o', (schema, reason) => {
    expect(fault(schema)).toContain(reason);
  });

  it('throws an error with a code of its own', () => {
    const refused = { type: 5 };
    expect(() => compileNow(refused)).toThrow(McpError);
    expect(() => compileNow(refused)).toThrow(expect.objectContaining({ code: 'INVALID_SCHEMA' }));
  });

  it('asks for an object at the root where that is wanted', () => {
    expect(inspectSchema({ type: 'object' }, { rootObject: true })).toBeUndefined();
    for (const schema of [
      {},
      true,
      { type: 'array' },
      { type: ['object'] },
      { anyOf: [{ type: 'object' }] },
    ]) {
      expect(inspectSchema(schema, { rootObject: true })).toEqual({
        path: '',
        reason: 'must have "type": "object" at its root',
      });
      expect(inspectSchema(schema)).toBeUndefined();
    }
  });

  it('agrees with the metaschema of every dialect on what a keyword may hold', () => {
    const { default: Ajv2020 } = require('ajv/dist/2020.js');
    const { default: Ajv2019 } = require('ajv/dist/2019.js');
    const { default: Ajv } = require('ajv');
    const options = { strict: false, logger: false, validateFormats: false };
    const draft6 = new Ajv(options).addMetaSchema(require('ajv/dist/refs/json-schema-draft-06.json'));
    const judges = new Map([
      [DRAFT_2020, new Ajv2020(options)],
      [DRAFT_2019, new Ajv2019(options)],
      [DRAFT_07, new Ajv(options)],
      [DRAFT_06, draft6],
    ]);
    const leaf = fc.oneof(
      fc.constantFrom<unknown>(true, false, null, 0, 1, -1, 0.5, '', 'a', 'string', 'object', 'a b', {}, []),
      fc.constantFrom<unknown>(
        ['a'],
        ['a', 'a'],
        ['string', 'null'],
        ['string', 'string'],
        [1],
        [{}],
        [true],
      ),
      fc.constantFrom<unknown>({ a: {} }, { a: true }, { a: ['b'] }, { a: ['b', 'b'] }, { a: 1 }, { a: [] }),
    );
    const keyword = fc.constantFrom(
      ...['type', 'enum', 'const', 'required', 'properties', 'patternProperties', 'additionalProperties'],
      ...[
        'propertyNames',
        'items',
        'prefixItems',
        'additionalItems',
        'contains',
        'minContains',
        'maxContains',
      ],
      ...['uniqueItems', 'minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'],
      ...[
        'minimum',
        'maximum',
        'exclusiveMinimum',
        'exclusiveMaximum',
        'multipleOf',
        'format',
        'title',
        'examples',
      ],
      ...[
        'description',
        'readOnly',
        'writeOnly',
        'deprecated',
        'allOf',
        'anyOf',
        'oneOf',
        'not',
        'if',
        'then',
        'else',
      ],
      ...[
        'dependentRequired',
        'dependentSchemas',
        'dependencies',
        '$defs',
        'definitions',
        '$comment',
        '$anchor',
      ],
      ...[
        'contentEncoding',
        'contentMediaType',
        'contentSchema',
        'unevaluatedItems',
        'unevaluatedProperties',
      ],
      ...['default', 'unknown'],
    );
    const schemas = fc.letrec((tie) => ({
      schema: fc.dictionary(
        keyword,
        fc.oneof({ depthSize: 'small' }, leaf, tie('schema'), fc.array(tie('schema'))),
        {
          maxKeys: 3,
        },
      ),
    })).schema;
    fc.assert(
      fc.property(schemas, fc.constantFrom(...judges.keys()), (schema, $schema) => {
        const whole = { ...schema, $schema };
        // Drafts 06 and 07 were published with and without a rule against the empty enum.
        fc.pre(!$schema.includes('/draft-') || !JSON.stringify(whole).includes('"enum"'));
        expect(inspectSchema(whole)?.reason ?? true).toEqual(
          judges.get($schema).validateSchema(whole) === true ? true : expect.any(String),
        );
      }),
      { numRuns: 1000 },
    );
  });
});

describe('references', () => {
  it('resolves pointers, anchors and ids inside the schema', () => {
    const schema = {
      $id: 'https://example.com/root.json',
      $defs: {
        pointer: { type: 'string' },
        anchored: { $anchor: 'here', type: 'number' },
        identified: { $id: 'other.json', $defs: { inner: { type: 'boolean' } }, $ref: '#/$defs/inner' },
        'a/b c~': { type: 'null' },
      },
      properties: {
        a: { $ref: '#/$defs/pointer' },
        b: { $ref: '#here' },
        c: { $ref: 'other.json' },
        d: { $ref: 'https://example.com/root.json#/$defs/a~1b%20c~0' },
        e: { $ref: 'other.json#/$defs/inner' },
      },
    };
    expect(check(schema, { a: 'x', b: 1, c: true, d: null, e: false })).toBe('ok');
    expect(check(schema, { a: 1 })).toBe('/a must be string, not integer');
    expect(check(schema, { b: 'x' })).toBe('/b must be number, not string');
    expect(check(schema, { c: 1 })).toBe('/c must be boolean, not integer');
    expect(check(schema, { d: 1 })).toBe('/d must be null, not integer');
    expect(check(schema, { e: 1 })).toBe('/e must be boolean, not integer');
  });

  it('follows a pointer into a place that is no keyword', () => {
    const schema = { components: { id: { type: 'string' } }, properties: { a: { $ref: '#/components/id' } } };
    expect(check(schema, { a: 1 })).toBe('/a must be string, not integer');
    expect(fault({ ...schema, components: { id: { type: 'x' } } })).toContain(
      '/components/id/type must be a type',
    );
  });

  it('never fetches: a reference that leads out of the schema makes it unusable', () => {
    const fetched = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('must not be called'));
    for (const $ref of [
      'https://example.com/schema.json',
      'http://127.0.0.1:9/schema.json#/a',
      'file:///etc/passwd',
      'other.json',
      '//example.com/x',
      'https://json-schema.org/draft/2020-12/schema',
      'urn:uuid:123e4567-e89b-12d3-a456-426614174000',
      'http://[',
    ]) {
      expect(fault({ properties: { a: { items: { $ref } } } })).toBe(
        `/properties/a/items/$ref must lead to a part of this schema; nothing else is fetched: ${JSON.stringify($ref)}`,
      );
      expect(fault({ properties: { a: { $dynamicRef: $ref } } })).toContain('nothing else is fetched');
    }
    expect(fetched).not.toHaveBeenCalled();
    fetched.mockRestore();
  });

  it('sees through an $id that makes a local reference a foreign one', () => {
    const hidden = { $id: 'https://example.com/deep/', properties: { a: { $ref: 'other.json' } } };
    expect(fault({ $defs: { hidden } })).toContain(
      '/$defs/hidden/properties/a/$ref must lead to a part of this schema',
    );
    expect(
      fault({ $defs: { hidden: { $id: 'https://example.com/x', $ref: '#/$defs/y' }, y: {} } }),
    ).toContain('there is none at "#/$defs/y"');
  });

  it.each(['#/$defs/none', '#none', '#/type', '#/%zz', '#/__proto__', '#/constructor'])(
    'refuses %s',
    ($ref) => {
      expect(fault({ type: 'object', properties: { a: { $ref } } })).toMatch(/must lead to/);
    },
  );

  it('refuses schemas that lead back to themselves without an end', () => {
    for (const schema of [
      { $ref: '#' },
      {
        $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } },
        properties: { x: { $ref: '#/$defs/a' } },
      },
      { $defs: { a: { if: { not: { $ref: '#/$defs/a' } } } }, $ref: '#/$defs/a' },
      { dependentSchemas: { x: { $ref: '#' } } },
    ]) {
      expect(fault(schema)).toBe(' refers to itself without an end');
    }
  });

  it('checks recursive values', () => {
    const tree = {
      type: 'object',
      properties: { kids: { type: 'array', items: { $ref: '#' } }, id: { type: 'number' } },
    };
    expect(check(tree, { kids: [{ kids: [{ id: 1 }] }] })).toBe('ok');
    expect(check(tree, { kids: [{ kids: [{ id: 'x' }] }] })).toBe(
      '/kids/0/kids/0/id must be number, not string',
    );
  });

  it('resolves a dynamic reference to the outermost schema in scope', () => {
    const list = {
      $id: 'list',
      $defs: { any: { $dynamicAnchor: 'item' } },
      type: 'array',
      items: { $dynamicRef: '#item' },
    };
    const schema = {
      $id: 'https://example.com/root',
      $defs: {
        list,
        numbers: {
          $id: 'numbers',
          $defs: { item: { $dynamicAnchor: 'item', type: 'number' } },
          $ref: 'list',
        },
        strings: {
          $id: 'strings',
          $defs: { item: { $dynamicAnchor: 'item', type: 'string' } },
          $ref: 'list',
        },
      },
      properties: { any: { $ref: 'list' }, numbers: { $ref: 'numbers' }, strings: { $ref: 'strings' } },
    };
    expect(check(schema, { any: [1, 'x'], numbers: [1], strings: ['x'] })).toBe('ok');
    expect(check(schema, { numbers: ['x'] })).toBe('/numbers/0 must be number, not string');
    expect(check(schema, { strings: [1] })).toBe('/strings/0 must be string, not integer');
  });

  it('resolves a recursive reference of 2019-09 to the outermost schema in scope', () => {
    const schema = {
      $schema: DRAFT_2019,
      $id: 'https://example.com/strict',
      $recursiveAnchor: true,
      unevaluatedProperties: false,
      $ref: 'tree',
      $defs: {
        tree: {
          $id: 'tree',
          $recursiveAnchor: true,
          properties: { kids: { type: 'array', items: { $recursiveRef: '#' } }, id: true },
        },
      },
    };
    expect(check(schema, { kids: [{ id: 1 }] })).toBe('ok');
    expect(check(schema, { kids: [{ di: 1 }] })).toMatch(/^\/kids\/0 must not have property "di"/);
  });

  it('keeps schemas with one $id apart', () => {
    const schema = (type: string) => ({
      $id: 'https://example.com/same',
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { type } },
    });
    expect(check(schema('string'), { a: 1 })).toBe('/a must be string, not integer');
    expect(check(schema('boolean'), { a: 1 })).toBe('/a must be boolean, not integer');
  });

  it('takes one schema that is repeated under its $id, but not two that differ', () => {
    const named = (type: string) => ({ $id: 'https://example.com/T', type });
    expect(check({ properties: { a: named('string'), b: named('string') } }, { b: 1 })).toBe(
      '/b must be string, not integer',
    );
    expect(fault({ properties: { a: named('string'), b: named('number') } })).toBe(
      '/properties/b has the same $id as another schema: "https://example.com/T"',
    );
    expect(fault({ $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x', type: 'string' } } })).toBe(
      '/$defs/b has the same anchor as another schema: "x"',
    );
  });
});

describe('names that every object inherits', () => {
  it('takes them for ordinary property names', () => {
    const schema = {
      properties: { constructor: { type: 'string' }, toString: { type: 'number' } },
      required: ['constructor', 'hasOwnProperty'],
      additionalProperties: { type: 'boolean' },
    };
    expect(check(schema, {})).toBe('the value must have properties "constructor", "hasOwnProperty"');
    expect(check(schema, { constructor: 'x', hasOwnProperty: true })).toBe('ok');
    expect(check(schema, { constructor: 1, hasOwnProperty: true })).toBe(
      '/constructor must be string, not integer',
    );
    expect(check(schema, { constructor: 'x', hasOwnProperty: true, toString: 'x' })).toBe(
      '/toString must be number, not string',
    );
  });

  it('minds __proto__ in every keyword that names properties', () => {
    const schema = (text: string): unknown => JSON.parse(text);
    const own = JSON.parse('{"__proto__":1}');
    expect(check(schema('{"properties":{"__proto__":{"type":"string"}}}'), own)).toBe(
      '/__proto__ must be string, not integer',
    );
    expect(check(schema('{"properties":{"__proto__":true},"additionalProperties":false}'), own)).toBe('ok');
    expect(check(schema('{"patternProperties":{"__proto__":{"type":"string"}}}'), own)).toBe(
      '/__proto__ must be string, not integer',
    );
    expect(check(schema('{"required":["__proto__"]}'), {})).toBe('the value must have property "__proto__"');
    expect(check(schema('{"required":["__proto__"]}'), own)).toBe('ok');
    expect(check(schema('{"dependentRequired":{"__proto__":["a"]}}'), own)).not.toBe('ok');
    expect(check(schema('{"dependentSchemas":{"__proto__":{"required":["a"]}}}'), {})).toBe('ok');
    expect(check(schema('{"additionalProperties":false}'), own)).toMatch(
      'must not have property "__proto__"',
    );
    expect(check(schema('{"enum":[{"__proto__":1}]}'), own)).toBe('ok');
    expect(check(schema('{"enum":[{"__proto__":1}]}'), {})).not.toBe('ok');
    expect(({} as Record<string, unknown>).type).toBeUndefined();
  });

  it('compares values that shadow the methods of objects', () => {
    const odd = () => ({ valueOf: 1, toString: 2, constructor: {}, hasOwnProperty: 3 });
    expect(check({ const: odd() }, odd())).toBe('ok');
    expect(check({ enum: [odd()] }, { ...odd(), valueOf: 2 })).not.toBe('ok');
    expect(check({ uniqueItems: true }, [odd(), odd()])).toBe('the value must not have two equal items');
    expect(check({ uniqueItems: true }, [odd(), {}])).toBe('ok');
  });
});

describe('hostile schemas', () => {
  it('bounds the depth', () => {
    const fits = nested(MAX_SCHEMA_DEPTH / 2 - 1, (inner) => ({ properties: { a: inner } }));
    expect(fault(fits)).toBe('none');
    expect(check(fits, { a: {} })).toBe('ok');
    for (const wrap of [
      (inner: unknown) => ({ not: inner }),
      (inner: unknown) => ({ anyOf: [inner] }),
      (inner: unknown) => ({ const: inner }),
      (inner: unknown) => ({ unknown: [inner] }),
    ]) {
      expect(fault(nested(100_000, wrap))).toBe(` is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
    }
  });

  it('bounds the number of subschemas, branches, values and characters', () => {
    const wide = Object.fromEntries(times(MAX_SCHEMA_BRANCHES + 1, (index) => [`p${index}`, {}]));
    expect(fault({ properties: wide })).toContain(
      `/properties must have at most ${MAX_SCHEMA_BRANCHES} entries`,
    );
    expect(fault({ $defs: wide })).toBe('none');
    const many = Object.fromEntries(times(MAX_SUBSCHEMAS, (index) => [`p${index}`, {}]));
    expect(fault({ $defs: many })).toBe(` has more than ${MAX_SUBSCHEMAS} subschemas`);
    expect(fault({ enum: times(MAX_SCHEMA_VALUES, String) })).toBe(
      ` has more than ${MAX_SCHEMA_VALUES} values`,
    );
    expect(fault({ description: 'x'.repeat(MAX_SCHEMA_CHARS) })).toBe(
      ` has more than ${MAX_SCHEMA_CHARS} characters`,
    );
  });

  it('refuses a schema object that holds itself', () => {
    const schema: Record<string, unknown> = {};
    schema.properties = { a: schema };
    expect(fault(schema)).toContain('is nested deeper than');
  });

  it('looks one value up in a huge enum', () => {
    const schema = { enum: times(40_000, (index) => `v${index}`) };
    expect(check(schema, 'v39999')).toBe('ok');
    expect(check(schema, 'w')).toMatch(/^the value must be one of "v0", .* … \(40000 in all\)$/);
  });

  it('compiles lists and properties of the greatest width', () => {
    for (const keyword of ['anyOf', 'oneOf', 'allOf', 'prefixItems']) {
      const schema = {
        [keyword]: times(MAX_SCHEMA_BRANCHES, (index) => ({
          properties: { [`p${index}`]: { type: 'string' } },
          required: ['a'],
        })),
      };
      expect(() => compileNow(schema).validate({ a: 1 })).not.toThrow();
    }
    const properties = Object.fromEntries(
      times(MAX_SCHEMA_BRANCHES, (index) => [`p${index}`, { type: 'string' }]),
    );
    const whole = { properties, additionalProperties: false };
    expect(check(whole, { [`p${MAX_SCHEMA_BRANCHES - 1}`]: 1 })).toBe(
      `/p${MAX_SCHEMA_BRANCHES - 1} must be string, not integer`,
    );
  });

  it('compiles wide schemas that nest at their last member', () => {
    const width = MAX_SCHEMA_BRANCHES - 1;
    const wrap = (inner: unknown) => ({
      properties: Object.fromEntries([
        ...times(width, (index) => [`p${index}`, { minimum: 1 }]),
        ['z', inner],
      ]),
    });
    const schema = nested(7, wrap, { type: 'string' });
    expect(
      check(
        schema,
        nested(7, (inner) => ({ z: inner }), 'x'),
      ),
    ).toBe('ok');
    expect(
      check(
        schema,
        nested(7, (inner) => ({ z: inner }), 5),
      ),
    ).toMatch(/must be string, not integer$/);
  });

  it('does not multiply code that is referred to from many places', () => {
    const big = { properties: Object.fromEntries(times(400, (index) => [`p${index}`, { type: 'string' }])) };
    const schema = {
      $defs: { big },
      properties: Object.fromEntries(
        times(MAX_SCHEMA_BRANCHES, (index) => [`r${index}`, { $ref: '#/$defs/big' }]),
      ),
    };
    expect(check(schema, { r499: { p399: 1 } })).toBe('/r499/p399 must be string, not integer');
  });

  it('gives up a validation that doubles with every level of the schema', () => {
    const $defs = Object.fromEntries(
      times(60, (index) => [
        `d${index}`,
        index === 59
          ? { type: 'number' }
          : { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
      ]),
    );
    expect(compileNow({ $defs, $ref: '#/$defs/d0' }).validate(1)).toEqual({
      path: '',
      keyword: 'limit',
      message: 'the value takes too many steps to be checked',
    });
  });

  it('gives up a validation that doubles with every level of the value', () => {
    const again = { properties: { a: { $ref: '#' } } };
    const schema = {
      anyOf: [
        { ...again, required: ['x'] },
        { ...again, required: ['y'] },
      ],
    };
    const value = (levels: number) => nested(levels, (inner) => ({ a: inner, y: 1 }), 5);
    expect(check(schema, value(8))).toBe('ok');
    expect(check(schema, value(64))).toBe('the value takes too many steps to be checked');
  });

  it('gives up a value that is nested too deeply to be walked', () => {
    const deep = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000));
    expect(check({ items: { $ref: '#' } }, deep)).toBe('the value is nested too deeply to be checked');
  });

  it('checks many items for equality in linear time', () => {
    const items = times(50_000, (index) => ({ index }));
    expect(check({ uniqueItems: true }, items)).toBe('ok');
    expect(check({ uniqueItems: true }, [...items, { index: 7 }])).toBe(
      'the value must not have two equal items',
    );
  });

  it('matches patterns in linear time that could take the runtime forever', () => {
    for (const pattern of ['^(a|a)*b$', '^(a+)+$', '^(\\w+\\s?)*!', '(.*)*=']) {
      expect(check({ pattern }, 'a'.repeat(1000)), pattern).toMatch(
        pattern === '^(a+)+$' ? 'ok' : 'must match the pattern',
      );
      expect(check({ patternProperties: { [pattern]: false } }, { ['a'.repeat(1000)]: 1 }) !== 'ok').toBe(
        pattern === '^(a+)+$',
      );
    }
    expect(fault({ pattern: '^(a)\\1$' })).toBe(
      '/pattern must be a pattern that can be matched safely: it refers back to a group',
    );
  });

  it('gives up a validation that matches many texts with a costly pattern', () => {
    const schema = { items: { pattern: '^(?:z(?!z*x))*$' } };
    const text = 'z'.repeat(100);
    expect(check(schema, [text])).toBe('ok');
    expect(
      check(
        schema,
        times(5000, () => text),
      ),
    ).toBe('the value takes too many steps to be checked');
  });

  it('takes the patterns that libraries generate', () => {
    const schema = z.toJSONSchema(z.object({ mail: z.email(), at: z.iso.datetime(), for: z.iso.duration() }));
    const value = { mail: 'ada@example.com', at: '2026-07-28T12:00:00Z', for: 'P1DT2H' };
    expect(check(schema, value)).toBe('ok');
    expect(check(schema, { ...value, for: '2 hours' })).toMatch(/^\/for must /);
  });

  it('counts the steps of each validation anew', () => {
    const schema = { anyOf: times(40, (index) => ({ const: index })) };
    const compiled = compileNow({ items: schema });
    const value = times(50_000, () => 39);
    for (let round = 0; round < 4; round++) expect(compiled.validate(value)).toBeUndefined();
    expect(compiled.validate(times(200_000, () => 39))?.keyword).toBe('limit');
    expect(compiled.validate([1])).toBeUndefined();
  });
});

describe('less common keywords', () => {
  it('minds unevaluated properties across references and alternatives', () => {
    const schema = {
      $defs: { base: { properties: { id: { type: 'string' } } } },
      allOf: [{ $ref: '#/$defs/base' }],
      anyOf: [
        { properties: { a: true }, required: ['a'] },
        { properties: { b: true }, required: ['b'] },
      ],
      unevaluatedProperties: false,
    };
    expect(check(schema, { id: 'x', a: 1 })).toBe('ok');
    expect(check(schema, { id: 'x', b: 1 })).toBe('ok');
    expect(check(schema, { id: 'x', a: 1, c: 1 })).toMatch('must not have property "c"');
  });

  it('minds what was looked at through if, contains and nested schemas', () => {
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    const conditional = { if: { properties: { a: { const: 1 } } }, then: { properties: { b: true } } };
    const properties = { ...conditional, unevaluatedProperties: false };
    expect(check(properties, { a: 1, b: 2 })).toBe('ok');
    expect(check(properties, { a: 2 })).toBe('the value must not have property "a"');
    expect(check({ ...conditional, unevaluatedProperties: { type: 'string' } }, { a: 1, c: 'x', d: 3 })).toBe(
      'the value must have in property "d" what "unevaluatedProperties" describes',
    );
    const items = { prefixItems: [true], contains: { type: 'string' }, unevaluatedItems: false };
    expect(check(items, [1, 'x', 'y'])).toBe('ok');
    expect(check(items, [1, 'x', 2])).toBe('the value must not have item 2');
    expect(
      check({ $schema: DRAFT_2019, contains: { type: 'string' }, unevaluatedItems: false }, ['x']),
    ).not.toBe('ok');
    expect(check({ unevaluatedItems: { type: 'number' } }, [1, 'x'])).toBe(
      'the value must have as item 1 what "unevaluatedItems" describes',
    );
  });

  it('does not take inherited names for properties that were looked at', () => {
    const schema = { anyOf: [{ properties: { a: true } }], unevaluatedProperties: false };
    expect(check(schema, { a: 1 })).toBe('ok');
    expect(check(schema, { constructor: 1 })).toBe('the value must not have property "constructor"');
    expect(check(schema, JSON.parse('{"__proto__":1}'))).toBe('the value must not have property "__proto__"');
  });

  it('gives up when looking back doubles with every level of the schema', () => {
    const schema = nested(40, (inner) => ({ anyOf: [inner], unevaluatedProperties: false }), {
      properties: { a: true },
    });
    expect(check(schema, { a: 1 })).toBe('the value takes too many steps to be checked');
  });

  it('knows boolean schemas everywhere', () => {
    expect(check(true, 1)).toBe('ok');
    expect(check({ properties: { a: true, b: false } }, { a: 1 })).toBe('ok');
    expect(check({ items: false }, [1])).not.toBe('ok');
    expect(check({ $defs: { no: false }, properties: { a: { $ref: '#/$defs/no' } } }, { a: 1 })).toBe(
      '/a is not allowed',
    );
    expect(check({ allOf: [true, { $ref: '#/$defs/yes' }], $defs: { yes: true } }, 1)).toBe('ok');
  });

  it('measures strings in code points', () => {
    expect(check({ maxLength: 1 }, '😀')).toBe('ok');
    expect(check({ minLength: 2 }, '😀')).toBe('the value must have at least 2 characters');
    expect(check({ minLength: 2 }, '\ud83dx')).toBe('ok');
  });

  it('finds decimal multiples', () => {
    expect(check({ multipleOf: 0.01 }, 19.99)).toBe('ok');
    expect(check({ multipleOf: 0.1 }, 123456.7)).toBe('ok');
    expect(check({ multipleOf: 0.123456789 }, 1e308)).not.toBe('ok');
    expect(check({ multipleOf: 3 }, 10)).not.toBe('ok');
  });
});

describe('caching', () => {
  it('compiles one schema once, by object and by content', () => {
    const schema = { type: 'object', properties: { cached: { type: 'string' } } };
    expect(compileNow(schema)).toBe(compileNow(schema));
    expect(compileNow({ properties: { cached: { type: 'string' } }, type: 'object' })).toBe(
      compileNow(schema),
    );
    expect(compileNow({ ...schema, title: 'x' })).not.toBe(compileNow(schema));
  });

  it('says again why a schema was refused', () => {
    const refused = { $ref: 'https://example.com/' };
    const messages = times(2, () => {
      try {
        return compileNow(refused);
      } catch (error) {
        return String(error);
      }
    });
    expect(messages[0]).toBe(messages[1]);
    expect(messages[0]).toMatch('Cannot use a JSON Schema: /$ref must lead to a part of this schema');
  });
});

describe('fingerprints', () => {
  it('does not depend on the order of members, but on everything else', () => {
    expect(schemaFingerprint({ a: 1, b: [1, { c: 2, d: 3 }] })).toBe(
      schemaFingerprint({ b: [1, { d: 3, c: 2 }], a: 1 }),
    );
    expect(schemaFingerprint([1, 2])).not.toBe(schemaFingerprint([2, 1]));
    expect(schemaFingerprint({ a: 1 })).not.toBe(schemaFingerprint({ a: '1' }));
    expect(schemaFingerprint({ a: undefined })).toBe(schemaFingerprint({}));
    expect(schemaFingerprint([undefined, 1])).toBe(schemaFingerprint([null, 1]));
    expect(schemaFingerprint({ at: new Date(0) })).toBe(
      schemaFingerprint({ at: '1970-01-01T00:00:00.000Z' }),
    );
    expect(schemaFingerprint(null)).toMatch(/^[\w-]{43}$/);
  });

  it('is that of the text of JSON with its members sorted', () => {
    const text = '{"":[1.5,-0.5,"\\ud800 \\u0000",true,null,{}],"10":1,"9":[],"a":{"B":1,"b":"é"}}';
    const digest = createHash('sha256').update(text).digest('base64url');
    const { a, ...others } = JSON.parse(text);
    expect(schemaFingerprint({ a: { b: a.b, B: a.B }, ...others })).toBe(digest);
  });

  it('refuses a circle', () => {
    const circle: Record<string, unknown> = {};
    circle.again = { circle };
    expect(() => schemaFingerprint(circle)).toThrow(TypeError);
  });
});
