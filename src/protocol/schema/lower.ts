import { isJsonObject, type JsonObject } from '../../jsonrpc/index.ts';
import { refuse, type SchemaDocument, type SchemaLink, type SchemaResource } from './document.ts';
import { type Keyword, keywordsOf, refStandsAlone } from './keywords.ts';

/** A keyword of ours, for what `enum` and `const` cannot compare safely or quickly: a list of allowed values. */
export const ENUM_OF_VALUES = 'enumOfValues';
export const CONST_OF_VALUE = 'constOfValue';

/** A schema in the one form that is compiled, whatever its dialect was. */
export interface LoweredSchema {
  /**
   * Draft 2020-12 without identifiers: every `$ref` is `#` or `#/$defs/NAME`, dynamic references are resolved, and
   * nothing but keywords of the schema's own dialect is left.
   */
  readonly schema: JsonObject | boolean;
  /** Every subschema of it that is an object. */
  readonly nodes: readonly JsonObject[];
  /** True when it names members that every object inherits, such as `constructor`. */
  readonly namesInherited: boolean;
  /**
   * Set when it has keywords that depend on what other keywords have looked at: then every schema whose validity they may
   * ask for is a reference. Says whether what `contains` finds counts as looked at.
   */
  readonly unevaluated: false | { readonly containsCounts: boolean };
}

/**
 * Rewrites a schema for the compiler. Each schema that is referred to becomes one definition, once for every meaning that
 * its dynamic references have.
 *
 * @throws SchemaRefused when dynamic references have too many meanings.
 */
export function lowerSchema(document: SchemaDocument): LoweredSchema {
  if (typeof document.root === 'boolean') {
    return { schema: document.root, nodes: [], namesInherited: false, unevaluated: false };
  }
  return new Lowering(document).lower(document.root);
}

/** The most levels that one compiled function nests before what is below becomes a function of its own. */
const MAX_NESTING = 200;
/** Dynamic references can multiply a schema: beyond this many subschemas it is refused. */
const MAX_LOWERED = 16_000;

/** What each dynamic anchor means: the outermost resource that was entered decides. */
type DynamicScope = ReadonlyMap<string, JsonObject>;

const INHERITED: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype));
const UNEVALUATED = ['unevaluatedItems', 'unevaluatedProperties'] as const;
const EMPTY_SCOPE: DynamicScope = new Map();
/** Enough for typical lists, which are then compared in line. */
const MAX_INLINE_ENUM = 32;

interface Definition {
  readonly name: string;
  readonly schema: JsonObject;
  readonly scope: DynamicScope;
}

class Lowering {
  readonly #document: SchemaDocument;
  readonly #keywords: ReadonlyMap<string, Keyword>;
  readonly #targets = new Set<JsonObject>();
  readonly #isDynamic: boolean;
  readonly #scopes = new Map<string, DynamicScope>();
  readonly #definitions = new Map<JsonObject, Map<DynamicScope, string>>();
  readonly #pending: Definition[] = [];
  readonly #nodes: JsonObject[] = [];
  readonly #ids = new Map<JsonObject, number>();
  readonly #unevaluated: boolean;
  #namesInherited = false;

  constructor(document: SchemaDocument) {
    this.#document = document;
    this.#keywords = keywordsOf(document.dialect);
    let isDynamic = false;
    for (const links of document.links.values()) {
      for (const { target, dynamicAnchor } of links) {
        if (typeof target !== 'boolean') this.#targets.add(target);
        isDynamic ||= dynamicAnchor !== undefined;
      }
    }
    this.#isDynamic = isDynamic;
    const looksBack = UNEVALUATED.filter((name) => this.#keywords.has(name));
    this.#unevaluated = [...document.resources.keys()].some((schema) =>
      looksBack.some((name) => Object.hasOwn(schema, name)),
    );
  }

