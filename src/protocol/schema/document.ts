import { isJsonObject, type JsonObject } from '../../jsonrpc/index.ts';
import { schemaFingerprint } from './fingerprint.ts';
import {
  type Keyword,
  keywordsOf,
  refStandsAlone,
  SCHEMA_DIALECTS,
  type SchemaDialect,
  schemaDialectOf,
  shapeFault,
} from './keywords.ts';
import { patternFault } from './pattern.ts';
import { pointerTo, resolvePointer, resolveUri } from './reference.ts';

/** How deep a schema may nest, in levels of JSON: reading, compiling and printing it take stack for each. */
export const MAX_SCHEMA_DEPTH = 128;
/** How many subschemas a schema may have: compiling takes some 0.1 ms for each. */
export const MAX_SUBSCHEMAS = 4_000;
/** How many subschemas one keyword may list: compiled code nests one level for each. */
export const MAX_SCHEMA_BRANCHES = 500;
/** How many JSON values a schema may consist of: the entries of `enum`, `required`, `examples` and the like count. */
export const MAX_SCHEMA_VALUES = 50_000;
/** How many characters the names and strings of a schema may have together: 1 MiB. */
export const MAX_SCHEMA_CHARS = 1024 * 1024;

/** Why a schema cannot be used. */
export interface SchemaFault {
  /** Where in the schema, as a JSON pointer; `""` is the whole schema. */
  path: string;
  /** What is wrong there: the predicate of a sentence. */
  reason: string;
}

/** A part of a schema that has a URI of its own: the document itself, or a subschema with an `$id`. */
export interface SchemaResource {
  readonly uri: string;
  readonly root: JsonObject;
  readonly anchors: Map<string, JsonObject>;
  /** The anchors that a dynamic reference may find; `""` is a `$recursiveAnchor`. */
  readonly dynamicAnchors: Map<string, JsonObject>;
}

/** Where a reference leads. */
export interface SchemaLink {
  /** The keyword that refers: `$ref`, `$dynamicRef` or `$recursiveRef`. */
  readonly keyword: string;
  readonly target: JsonObject | boolean;
  /** Set when the outermost resource in scope that has this dynamic anchor takes precedence over `target`. */
  readonly dynamicAnchor?: string;
}

/** A schema that was found sound, with its references resolved. Nothing outside of it was looked at. */
export interface SchemaDocument {
  readonly dialect: SchemaDialect;
  readonly root: JsonObject | boolean;
  /** Every subschema that is an object, with the resource it belongs to. */
  readonly resources: ReadonlyMap<JsonObject, SchemaResource>;
  /** The references of each subschema that has some. */
  readonly links: ReadonlyMap<JsonObject, readonly SchemaLink[]>;
}

/** Thrown inside this folder only: what leaves it is a {@link SchemaFault} or an error of the package. */
export class SchemaRefused extends Error {
  readonly fault: SchemaFault;

  constructor(fault: SchemaFault) {
    super(fault.reason);
    this.fault = fault;
  }
}

/**
 * Reads a schema of unknown origin: bounds, dialect, the shape of every keyword, patterns, references. References are
 * resolved inside the schema itself; one that leads elsewhere is a fault and is never followed.
 *
 * @throws SchemaRefused when the schema cannot be used.
 */
export function readSchema(schema: unknown): SchemaDocument {
  measure(schema, 0, { values: 0, chars: 0 });
  if (isJsonObject(schema)) return new SchemaReader(schema).read();
  if (typeof schema !== 'boolean') refuse('', 'must be an object or a boolean');
  return { dialect: SCHEMA_DIALECTS[0], root: schema, resources: new Map(), links: new Map() };
}

/** @throws SchemaRefused always. */
export function refuse(path: string, reason: string): never {
  throw new SchemaRefused({ path, reason });
}

