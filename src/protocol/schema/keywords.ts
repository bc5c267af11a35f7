import { isJsonObject } from '../../jsonrpc/index.ts';

/** The JSON Schema dialects that are understood; the specification's default is the first. */
export const SCHEMA_DIALECTS = ['2020-12', '2019-09', 'draft-07', 'draft-06'] as const;

/** What `$schema` names. JSON Schema says "dialect"; here that word alone is the protocol's. */
export type SchemaDialect = (typeof SCHEMA_DIALECTS)[number];

/** What the value of a keyword must look like, as the metaschema of its dialect says. */
export type KeywordShape =
  | 'any'
  | 'array'
  | 'boolean'
  | 'string'
  | 'number'
  | 'positive'
  | 'count'
  | 'names'
  | 'types'
  | 'pattern'
  | 'anchor'
  | 'id'
  | 'schema'
  | 'schemas'
  | 'schemaOrSchemas'
  | 'schemaMap'
  | 'patternMap'
  | 'namesMap'
  | 'dependencies';

/** Where the subschemas of a keyword apply: at the same place in the value, or at its members. */
export type KeywordPlace = 'here' | 'members';

export interface Keyword {
  readonly shape: KeywordShape;
  /** Absent for a keyword without a say in whether a value is valid. */
  readonly place?: KeywordPlace;
  readonly since?: SchemaDialect;
  readonly until?: SchemaDialect;
}

const METASCHEMAS: ReadonlyMap<string, SchemaDialect> = new Map([
  ['//json-schema.org/draft/2020-12/schema', '2020-12'],
  ['//json-schema.org/draft/2019-09/schema', '2019-09'],
  ['//json-schema.org/draft-07/schema', 'draft-07'],
  ['//json-schema.org/draft-06/schema', 'draft-06'],
]);