  lower(root: JsonObject): LoweredSchema {
    const scope = this.#enter(EMPTY_SCOPE, root);
    this.#definitions.set(root, new Map([[scope, '#']]));
    const schema = this.#body(root, scope, 0);
    const definitions: JsonObject = {};
    // Grows while it is walked.
    for (const pending of this.#pending)
      definitions[pending.name] = this.#body(pending.schema, pending.scope, 0);
    if (this.#pending.length > 0) schema.$defs = definitions;
    return {
      schema,
      nodes: this.#nodes,
      namesInherited: this.#namesInherited,
      unevaluated: this.#unevaluated && { containsCounts: this.#document.dialect === '2020-12' },
    };
  }

  #lowerNode(schema: unknown, outer: DynamicScope, nesting: number): JsonObject | boolean {
    if (!isJsonObject(schema)) return schema === true;
    const scope = this.#enter(outer, schema);
    if (this.#targets.has(schema) || nesting > MAX_NESTING)
      return this.#node({ $ref: this.#define(schema, scope) });
    return this.#body(schema, scope, nesting);
  }

  #node(node: JsonObject): JsonObject {
    if (this.#nodes.push(node) > MAX_LOWERED) refuse('', 'has dynamic references with too many meanings');
    return node;
  }

  /** The reference to the definition of a schema in a scope, which is made when it is not there yet. */
  #define(schema: JsonObject, scope: DynamicScope): string {
    // The compiler compiles what an alias leads to once for each alias.
    const meant = this.#targetOfAlias(schema, scope);
    if (meant !== undefined) return this.#define(meant, this.#enter(scope, meant));
    let byScope = this.#definitions.get(schema);
    if (byScope === undefined) {
      byScope = new Map();
      this.#definitions.set(schema, byScope);
    }
    let reference = byScope.get(scope);
    if (reference === undefined) {
      const name = `d${this.#pending.length}`;
      reference = `#/$defs/${name}`;
      byScope.set(scope, reference);
      this.#pending.push({ name, schema, scope });
    }
    return reference;
  }

  /** Where a schema leads that is nothing but a reference to another one. */
  #targetOfAlias(schema: JsonObject, scope: DynamicScope): JsonObject | undefined {
    const [link, second] = this.#document.links.get(schema) ?? [];
    if (link === undefined || second !== undefined) return undefined;
    const standsAlone =
      refStandsAlone(this.#document.dialect) ||
      Object.keys(schema).every(
        (name) => name === link.keyword || this.#keywords.get(name)?.place === undefined,
      );
    const target = this.#targetOf(link, scope);
    return standsAlone && typeof target !== 'boolean' ? target : undefined;
  }

  #targetOf({ target, dynamicAnchor }: SchemaLink, scope: DynamicScope): JsonObject | boolean {
    return (dynamicAnchor === undefined ? undefined : scope.get(dynamicAnchor)) ?? target;
  }

