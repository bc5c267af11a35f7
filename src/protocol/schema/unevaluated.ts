import { isJsonObject, type JsonObject } from '../../jsonrpc/index.ts';
import type { LinearPattern } from './pattern.ts';
import { takeSteps } from './steps.ts';

/** What is needed to find out which members of a value a schema has looked at. */
export interface SchemaGraph {
  /** The definition that a reference names. */
  definition(reference: string): JsonObject | undefined;
  /** Whether a value is valid under a definition. */
  accepts(reference: string, value: unknown): boolean;
  pattern(source: string): LinearPattern;
  /** Whether an item that `contains` has found counts as looked at: since 2020-12. */
  readonly containsCounts: boolean;
}

/**
 * The first property that no other keyword of a schema has looked at and that `unevaluatedProperties` does not allow. Which
 * keywords have depends on which alternatives hold, so that these are asked again.
 *
 * @see https://json-schema.org/draft/2020-12/json-schema-core#section-11
 */
export function findUnevaluatedName(
  node: JsonObject,
  value: JsonObject,
  graph: SchemaGraph,
): string | undefined {
  const seen = new Set<string>();
  if (seeNames(node, value, seen, graph, true)) return undefined;
  return Object.keys(value).find(
    (name) => !seen.has(name) && !allows(node.unevaluatedProperties, value[name], graph),
  );
}

/** The index of the first item that no other keyword has looked at and that `unevaluatedItems` does not allow. */
export function findUnevaluatedItem(
  node: JsonObject,
  items: readonly unknown[],
  graph: SchemaGraph,
): number | undefined {
  const seen = new Set<number>();
  if (seeItems(node, items, seen, graph, true)) return undefined;
  const index = items.findIndex((item, at) => !seen.has(at) && !allows(node.unevaluatedItems, item, graph));
  return index === -1 ? undefined : index;
}

/** What it costs to look at a schema here, or to ask for its validity: some microseconds. */
const STEPS_OF_A_LOOK = 10;

/** Notes the properties that a schema, under which the value is valid, looks at. True when it looks at all. */
function seeNames(
  node: JsonObject,
  value: JsonObject,
  seen: Set<string>,
  graph: SchemaGraph,
  isFirst: boolean,
): boolean {
  if (Object.hasOwn(node, 'additionalProperties')) return true;
  if (!isFirst && Object.hasOwn(node, 'unevaluatedProperties')) return true;
  for (const name of namesOf(node.properties)) if (Object.hasOwn(value, name)) seen.add(name);
  for (const source of namesOf(node.patternProperties)) {
    const pattern = graph.pattern(source);
    for (const name of Object.keys(value)) if (pattern.test(name)) seen.add(name);
  }
  return inPlace(node, value, graph).some((inner) => seeNames(inner, value, seen, graph, false));
}

function seeItems(
  node: JsonObject,
  items: readonly unknown[],
  seen: Set<number>,
  graph: SchemaGraph,
  isFirst: boolean,
): boolean {
  if (Object.hasOwn(node, 'items')) return true;
  if (!isFirst && Object.hasOwn(node, 'unevaluatedItems')) return true;
  listOf(node.prefixItems).forEach((_, index) => {
    seen.add(index);
  });
  if (graph.containsCounts && node.contains !== undefined) {
    items.forEach((item, index) => {
      if (allows(node.contains, item, graph)) seen.add(index);
    });
  }
  return inPlace(node, items, graph).some((inner) => seeItems(inner, items, seen, graph, false));
}

/** The subschemas for the same place that count, because the value is valid under them. */
function inPlace(node: JsonObject, value: unknown, graph: SchemaGraph): JsonObject[] {
  takeSteps(STEPS_OF_A_LOOK);
  const found: unknown[] = listOf(node.allOf).slice();
  if (typeof node.$ref === 'string') found.push(graph.definition(node.$ref));
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    for (const branch of listOf(node[keyword])) if (allows(branch, value, graph)) found.push(branch);
  }
  if (node.if !== undefined) {
    const holds = allows(node.if, value, graph);
    if (holds) found.push(node.if);
    found.push(holds ? node.then : node.else);
  }
  if (isJsonObject(node.dependentSchemas) && isJsonObject(value)) {
    for (const name of namesOf(node.dependentSchemas)) {
      if (Object.hasOwn(value, name)) found.push(node.dependentSchemas[name]);
    }
  }
  return found.filter(isJsonObject);
}

/** Where validity is asked for, the lowering has made every schema a boolean or a reference. */
function allows(schema: unknown, value: unknown, graph: SchemaGraph): boolean {
  takeSteps(STEPS_OF_A_LOOK);
  if (isJsonObject(schema) && typeof schema.$ref === 'string') return graph.accepts(schema.$ref, value);
  return schema === true;
}

function namesOf(schemas: unknown): string[] {
  return isJsonObject(schemas) ? Object.keys(schemas) : [];
}

function listOf(schemas: unknown): readonly unknown[] {
  return Array.isArray(schemas) ? schemas : [];
}