/** The dialect that a `$schema` names, under http or https, with or without its empty fragment. */
export function schemaDialectOf(uri: string): SchemaDialect | undefined {
  return METASCHEMAS.get(uri.replace(/^https?:/, '').replace(/#$/, ''));
}

/** The keywords of a dialect. Whatever is not among them is ignored in a schema. */
export function keywordsOf(dialect: SchemaDialect): ReadonlyMap<string, Keyword> {
  let keywords = tables.get(dialect);
  if (keywords === undefined) {
    const rank = rankOf(dialect);
    keywords = new Map(
      KEYWORDS.filter(
        ([, { since, until }]) =>
          (since === undefined || rankOf(since) >= rank) && (until === undefined || rankOf(until) <= rank),
      ),
    );
    tables.set(dialect, keywords);
  }
  return keywords;
}

/** True for the dialects in which nothing that stands beside a `$ref` counts. */
export function refStandsAlone(dialect: SchemaDialect): boolean {
  return dialect === 'draft-07' || dialect === 'draft-06';
}

/** What a value should have been for its shape, or nothing when it is. Subschemas are left to the caller. */
export function shapeFault(shape: KeywordShape, value: unknown): string | undefined {
  switch (shape) {
    case 'any':
    case 'schema':
      return undefined;
    case 'schemaOrSchemas':
      return Array.isArray(value) && value.length === 0 ? 'a schema or an array of at least one' : undefined;
    case 'array':
      return Array.isArray(value) ? undefined : 'an array';
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'a boolean';
    case 'string':
    case 'pattern':
      return typeof value === 'string' ? undefined : 'a string';
    case 'number':
      return Number.isFinite(value) ? undefined : 'a number';
    case 'positive':
      return typeof value === 'number' && value > 0 ? undefined : 'a number above 0';
    case 'count':
      return Number.isInteger(value) && (value as number) >= 0 ? undefined : 'a non-negative integer'; // An integer is a number.
    case 'names':
      return isNames(value) ? undefined : 'an array of unique strings';
    case 'types':
      return isTypes(value) ? undefined : `a type or an array of unique types: ${[...TYPES].join(', ')}`;
    case 'anchor':
      return typeof value === 'string' && ANCHOR.test(value)
        ? undefined
        : 'a name of letters, digits, "-", "." and "_"';
    case 'id':
      return typeof value === 'string' && ID.test(value) ? undefined : 'a URI reference without a fragment';
    case 'schemas':
      return Array.isArray(value) && value.length > 0 ? undefined : 'an array of at least one schema';
    case 'schemaMap':
    case 'patternMap':
    case 'dependencies':
      return isJsonObject(value) ? undefined : 'an object of schemas';
    case 'namesMap':
      return isJsonObject(value) && Object.values(value).every(isNames)
        ? undefined
        : 'an object of arrays of unique strings';
  }
}

const TYPES: ReadonlySet<unknown> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
]);
const ANCHOR = /^[A-Za-z_][-A-Za-z0-9._]*$/;
const ID = /^[^#]*#?$/;

const HERE = { place: 'here' } as const;
const MEMBERS = { place: 'members' } as const;
const FROM_7 = { since: 'draft-07' } as const;
const FROM_2019 = { since: '2019-09' } as const;
const FROM_2020 = { since: '2020-12' } as const;
const ONLY_2019 = { since: '2019-09', until: '2019-09' } as const;
const TO_7 = { until: 'draft-07' } as const;
const TO_2019 = { until: '2019-09' } as const;

const KEYWORDS: readonly (readonly [string, Keyword])[] = [
  ['$schema', { shape: 'string' }],
  ['$id', { shape: 'string', ...TO_7 }],
  ['$id', { shape: 'id', ...FROM_2019 }],
  ['$anchor', { shape: 'anchor', ...FROM_2019 }],
  ['$ref', { shape: 'string', ...HERE }],
  ['$recursiveRef', { shape: 'string', ...HERE, ...ONLY_2019 }],
  ['$recursiveAnchor', { shape: 'boolean', ...ONLY_2019 }],
  ['$dynamicRef', { shape: 'string', ...HERE, ...FROM_2020 }],
  ['$dynamicAnchor', { shape: 'anchor', ...FROM_2020 }],
  ['$defs', { shape: 'schemaMap', ...FROM_2019 }],
  ['definitions', { shape: 'schemaMap' }],
  ['$comment', { shape: 'string', ...FROM_7 }],
  ['title', { shape: 'string' }],
  ['description', { shape: 'string' }],
  ['default', { shape: 'any' }],
  ['examples', { shape: 'array' }],
  ['readOnly', { shape: 'boolean', ...FROM_7 }],
  ['writeOnly', { shape: 'boolean', ...FROM_2019 }],
  ['deprecated', { shape: 'boolean', ...FROM_2019 }],
  ['contentEncoding', { shape: 'string', ...FROM_7 }],
  ['contentMediaType', { shape: 'string', ...FROM_7 }],
  ['contentSchema', { shape: 'schema', ...FROM_2019 }],
  ['type', { shape: 'types', ...HERE }],
  ['const', { shape: 'any', ...HERE }],
  ['enum', { shape: 'array', ...HERE }],
  ['format', { shape: 'string', ...HERE }],
  ['multipleOf', { shape: 'positive', ...HERE }],
  ['minimum', { shape: 'number', ...HERE }],
  ['maximum', { shape: 'number', ...HERE }],
  ['exclusiveMinimum', { shape: 'number', ...HERE }],
  ['exclusiveMaximum', { shape: 'number', ...HERE }],
  ['minLength', { shape: 'count', ...HERE }],
  ['maxLength', { shape: 'count', ...HERE }],
  ['pattern', { shape: 'pattern', ...HERE }],
  ['minItems', { shape: 'count', ...HERE }],
  ['maxItems', { shape: 'count', ...HERE }],
  ['uniqueItems', { shape: 'boolean', ...HERE }],
  ['minContains', { shape: 'count', ...HERE, ...FROM_2019 }],
  ['maxContains', { shape: 'count', ...HERE, ...FROM_2019 }],
  ['minProperties', { shape: 'count', ...HERE }],
  ['maxProperties', { shape: 'count', ...HERE }],
  ['required', { shape: 'names', ...HERE }],
  ['dependentRequired', { shape: 'namesMap', ...HERE, ...FROM_2019 }],
  ['dependentSchemas', { shape: 'schemaMap', ...HERE, ...FROM_2019 }],
  // No keyword of the newer dialects any more, but their metaschemas keep room for it and schemas still rely on it.
  ['dependencies', { shape: 'dependencies', ...HERE }],
  ['allOf', { shape: 'schemas', ...HERE }],
  ['anyOf', { shape: 'schemas', ...HERE }],
  ['oneOf', { shape: 'schemas', ...HERE }],
  ['not', { shape: 'schema', ...HERE }],
  ['if', { shape: 'schema', ...HERE, ...FROM_7 }],
  ['then', { shape: 'schema', ...HERE, ...FROM_7 }],
  ['else', { shape: 'schema', ...HERE, ...FROM_7 }],
  ['properties', { shape: 'schemaMap', ...MEMBERS }],
  ['patternProperties', { shape: 'patternMap', ...MEMBERS }],
  ['additionalProperties', { shape: 'schema', ...MEMBERS }],
  ['propertyNames', { shape: 'schema', ...MEMBERS }],
  ['prefixItems', { shape: 'schemas', ...MEMBERS, ...FROM_2020 }],
  ['items', { shape: 'schemaOrSchemas', ...MEMBERS, ...TO_2019 }],
  ['items', { shape: 'schema', ...MEMBERS, ...FROM_2020 }],
  ['additionalItems', { shape: 'schema', ...MEMBERS, ...TO_2019 }],
  ['contains', { shape: 'schema', ...MEMBERS }],
  ['unevaluatedItems', { shape: 'schema', ...MEMBERS, ...FROM_2019 }],
  ['unevaluatedProperties', { shape: 'schema', ...MEMBERS, ...FROM_2019 }],
];

const tables = new Map<SchemaDialect, ReadonlyMap<string, Keyword>>();

/** 0 is the newest. */
function rankOf(dialect: SchemaDialect): number {
  return SCHEMA_DIALECTS.indexOf(dialect);
}

function isNames(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((name) => typeof name === 'string') &&
    new Set(value).size === value.length
  );
}

function isTypes(value: unknown): boolean {
  if (!Array.isArray(value)) return TYPES.has(value);
  return value.length > 0 && value.every((type) => TYPES.has(type)) && new Set(value).size === value.length;
}