  #enter(scope: DynamicScope, schema: JsonObject): DynamicScope {
    const resource = this.#isDynamic ? this.#document.resources.get(schema) : undefined;
    return resource === undefined ? EMPTY_SCOPE : this.#enterResource(scope, resource);
  }

  #enterResource(scope: DynamicScope, { dynamicAnchors }: SchemaResource): DynamicScope {
    const entered = new Map([...dynamicAnchors, ...scope]);
    const key = [...entered].map(([name, schema]) => `${name} ${this.#idOf(schema)}`).sort();
    const text = key.join('\n');
    const known = this.#scopes.get(text);
    if (known !== undefined) return known;
    this.#scopes.set(text, entered);
    return entered;
  }

  #idOf(schema: JsonObject): number {
    let id = this.#ids.get(schema);
    if (id === undefined) {
      id = this.#ids.size;
      this.#ids.set(schema, id);
    }
    return id;
  }

  #body(schema: JsonObject, scope: DynamicScope, nesting: number): JsonObject {
    const node = this.#node({});
    const links = this.#document.links.get(schema) ?? [];
    for (const link of links) this.#refer(node, this.#targetOf(link, scope), scope);
    if (links.length > 0 && refStandsAlone(this.#document.dialect)) return node;
    for (const [name, value] of Object.entries(schema)) {
      const keyword = this.#keywords.get(name);
      if (keyword?.place === undefined || value === undefined) continue;
      this.#lowerKeyword(node, name, keyword, value, { schema, scope, nesting });
    }
    return node;
  }

  #refer(node: JsonObject, target: JsonObject | boolean, scope: DynamicScope): void {
    if (typeof target === 'boolean') {
      if (!target) conjoin(node, false);
      return;
    }
    const reference = this.#define(target, this.#enter(scope, target));
    if (node.$ref === undefined) node.$ref = reference;
    else conjoin(node, this.#node({ $ref: reference }));
  }

  // One case for each keyword that is not compiled as it stands. The casts are sound: every shape was checked.
  #lowerKeyword(node: JsonObject, name: string, keyword: Keyword, value: unknown, place: Place): void {
    switch (name) {
      case '$ref':
      case '$dynamicRef':
      case '$recursiveRef':
      case 'additionalItems':
        return;
      case 'const':
        if (isScalar(value)) node.const = value;
        else node[CONST_OF_VALUE] = [value];
        return;
      case 'enum':
        if (isShortEnum(value as unknown[])) node.enum = value;
        else node[ENUM_OF_VALUES] = value;
        return;
      case 'anyOf':
      case 'oneOf':
        node[name] = (value as unknown[]).map((schema, index) => this.#lowerAsked(schema, index + 1, place));
        return;
      case 'if':
      case 'contains':
      case 'unevaluatedItems':
      case 'unevaluatedProperties':
        node[name] = this.#lowerAsked(value, 1, place);
        return;
      case 'allOf':
        for (const schema of this.#lowerEach(value as unknown[], place)) conjoin(node, schema);
        return;
      case 'items':
        this.#lowerItems(node, value, place);
        return;
      case 'properties':
      case 'patternProperties':
        this.#lowerProperties(node, name, value as JsonObject, place);
        return;
      case 'required':
        (value as string[]).forEach(this.#noteName, this);
        node.required = value;
        return;
      case 'dependencies':
      case 'dependentRequired':
      case 'dependentSchemas':
        this.#lowerDependencies(node, value as JsonObject, place);
        return;
      default:
        if (keyword.shape === 'schema') node[name] = this.#lowerNode(value, place.scope, place.nesting + 1);
        else if (keyword.shape === 'schemas') node[name] = this.#lowerEach(value as unknown[], place);
        else node[name] = value;
    }
  }

  /** A schema whose validity may be asked for on its own. */
  #lowerAsked(schema: unknown, deeper: number, { scope, nesting }: Place): JsonObject | boolean {
    if (!this.#unevaluated || !isJsonObject(schema)) return this.#lowerNode(schema, scope, nesting + deeper);
    return this.#node({ $ref: this.#define(schema, this.#enter(scope, schema)) });
  }

  #lowerEach(schemas: readonly unknown[], { scope, nesting }: Place): (JsonObject | boolean)[] {
    return schemas.map((schema, index) => this.#lowerNode(schema, scope, nesting + index + 1));
  }

  #lowerItems(node: JsonObject, items: unknown, place: Place): void {
    if (!Array.isArray(items)) {
      node.items = this.#lowerNode(items, place.scope, place.nesting + 1);
      return;
    }
    node.prefixItems = this.#lowerEach(items, place);
    const { additionalItems } = place.schema;
    if (additionalItems !== undefined) {
      node.items = this.#lowerNode(additionalItems, place.scope, place.nesting + items.length + 1);
    }
  }

  #lowerProperties(node: JsonObject, keyword: string, schemas: JsonObject, place: Place): void {
    let nesting = place.nesting;
    for (const [name, schema] of Object.entries(schemas)) {
      if (schema === undefined) continue;
      nesting++;
      const lowered = this.#lowerNode(schema, place.scope, nesting);
      if (keyword === 'properties') this.#noteName(name);
      // The compiler passes over this one name, in both keywords; as a pattern it is written so that it does not.
      if (name === '__proto__') {
        memberMap(node, 'patternProperties')[keyword === 'properties' ? '^__proto__$' : '(?:__proto__)'] =
          lowered;
      } else {
        memberMap(node, keyword)[name] = lowered;
      }
    }
  }

  #lowerDependencies(node: JsonObject, dependencies: JsonObject, place: Place): void {
    let nesting = place.nesting;
    for (const [name, dependency] of Object.entries(dependencies)) {
      if (dependency === undefined) continue;
      nesting++;
      this.#noteName(name);
      const names = Array.isArray(dependency) ? dependency : undefined;
      names?.forEach(this.#noteName, this);
      const then = names === undefined ? this.#lowerNode(dependency, place.scope, nesting) : undefined;
      if (name === '__proto__') {
        // The compiler passes over this one name.
        const lacks = this.#node({ not: this.#node({ required: [name] }) });
        conjoin(node, this.#node({ anyOf: [lacks, then ?? this.#node({ required: names })] }));
      } else if (then !== undefined) {
        memberMap(node, 'dependentSchemas')[name] = then;
      } else {
        memberMap(node, 'dependentRequired')[name] = names;
      }
    }
  }

  #noteName(name: string): void {
    this.#namesInherited ||= INHERITED.has(name);
  }
}

/** Where a keyword stands: its schema, what dynamic references mean there, and how deep the compiled code nests. */
interface Place {
  readonly schema: JsonObject;
  readonly scope: DynamicScope;
  readonly nesting: number;
}

/** Demands that a value also match `schema`. */
function conjoin(node: JsonObject, schema: JsonObject | boolean): void {
  if (Array.isArray(node.allOf)) node.allOf.push(schema);
  else node.allOf = [schema];
}

function memberMap(node: JsonObject, keyword: string): JsonObject {
  const known = node[keyword];
  if (isJsonObject(known)) return known;
  const made: JsonObject = {};
  node[keyword] = made;
  return made;
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function isShortEnum(values: readonly unknown[]): boolean {
  return values.length > 0 && values.length <= MAX_INLINE_ENUM && values.every(isScalar);
}
