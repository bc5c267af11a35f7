import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { inspectSchema } from '../../src/protocol/json-schema.ts';
import {
  type Checked,
  checkValue,
  type InferInput,
  type InferOutput,
  isStandardSchema,
  type SchemaLike,
  type StandardSchema,
  toJsonSchema,
} from '../../src/protocol/standard-schema.ts';

const zodUser = z.object({
  name: z.string().min(2),
  age: z.number().default(7),
  tag: z.string().transform((tag) => tag.length),
});
const arkUser = type({ name: 'string >= 2', 'age?': 'number', born: 'string.date.parse' });
const valibotUser = toStandardJsonSchema(
  v.object({ name: v.pipe(v.string(), v.minLength(2)), age: v.optional(v.number(), 7) }),
);

/** As a server takes a tool: the schema decides what its handler is given. */
function tool<Schema extends SchemaLike>(
  _schema: Schema,
  _handler: (args: InferOutput<Schema>) => void,
): void {}

describe('recognising', () => {
  it('knows the schemas of libraries, functions included, from plain JSON Schemas', () => {
    for (const schema of [zodUser, arkUser, valibotUser, v.string()])
      expect(isStandardSchema(schema)).toBe(true);
    for (const value of [{ type: 'object' }, {}, null, undefined, 'x', [], () => 1, { '~standard': 1 }]) {
      expect(isStandardSchema(value)).toBe(false);
    }
    expect(
      isStandardSchema({ '~standard': { version: 2, vendor: 'x', validate: () => ({ value: 1 }) } }),
    ).toBe(false);
    expect(isStandardSchema({ '~standard': { version: 1, vendor: 'x' } })).toBe(false);
  });
});

describe('describing as JSON Schema', () => {
  it.each([
    ['zod', zodUser, ['name', 'tag']],
    ['arktype', arkUser, ['name', 'born']],
    ['valibot', valibotUser, ['name']],
  ])('asks %s for what may come in', (_vendor, schema, required) => {
    const described = toJsonSchema(schema);
    expect(described).toMatchObject({
      type: 'object',
      properties: { name: { type: 'string', minLength: 2 }, age: { type: 'number' } },
    });
    expect([...(described.required as string[])].sort()).toEqual([...required].sort());
    expect(described).not.toHaveProperty('$schema');
    expect(inspectSchema(described, { rootObject: true })).toBeUndefined();
  });

  it('asks for what comes out where that is wanted', () => {
    expect(toJsonSchema(z.object({ age: z.number().default(7) }), 'output').required).toEqual(['age']);
  });

  it('returns a plain JSON Schema as it is', () => {
    const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' };
    expect(toJsonSchema(schema)).toBe(schema);
  });

  it('says what to do with a schema of valibot itself', () => {
    const bare: unknown = v.object({ a: v.string() });
    expect(() => toJsonSchema(bare as SchemaLike)).toThrow(
      new TypeError(
        'Cannot describe a schema of valibot as JSON Schema: it has no "~standard".jsonSchema; wrap it with toStandardJsonSchema of @valibot/to-json-schema',
      ),
    );
  });

  it('passes on why a library cannot describe a schema', () => {
    expect(() => toJsonSchema(z.object({ at: z.date() }))).toThrow(
      /^Cannot describe a schema of zod as JSON Schema: .*Date/,
    );
    expect(() => toJsonSchema(z.object({ at: z.date() }))).toThrow(TypeError);
  });
});

