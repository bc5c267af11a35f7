import { isJsonObject, type JsonObject } from '../jsonrpc/index.ts';
import { type CompiledSchema, compileSchema, type Violation } from './json-schema.ts';
import { pointerTo } from './schema/reference.ts';
import { sentence } from './schema/violation.ts';

/**
 * A schema of any library that follows Standard Schema and can say what it is in JSON Schema: those of zod 4 and arktype 2
 * as they are, those of valibot through `toStandardJsonSchema` of `@valibot/to-json-schema`.
 *
 * @see https://standardschema.dev/json-schema
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    /** Only there for the types. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => JsonObject;
      readonly output: (options: { readonly target: 'draft-2020-12' }) => JsonObject;
    };
  };
}

/** What a {@link StandardSchema} says of a value. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A plain JSON Schema, or one of a library. */
export type SchemaLike = JsonObject | StandardSchema;

/** What a value may be before it is checked against a schema. */
export type InferInput<Schema> = Schema extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly input: infer Input }
    ? Input
    : unknown
  : FromJsonSchema<Schema>;

/**
 * What a value is after it was checked: defaults and transformations of a library count. A plain JSON Schema tells when it
 * is written `as const`, as far as `type`, `properties`, `required`, `items`, `enum` and `const` go.
 */
export type InferOutput<Schema> = Schema extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : FromJsonSchema<Schema>;

/** A value that passed, perhaps transformed, or why it did not. */
export type Checked<Value> =
  | { readonly value: Value; readonly violation?: undefined }
  | { readonly violation: Violation };

/** Tells a schema of a library from a plain JSON Schema. It may be a function. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  if (!isObject || !('~standard' in value)) return false;
  const standard = value['~standard'];
  return isJsonObject(standard) && standard.version === 1 && typeof standard.validate === 'function';
}

/**
 * The JSON Schema of a schema; a plain one is returned as it is. `side` is what is described: a value before the library has
 * read it, or what becomes of it. `$schema` is left out: what a library gives is in the default dialect.
 *
 * @throws TypeError when the library cannot give it.
 */
export function toJsonSchema(schema: SchemaLike, side: 'input' | 'output' = 'input'): JsonObject {
  if (!isStandardSchema(schema)) return schema;
  const { vendor, jsonSchema } = schema['~standard'];
  if (typeof jsonSchema?.[side] !== 'function') {
    throw new TypeError(
      `Cannot describe a schema of ${vendor} as JSON Schema: it has no "~standard".jsonSchema${advice(vendor)}`,
    );
  }
  let described: JsonObject;
  try {
    described = jsonSchema[side]({ target: 'draft-2020-12' });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TypeError(`Cannot describe a schema of ${vendor} as JSON Schema: ${why}`, { cause });
  }
  const { $schema: _, ...rest } = described;
  return rest;
}

/**
 * Checks a value: against a plain JSON Schema, or with the library's own validation, whose result counts. Answers at once
 * unless the library answers later, or {@link compileSchema} does.
 *
 * @throws McpError as {@link compileSchema} does for a plain JSON Schema.
 */
export function checkValue<Schema extends SchemaLike>(
  schema: Schema,
  value: unknown,
): Checked<InferOutput<Schema>> | Promise<Checked<InferOutput<Schema>>> {
  // The casts below say what the checks have shown: the value has the type that the schema describes.
  if (!isStandardSchema(schema)) {
    const check = (compiled: CompiledSchema): Checked<InferOutput<Schema>> => {
      const violation = compiled.validate(value);
      return violation === undefined ? { value: value as InferOutput<Schema> } : { violation };
    };
    const compiled = compileSchema(schema);
    return compiled instanceof Promise ? compiled.then(check) : check(compiled);
  }
  const { vendor, validate } = schema['~standard'];
  const read = (result: StandardResult<unknown>): Checked<InferOutput<Schema>> =>
    result.issues === undefined
      ? { value: result.value as InferOutput<Schema> }
      : { violation: violationOf(vendor, result.issues) };
  const result = validate(value);
  return result instanceof Promise ? result.then(read) : read(result);
}

const MAX_ISSUES = 5;
const MAX_ISSUE_CHARS = 300;

function violationOf(vendor: string, issues: readonly StandardIssue[]): Violation {
  const [first] = issues;
  const shown = issues.slice(0, MAX_ISSUES).map((issue) => describe(issue));
  if (issues.length > MAX_ISSUES) shown.push(`… (${issues.length} in all)`);
  return { path: pathOf(first), keyword: vendor, message: shown.join('; ') };
}

function describe(issue: StandardIssue): string {
  const { message } = issue;
  const text = message.length > MAX_ISSUE_CHARS ? `${message.slice(0, MAX_ISSUE_CHARS)}…` : message;
  return sentence(pathOf(issue), `is not accepted: ${text}`);
}

function pathOf(issue: StandardIssue | undefined): string {
  let path = '';
  for (const segment of issue?.path ?? []) {
    const key = typeof segment === 'object' ? segment.key : segment;
    path = pointerTo(path, typeof key === 'symbol' ? key.toString() : key);
  }
  return path;
}

function advice(vendor: string): string {
  return vendor === 'valibot' ? '; wrap it with toStandardJsonSchema of @valibot/to-json-schema' : '';
}

/** Cheap on purpose: one step per level of the literal, and `unknown` for all that would take more. */
type FromJsonSchema<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { readonly type: infer Type }
      ? string extends Type
        ? JsonObject
        : FromType<Type, Schema>
      : string extends keyof Schema
        ? JsonObject
        : unknown;

type FromType<Type, Schema> = Type extends readonly (infer One)[]
  ? FromType<One, Schema>
  : Type extends 'object'
    ? FromObject<Schema>
    : Type extends 'array'
      ? Schema extends { readonly items: infer Items }
        ? FromJsonSchema<Items>[]
        : unknown[]
      : Type extends keyof Scalars
        ? Scalars[Type]
        : unknown;

interface Scalars {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
  null: null;
}

type FromObject<Schema> = Schema extends { readonly properties: infer Properties }
  ? FromProperties<Properties, Schema extends { readonly required: readonly (infer Name)[] } ? Name : never>
  : JsonObject;

type FromProperties<Properties, Required> = {
  -readonly [Name in keyof Properties as Name extends Required ? Name : never]: FromJsonSchema<
    Properties[Name]
  >;
} & {
  -readonly [Name in keyof Properties as Name extends Required ? never : Name]?: FromJsonSchema<
    Properties[Name]
  >;
};