/** Counts every JSON value of a schema, so that what comes after needs no bounds of its own. */
function measure(value: unknown, depth: number, total: { values: number; chars: number }): void {
  if (++total.values > MAX_SCHEMA_VALUES) refuse('', `has more than ${MAX_SCHEMA_VALUES} values`);
  if (typeof value === 'string') {
    total.chars += value.length;
  } else if (typeof value === 'object' && value !== null) {
    if (depth === MAX_SCHEMA_DEPTH) refuse('', `is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
    if (Array.isArray(value)) {
      for (const item of value) measure(item, depth + 1, total);
    } else {
      for (const name of Object.keys(value)) {
        // An object, as typeof said.
        const member = (value as JsonObject)[name];
        total.chars += name.length;
        if (member !== undefined) measure(member, depth + 1, total);
      }
    }
  } else if (typeof value !== 'number' && typeof value !== 'boolean' && value !== null) {
    refuse('', `must be JSON: it holds a ${typeof value}`);
  }
  if (total.chars > MAX_SCHEMA_CHARS) refuse('', `has more than ${MAX_SCHEMA_CHARS} characters`);
}

/** The base of a schema without an `$id`. */
const NO_URI = 'schema://document/';
const HALF_CHARACTER = /\p{Surrogate}/u;
const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef']);

interface PendingReference {
  readonly keyword: string;
  readonly reference: string;
  readonly node: JsonObject;
  readonly resource: SchemaResource;
  readonly path: string;
}

class SchemaReader {
  readonly #root: JsonObject;
  readonly #dialect: SchemaDialect;
  readonly #keywords: ReadonlyMap<string, Keyword>;
  readonly #byUri = new Map<string, SchemaResource>();
  readonly #resources = new Map<JsonObject, SchemaResource>();
  readonly #references: PendingReference[] = [];
  readonly #links = new Map<JsonObject, SchemaLink[]>();
  #subschemas = 0;

  constructor(root: JsonObject) {
    this.#root = root;
    this.#dialect = dialectOf(root.$schema);
    this.#keywords = keywordsOf(this.#dialect);
  }

  read(): SchemaDocument {
    const document = this.#addResource(NO_URI, this.#root, '');
    this.#readSchema(this.#root, document, '');
    // Grows while it is walked: a reference may lead to a place that no keyword names as a schema.
    for (const pending of this.#references) this.#resolve(pending);
    if (this.#links.size > 0) this.#refuseCircles();
    return { dialect: this.#dialect, root: this.#root, resources: this.#resources, links: this.#links };
  }

  #readSchema(schema: unknown, outer: SchemaResource, path: string): void {
    if (++this.#subschemas > MAX_SUBSCHEMAS) refuse('', `has more than ${MAX_SUBSCHEMAS} subschemas`);
    if (typeof schema === 'boolean') return;
    if (!isJsonObject(schema)) refuse(path, 'must be a schema: an object or a boolean');
    const resource = this.#enter(schema, outer, path);
    this.#resources.set(schema, resource);
    for (const name of Object.keys(schema)) {
      const keyword = this.#keywords.get(name);
      const value = schema[name];
      if (keyword === undefined || value === undefined) continue;
      const at = pointerTo(path, name);
      const expected = shapeFault(keyword.shape, value);
      if (expected !== undefined) refuse(at, `must be ${expected}`);
      if (REFERENCES.has(name)) {
        // A string, as its shape says.
        this.#references.push({
          keyword: name,
          reference: value as string,
          node: schema,
          resource,
          path: at,
        });
      } else {
        this.#readKeyword(keyword, value, resource, at);
      }
    }
  }

  /** Notes what a subschema can be referred to by, and says which resource it belongs to. */
  #enter(schema: JsonObject, outer: SchemaResource, path: string): SchemaResource {
    const { $schema, $id, $anchor, $dynamicAnchor, $recursiveAnchor } = schema;
    if ($schema !== undefined && dialectOf($schema) !== this.#dialect) {
      refuse(pointerTo(path, '$schema'), `must be the same everywhere: the schema is ${this.#dialect}`);
    }
    const idCounts = typeof $id === 'string' && !(refStandsAlone(this.#dialect) && '$ref' in schema);
    const id = idCounts ? resolveUri(outer.uri, $id) : undefined;
    if (idCounts && id === undefined) refuse(pointerTo(path, '$id'), 'must be a URI reference');
    const resource =
      id === undefined || id.uri === outer.uri ? outer : this.#addResource(id.uri, schema, path);
    if (id !== undefined && id.fragment !== '') this.#addAnchor(resource.anchors, id.fragment, schema, path);
    if (this.#keywords.has('$anchor') && typeof $anchor === 'string') {
      this.#addAnchor(resource.anchors, $anchor, schema, path);
    }
    if (this.#keywords.has('$dynamicAnchor') && typeof $dynamicAnchor === 'string') {
      this.#addAnchor(resource.anchors, $dynamicAnchor, schema, path);
      resource.dynamicAnchors.set($dynamicAnchor, schema);
    }
    if (this.#keywords.has('$recursiveAnchor') && $recursiveAnchor === true && schema === resource.root) {
      resource.dynamicAnchors.set('', schema);
    }
    return resource;
  }

  /** Generators inline one named schema many times: the same URI is an ambiguity only for schemas that differ. */
  #addResource(uri: string, root: JsonObject, path: string): SchemaResource {
    const resource = { uri, root, anchors: new Map(), dynamicAnchors: new Map() };
    const known = this.#byUri.get(uri);
    if (known === undefined) this.#byUri.set(uri, resource);
    else if (!isSame(known.root, root)) refuse(path, `has the same $id as another schema: ${quote(uri)}`);
    return resource;
  }

  #addAnchor(anchors: Map<string, JsonObject>, name: string, schema: JsonObject, path: string): void {
    const known = anchors.get(name);
    if (known === undefined) anchors.set(name, schema);
    else if (!isSame(known, schema)) refuse(path, `has the same anchor as another schema: ${quote(name)}`);
  }

  #readKeyword(keyword: Keyword, value: unknown, resource: SchemaResource, path: string): void {
    switch (keyword.shape) {
      case 'schema':
        this.#readSchema(value, resource, path);
        return;
      case 'schemas':
        this.#readEach(keyword, value as unknown[], resource, path); // An array, as its shape says.
        return;
      case 'schemaOrSchemas':
        if (Array.isArray(value)) this.#readEach(keyword, value, resource, path);
        else this.#readSchema(value, resource, path);
        return;
      case 'schemaMap':
      case 'patternMap':
      case 'dependencies':
        this.#readMap(keyword, value as JsonObject, resource, path); // An object, as its shape says.
        return;
      case 'namesMap':
        refuseBranches(Object.keys(value as JsonObject).length, path); // As above.
        return;
      case 'pattern':
        refusePattern(value as string, path); // A string, as its shape says.
    }
  }

  #readEach(keyword: Keyword, schemas: readonly unknown[], resource: SchemaResource, path: string): void {
    if (keyword.place !== undefined) refuseBranches(schemas.length, path);
    schemas.forEach((schema, index) => {
      this.#readSchema(schema, resource, pointerTo(path, index));
    });
  }

  #readMap(keyword: Keyword, schemas: JsonObject, resource: SchemaResource, path: string): void {
    const entries = Object.entries(schemas);
    if (keyword.place !== undefined) refuseBranches(entries.length, path);
    for (const [name, schema] of entries) {
      const at = pointerTo(path, name);
      // The compiler writes names into addresses, which cannot hold half a character.
      if (HALF_CHARACTER.test(name)) refuse(at, 'has half a character in its name');
      if (keyword.shape === 'patternMap') refusePattern(name, at);
      if (keyword.shape === 'dependencies' && Array.isArray(schema)) {
        const expected = shapeFault('names', schema);
        if (expected !== undefined) refuse(at, `must be ${expected}`);
      } else if (schema !== undefined) {
        this.#readSchema(schema, resource, at);
      }
    }
  }

  #resolve({ keyword, reference, node, resource: from, path }: PendingReference): void {
    const to = resolveUri(from.uri, reference);
    const resource = to === undefined ? undefined : this.#byUri.get(to.uri);
    if (to === undefined || resource === undefined) {
      refuse(path, `must lead to a part of this schema; nothing else is fetched: ${quote(reference)}`);
    }
    const isPointer = to.fragment === '' || to.fragment.startsWith('/');
    const target = isPointer ? resolvePointer(resource.root, to.fragment) : resource.anchors.get(to.fragment);
    if (typeof target !== 'boolean' && !isJsonObject(target)) {
      refuse(path, `must lead to a schema: there is none at ${quote(reference)}`);
    }
    if (typeof target !== 'boolean' && !this.#resources.has(target)) {
      this.#readSchema(target, resource, to.fragment);
    }
    const links = this.#links.get(node) ?? [];
    links.push({ keyword, target, ...dynamicAnchorOf(keyword, to.fragment, target, resource) });
    this.#links.set(node, links);
  }

  /** A schema that leads back to itself at the same place in the value would be evaluated without an end. */
  #refuseCircles(): void {
    const done = new Map<JsonObject, boolean>();
    const visit = (schema: unknown): void => {
      if (!isJsonObject(schema) || done.get(schema) === true) return;
      if (done.has(schema)) refuse('', 'refers to itself without an end');
      done.set(schema, false);
      for (const { target, dynamicAnchor } of this.#links.get(schema) ?? []) {
        if (dynamicAnchor === undefined) visit(target);
      }
      if (!(refStandsAlone(this.#dialect) && '$ref' in schema)) this.#inPlace(schema).forEach(visit);
      done.set(schema, true);
    };
    for (const schema of this.#links.keys()) visit(schema);
  }

  #inPlace(schema: JsonObject): unknown[] {
    const found: unknown[] = [];
    for (const [name, value] of Object.entries(schema)) {
      const keyword = this.#keywords.get(name);
      if (keyword?.place !== 'here') continue;
      if (keyword.shape === 'schema') found.push(value);
      else if (keyword.shape === 'schemas')
        found.push(...(value as unknown[])); // Its shape was checked.
      else if (keyword.shape === 'schemaMap' || keyword.shape === 'dependencies') {
        found.push(...Object.values(value as JsonObject)); // As above.
      }
    }
    return found;
  }
}

function dialectOf($schema: unknown): SchemaDialect {
  if ($schema === undefined) return SCHEMA_DIALECTS[0];
  const dialect = typeof $schema === 'string' ? schemaDialectOf($schema) : undefined;
  if (dialect === undefined) {
    const found = typeof $schema === 'string' ? quote($schema) : typeof $schema;
    refuse('/$schema', `must name a supported dialect (${SCHEMA_DIALECTS.join(', ')}): ${found}`);
  }
  return dialect;
}

function dynamicAnchorOf(
  keyword: string,
  fragment: string,
  target: unknown,
  resource: SchemaResource,
): { dynamicAnchor?: string } {
  if (keyword === '$ref' || (keyword === '$recursiveRef' && fragment !== '')) return {};
  return resource.dynamicAnchors.get(fragment) === target ? { dynamicAnchor: fragment } : {};
}

function refuseBranches(count: number, path: string): void {
  if (count > MAX_SCHEMA_BRANCHES)
    refuse(path, `must have at most ${MAX_SCHEMA_BRANCHES} entries: it has ${count}`);
}

function refusePattern(source: string, path: string): void {
  const fault = patternFault(source);
  if (fault !== undefined) refuse(path, `must be a pattern that can be matched safely: ${fault}`);
}

function isSame(a: JsonObject, b: JsonObject): boolean {
  return a === b || schemaFingerprint(a) === schemaFingerprint(b);
}

/** Quotes what a peer wrote, bounded. */
function quote(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}