describe('checking', () => {
  it.each([
    ['zod', zodUser, { name: 'Ada', tag: 'abc' }, { name: 'Ada', age: 7, tag: 3 }],
    ['arktype', arkUser, { name: 'Ada', born: '2026-07-28' }, { name: 'Ada', born: new Date('2026-07-28') }],
    ['valibot', valibotUser, { name: 'Ada' }, { name: 'Ada', age: 7 }],
  ])('gives what %s makes of a value', async (_vendor, schema: SchemaLike, value, expected) => {
    expect(await checkValue(schema, value)).toEqual({ value: expected });
  });

  it.each([
    ['zod', zodUser, { name: 'A', tag: 'x' }],
    ['arktype', arkUser, { name: 'A', born: '2026-07-28' }],
    ['valibot', valibotUser, { name: 'A' }],
  ])('says where a value is not what %s wants', async (vendor, schema: SchemaLike, value) => {
    const { violation } = await checkValue(schema, value);
    expect(violation).toMatchObject({ path: '/name', keyword: vendor });
    expect(violation?.message).toMatch(/^\/name is not accepted: ./);
  });

  it('lists several faults, but not without a bound', async () => {
    const schema = z.object(
      Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`p${index}`, z.string()])),
    );
    const { violation } = await checkValue(schema, {});
    expect(violation?.message).toMatch(
      /^\/p0 is not accepted: .*; \/p1 is not accepted: .*; … \(50 in all\)$/,
    );
  });

  it('bounds what a library says', async () => {
    const schema = z.object({ a: z.string().refine(() => false, { error: 'x'.repeat(100_000) }) });
    expect((await checkValue(schema, { a: '' })).violation?.message.length).toBeLessThan(1000);
  });

  it('writes a path as a JSON pointer', async () => {
    const schema = z.object({ 'a/b': z.array(z.object({ c: z.number() })) });
    expect((await checkValue(schema, { 'a/b': [{ c: 1 }, { c: 'x' }] })).violation?.path).toBe('/a~1b/1/c');
  });

  it('answers at once unless the library answers later', async () => {
    expect(checkValue(z.object({}), {})).toEqual({ value: {} });
    const later = checkValue(z.object({ a: z.string().refine(async (text) => text === 'x', 'must be x') }), {
      a: 'y',
    });
    expect(later).toBeInstanceOf(Promise);
    expect((await later).violation?.message).toBe('/a is not accepted: must be x');
  });

  it('checks plain JSON Schemas at once when their compiler is loaded', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const value = { a: 'x', b: 1 };
    expect(await checkValue(schema, value)).toEqual({ value });
    expect(checkValue(schema, value)).toEqual({ value });
    expect(checkValue(schema, { a: 1 })).toEqual({
      violation: { path: '/a', keyword: 'type', message: '/a must be string, not integer' },
    });
  });

  it('lets the errors of a library through', async () => {
    const broken: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'broken',
        validate: () => {
          throw new Error('out of order');
        },
        jsonSchema: { input: () => ({}), output: () => ({}) },
      },
    };
    expect(() => checkValue(broken, 1)).toThrow('out of order');
  });
});

describe('types', () => {
  it('infers what a handler is given from the schemas of libraries', () => {
    tool(zodUser, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ name: string; age: number; tag: number }>();
    });
    tool(arkUser, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ name: string; age?: number; born: Date }>();
    });
    tool(valibotUser, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ name: string; age: number }>();
    });
    expectTypeOf<InferInput<typeof zodUser>>().toEqualTypeOf<{
      name: string;
      age?: number | undefined;
      tag: string;
    }>();
  });

  it('infers an object of unknown members from a plain JSON Schema', () => {
    tool({ type: 'object', properties: { a: { type: 'string' } } }, (args) => {
      expectTypeOf(args).toEqualTypeOf<JsonObject>();
    });
    expectTypeOf<InferOutput<JsonObject>>().toEqualTypeOf<JsonObject>();
    expectTypeOf<InferOutput<{ type: 'object' }>>().toEqualTypeOf<JsonObject>();
  });

  it('infers the members from a JSON Schema that is written as const', () => {
    const schema = {
      type: 'object',
      properties: {
        name: { type: 'string' },
        age: { type: ['integer', 'null'] },
        role: { enum: ['admin', 'guest'] },
        kind: { const: 'user' },
        tags: { type: 'array', items: { type: 'string' } },
        home: { type: 'object', properties: { zip: { type: 'number' } }, required: ['zip'] },
        other: { $ref: '#/$defs/other' },
        any: true,
      },
      required: ['name', 'age', 'home'],
      $defs: { other: {} },
    } as const;
    tool(schema, (args) => {
      expectTypeOf(args.name).toEqualTypeOf<string>();
      expectTypeOf(args.age).toEqualTypeOf<number | null>();
      expectTypeOf(args.role).toEqualTypeOf<'admin' | 'guest' | undefined>();
      expectTypeOf(args.kind).toEqualTypeOf<'user' | undefined>();
      expectTypeOf(args.tags).toEqualTypeOf<string[] | undefined>();
      expectTypeOf(args.home.zip).toEqualTypeOf<number>();
      expectTypeOf(args.other).toEqualTypeOf<unknown>();
      expectTypeOf(args.any).toEqualTypeOf<unknown>();
      // @ts-expect-error it is not among the properties
      args.none;
    });
  });

  it('tells a value from a violation', () => {
    const checked = {} as Checked<{ a: string }>;
    if (checked.violation === undefined) expectTypeOf(checked.value).toEqualTypeOf<{ a: string }>();
    else expectTypeOf(checked.violation.path).toEqualTypeOf<string>();
  });
});
