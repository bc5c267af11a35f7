import { isJsonObject, type JsonObject } from '../jsonrpc/index.ts';
import { encodeHeaderValue } from './headers.ts';

/** One argument of a tool that is mirrored into a header. */
export interface ParamHeader {
  /** The header's whole name in lower case, for example `mcp-param-region`. */
  readonly header: string;
  /** Where the value stands in the arguments. */
  readonly path: readonly string[];
  readonly type: 'string' | 'integer' | 'boolean';
}

const ANNOTATION = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const MAX_DEPTH = 64;
/** Keywords whose value is data, not a schema: what looks like an annotation there is none. */
const DATA_KEYWORDS: readonly string[] = [
  'default',
  'const',
  'enum',
  'examples',
  'required',
  'type',
  '$comment',
];
/** Keywords whose value holds schemas under names of the author's choice. */
const NAMED_SCHEMAS: readonly string[] = [
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
];

/**
 * Reads which arguments of a tool are mirrored into headers.
 *
 * @returns the headers, or what is wrong with the annotations: then the tool must not be used over HTTP.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#schema-extension
 */
export function readParamHeaders(inputSchema: JsonObject): readonly ParamHeader[] | string {
  const headers: ParamHeader[] = [];
  return walk(inputSchema, [], true, headers) ?? headers;
}

/** The headers for one call. An argument that is absent, null or of another type than declared is not mirrored. */
export function paramHeaders(mirrored: readonly ParamHeader[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, path, type } of mirrored) {
    const value = valueAt(args, path);
    if (fits(value, type)) headers[header] = encodeHeaderValue(String(value));
  }
  return headers;
}

/** The value at a path; undefined where there is none. */
export function valueAt(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

function fits(value: unknown, type: ParamHeader['type']): boolean {
  return type === 'integer' ? Number.isSafeInteger(value) : typeof value === type;
}

/** Collects the annotations below a schema; returns the first fault. */
function walk(
  schema: unknown,
  path: readonly string[],
  reachable: boolean,
  headers: ParamHeader[],
  depth = 0,
): string | undefined {
  if (depth > MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH} levels`;
  if (Array.isArray(schema)) {
    return firstFault(schema, (item) => walk(item, path, false, headers, depth + 1));
  }
  if (!isJsonObject(schema)) return undefined;
  if (ANNOTATION in schema) {
    const fault = annotate(schema, path, reachable, headers);
    if (fault) return fault;
  }
  return firstFault(Object.entries(schema), ([keyword, value]) => {
    if (keyword === ANNOTATION || DATA_KEYWORDS.includes(keyword)) return undefined;
    if (!NAMED_SCHEMAS.includes(keyword) || !isJsonObject(value)) {
      return walk(value, path, false, headers, depth + 1);
    }
    const chained = reachable && keyword === 'properties';
    return firstFault(Object.entries(value), ([name, property]) =>
      walk(property, [...path, name], chained, headers, depth + 1),
    );
  });
}

function annotate(
  schema: JsonObject,
  path: readonly string[],
  reachable: boolean,
  headers: ParamHeader[],
): string | undefined {
  const name = schema[ANNOTATION];
  const at = path.length === 0 ? 'the root' : `"${path.join('.')}"`;
  if (typeof name !== 'string' || !TOKEN.test(name)) {
    return `x-mcp-header of ${at} is no header name: ${JSON.stringify(name)}`;
  }
  if (!reachable || path.length === 0)
    return `x-mcp-header ${JSON.stringify(name)} is not on a plain property`;
  const type = primitiveType(schema.type);
  if (!type)
    return `x-mcp-header of ${at} is on type ${JSON.stringify(schema.type)}: only string, integer and boolean may be`;
  const header = `mcp-param-${name.toLowerCase()}`;
  if (headers.some((other) => other.header === header))
    return `x-mcp-header ${JSON.stringify(name)} comes twice`;
  headers.push({ header, path, type });
  return undefined;
}

function primitiveType(type: unknown): ParamHeader['type'] | undefined {
  const [only, ...others] = Array.isArray(type) ? type.filter((each) => each !== 'null') : [type];
  if (others.length > 0) return undefined;
  return only === 'string' || only === 'integer' || only === 'boolean' ? only : undefined;
}

function firstFault<Item>(
  items: readonly Item[],
  check: (item: Item) => string | undefined,
): string | undefined {
  for (const item of items) {
    const fault = check(item);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
