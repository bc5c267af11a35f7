import { isJsonObject, type JsonObject } from '../../jsonrpc/index.ts';
import type { LoweredSchema } from './lower.ts';

/**
 * Up to how often one place in a value may be looked at before steps are counted: the work is then at most so many times
 * that of reading the value once.
 */
const MAX_UNCOUNTED_VISITS = 32;
/** Recursive schemas that visit each place once or twice settle within this many rounds. */
const MAX_ROUNDS = 8;

/**
 * Tells whether the work of a validation has to be counted: where a schema can visit one place of a value many times,
 * the work may grow with the depth of the value as a power of two, from a schema of a few lines.
 */
export function needsCounting({ schema, nodes }: LoweredSchema): boolean {
  if (typeof schema === 'boolean') return false;
  const visits = new Map<JsonObject, Visits>();
  // Definitions come after what refers to them, and inner nodes too: backwards most numbers are final in one round.
  const inner = [...nodes].reverse();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    let changed = false;
    for (const node of inner) {
      const now = visitsOf(node, schema, visits);
      const before = visits.get(node);
      if (Math.max(now.here, now.below) > MAX_UNCOUNTED_VISITS) return true;
      changed ||= before?.here !== now.here || before.below !== now.below;
      visits.set(node, now);
    }
    if (!changed) return false;
  }
  return true;
}

interface Visits {
  /** How many subschemas look at the place of a node itself. */
  readonly here: number;
  /** How many, at most, look at one place below it. */
  readonly below: number;
}

const NONE: Visits = { here: 0, below: 0 };
const LISTS_HERE = ['allOf', 'anyOf', 'oneOf'] as const;
const SINGLE_HERE = ['not', 'if', 'then', 'else'] as const;
const ALL_MEMBERS = ['additionalProperties', 'unevaluatedProperties', 'propertyNames'] as const;
const ALL_ITEMS = ['items', 'contains', 'unevaluatedItems'] as const;

function visitsOf(node: JsonObject, root: JsonObject, visits: ReadonlyMap<JsonObject, Visits>): Visits {
  let here = 1;
  let inPlaceBelow = 0;
  const addHere = (schema: unknown): void => {
    const found = known(schema, visits);
    here += found.here;
    inPlaceBelow += found.below;
  };
  if (typeof node.$ref === 'string') addHere(referred(node.$ref, root));
  for (const name of LISTS_HERE) for (const schema of listOf(node[name])) addHere(schema);
  for (const name of SINGLE_HERE) addHere(node[name]);
  for (const schema of membersOf(node.dependentSchemas)) addHere(schema);

  const worst = (schema: unknown): number => {
    const found = known(schema, visits);
    return Math.max(found.here, found.below);
  };
  let member = Math.max(0, ...membersOf(node.properties).map(worst));
  for (const schema of membersOf(node.patternProperties)) member += worst(schema);
  for (const name of ALL_MEMBERS) member += worst(node[name]);
  let item = Math.max(0, ...listOf(node.prefixItems).map(worst));
  for (const name of ALL_ITEMS) item += worst(node[name]);
  return { here, below: inPlaceBelow + Math.max(member, item) };
}

function known(schema: unknown, visits: ReadonlyMap<JsonObject, Visits>): Visits {
  return isJsonObject(schema) ? (visits.get(schema) ?? NONE) : NONE;
}

function referred(reference: string, root: JsonObject): unknown {
  if (reference === '#') return root;
  return isJsonObject(root.$defs) ? root.$defs[reference.slice('#/$defs/'.length)] : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function membersOf(value: unknown): unknown[] {
  return isJsonObject(value) ? Object.values(value) : [];
}
