import type { ErrorObject } from 'ajv/dist/core.js';
import { isJsonObject, type JsonObject } from '../../jsonrpc/index.ts';
import { CONST_OF_VALUE, ENUM_OF_VALUES } from './lower.ts';

/** Where a value breaks which rule of a schema. */
export interface Violation {
  /** The place in the value, as a JSON pointer; `""` is the value itself. The names in it are the peer's, unbounded. */
  path: string;
  /** The keyword of the schema; `false` where a schema allows nothing, `limit` when the check had to be given up. */
  keyword: string;
  /** One bounded line for a person or a model, for example `/age must be >= 0`. */
  message: string;
}

const MAX_LISTED = 10;
const MAX_ALTERNATIVES = 3;
const MAX_QUOTED_CHARS = 80;
const MAX_PATH_CHARS = 200;

/** Makes one violation of what the compiled code reports: the failure that ended it comes last. */
export function violationOf(errors: readonly ErrorObject[]): Violation {
  const causes = errors.length > 1 && errors.at(-1)?.keyword === 'if' ? errors.slice(0, -1) : errors;
  const last = causes.at(-1);
  if (last === undefined) return { path: '', keyword: 'false', message: 'the value is not valid' };
  const path = last.instancePath;
  return { path, keyword: keywordOf(last), message: sentence(path, predicate(last, causes.slice(0, -1))) };
}

export function sentence(path: string, rule: string): string {
  const subject = path.length > MAX_PATH_CHARS ? `${path.slice(0, MAX_PATH_CHARS)}…` : path;
  return `${subject === '' ? 'the value' : subject} ${rule}`;
}

function keywordOf({ keyword }: ErrorObject): string {
  switch (keyword) {
    case ENUM_OF_VALUES:
      return 'enum';
    case CONST_OF_VALUE:
      return 'const';
    case 'false schema':
      return 'false';
    default:
      return keyword;
  }
}

/** What a place must be. `causes` are the failures that led to this one. */
function predicate(error: ErrorObject, causes: readonly ErrorObject[]): string {
  const { keyword, params, data } = error;
  const schema: unknown = error.schema;
  const parent: JsonObject = isJsonObject(error.parentSchema) ? error.parentSchema : {};
  switch (keyword) {
    case 'type':
      return `must be ${typesOf(schema)}, not ${typeOf(data)}`;
    case 'const':
      return `must be ${quote(schema)}`;
    case CONST_OF_VALUE:
    case 'enum':
    case ENUM_OF_VALUES:
      return `must be ${oneOf(schema)}`;
    case 'required':
      return `must have ${missing(parent.required, data)}`;
    case 'dependentRequired':
      return `must have property ${quote(params.missingProperty)} because it has ${quote(params.property)}`;
    case 'additionalProperties':
      return `must not have property ${quote(params.additionalProperty)}${allowed(parent.properties)}`;
    case 'unevaluatedProperties':
      return schema === false
        ? `must not have property ${quote(params.found)}`
        : `must have in property ${quote(params.found)} what "unevaluatedProperties" describes`;
    case 'unevaluatedItems':
      return schema === false
        ? `must not have item ${String(params.found)}`
        : `must have as item ${String(params.found)} what "unevaluatedItems" describes`;
    case 'propertyNames':
      return `must not have property ${quote(params.propertyName)}: the name ${namePredicate(causes)}`;
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return `must be ${String(params.comparison)} ${String(schema)}`;
    case 'multipleOf':
      return `must be a multiple of ${String(schema)}`;
    case 'minLength':
      return `must have at least ${count(schema, 'character')}`;
    case 'maxLength':
      return `must have at most ${count(schema, 'character')}`;
    case 'minItems':
      return `must have at least ${count(schema, 'item')}`;
    case 'maxItems':
      return `must have at most ${count(schema, 'item')}`;
    case 'items':
      return `must have at most ${count(params.limit, 'item')}`;
    case 'minProperties':
      return `must have at least ${count(schema, 'property')}`;
    case 'maxProperties':
      return `must have at most ${count(schema, 'property')}`;
    case 'uniqueItems':
      return 'must not have two equal items';
    case 'contains':
      return `must have ${containsRange(params)} of the kind that "contains" describes`;
    case 'pattern':
      return `must match the pattern ${quote(schema)}`;
    case 'format':
      return `must be in the format ${quote(schema)}`;
    case 'not':
      return 'must not be what "not" describes';
    case 'false schema':
      return 'is not allowed';
    case 'anyOf':
      return `must match one of the alternatives: ${alternatives(causes, error.instancePath)}`;
    case 'oneOf':
      return Array.isArray(params.passingSchemas)
        ? 'must match exactly one of the alternatives: it matches more than one'
        : `must match exactly one of the alternatives: ${alternatives(causes, error.instancePath)}`;
    default:
      return `must satisfy ${quote(keyword)}`;
  }
}

/** Sums up why no alternative matched: what is said of a whole place is joined, the most telling comes first. */
function alternatives(errors: readonly ErrorObject[], at: string): string {
  const types = new Set<string>();
  const values = new Set<unknown>();
  const others = new Set<string>();
  for (const error of errors) {
    const isHere = error.instancePath === at;
    if (isHere && error.keyword === 'type') {
      for (const type of [error.schema as unknown].flat()) types.add(String(type));
    } else if (isHere && (error.keyword === 'const' || error.keyword === 'enum')) {
      for (const value of error.keyword === 'enum' ? [error.schema as unknown].flat() : [error.schema])
        values.add(value);
    } else if (!['anyOf', 'oneOf', 'if'].includes(error.keyword)) {
      others.add(sentence(error.instancePath, predicate(error, [])));
    }
  }
  // A wrong constant mostly means that another alternative was meant.
  const sorted = [...others].sort((a, b) => Number(/ must be "/.test(a)) - Number(/ must be "/.test(b)));
  const parts = sorted.slice(0, MAX_ALTERNATIVES);
  if (values.size > 0) parts.push(`must be ${oneOf([...values])}`);
  if (types.size > 0) parts.push(`must be ${typesOf([...types])}`);
  if (sorted.length > MAX_ALTERNATIVES) parts.push('…');
  return parts.join('; or ');
}

function missing(required: unknown, data: unknown): string {
  const names: string[] = Array.isArray(required) && isJsonObject(data) ? required : [];
  const absent = names.filter((name) => !Object.hasOwn(data as JsonObject, name)); // An object, as above.
  return `${absent.length === 1 ? 'property' : 'properties'} ${listed(absent.map(quote))}`;
}

function allowed(properties: unknown): string {
  return isJsonObject(properties) ? ` (it may have ${listed(Object.keys(properties).map(quote))})` : '';
}

function namePredicate(causes: readonly ErrorObject[]): string {
  const cause = causes.at(-1);
  return cause === undefined ? 'is not allowed' : predicate(cause, causes.slice(0, -1));
}

function containsRange({ minContains, maxContains }: Record<string, unknown>): string {
  if (maxContains === undefined) return `at least ${count(minContains, 'item')}`;
  return `at least ${String(minContains)} and at most ${count(maxContains, 'item')}`;
}

function count(limit: unknown, unit: string): string {
  if (limit === 1) return `1 ${unit}`;
  return `${String(limit)} ${unit === 'property' ? 'properties' : `${unit}s`}`;
}

function oneOf(values: unknown): string {
  if (!Array.isArray(values) || values.length === 0) return 'one of no values at all';
  return values.length === 1 ? quote(values[0]) : `one of ${listed(values.map(quote))}`;
}

function typesOf(types: unknown): string {
  return [types].flat().join(' or ');
}

function listed(values: readonly string[]): string {
  if (values.length <= MAX_LISTED) return values.join(', ');
  return `${values.slice(0, MAX_LISTED).join(', ')}, … (${values.length} in all)`;
}

/** A value as JSON, bounded. */
function quote(value: unknown): string {
  const text = JSON.stringify(typeof value === 'string' ? value.slice(0, MAX_QUOTED_CHARS + 1) : value) ?? '';
  return text.length > MAX_QUOTED_CHARS ? `${text.slice(0, MAX_QUOTED_CHARS)}…` : text;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}
