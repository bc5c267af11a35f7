import { isJsonObject, type JsonObject } from '../jsonrpc/index.ts';
import type { JsonSchema } from '../protocol/index.ts';
import { UsageError } from './usage.ts';

/** The arguments of a tool, as far as they can be read without its schema. */
export type ToolArguments =
  | { from: 'nothing' }
  | { from: 'stdin' }
  | { from: 'json'; value: JsonObject }
  | { from: 'pairs'; pairs: readonly { key: string; text: string }[] };

/** Reads the words after a tool's name. @throws UsageError */
export function parseArguments(words: readonly string[]): ToolArguments {
  const [first] = words;
  if (first === undefined) return { from: 'nothing' };
  if (words.length === 1 && first === '-') return { from: 'stdin' };
  if (words.length === 1 && first.trimStart().startsWith('{')) {
    return { from: 'json', value: parseJsonObject(first, 'The argument') };
  }
  const pairs = words.map((word) => {
    const equals = word.indexOf('=');
    if (equals < 1) {
      throw new UsageError(
        `Cannot read argument ${JSON.stringify(word)}: write key=value, one JSON object, or -`,
      );
    }
    return { key: word.slice(0, equals), text: word.slice(equals + 1) };
  });
  const twice = pairs.find(({ key }, at) => pairs.findIndex((other) => other.key === key) < at);
  if (twice) throw new UsageError(`Argument ${JSON.stringify(twice.key)} is given twice`);
  return { from: 'pairs', pairs };
}

/** @throws UsageError that starts with `what`. */
export function parseJsonObject(text: string, what: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${what} is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isJsonObject(value)) throw new UsageError(`${what} must be a JSON object`);
  return value;
}

/**
 * Gives each value the type that the schema has for it, or leaves it text.
 *
 * @throws UsageError when a value is not of any type that the schema allows.
 */
export function typePairs(
  pairs: readonly { key: string; text: string }[],
  schema: JsonSchema | undefined,
): JsonObject {
  const properties = isJsonObject(schema?.properties) ? schema.properties : {};
  const typed = pairs.map(({ key, text }) => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    return [key, typeValue(key, text, typesOf(property))] as const;
  });
  return Object.fromEntries(typed);
}

/** The first type that fits, text last: everything is text. */
function typeValue(key: string, text: string, types: readonly string[]): unknown {
  if (types.length === 0) return text;
  const parsed = tryJson(text);
  if (parsed !== undefined && types.some((type) => isOfType(parsed.value, type))) return parsed.value;
  if (types.includes('string')) return text;
  throw new UsageError(
    `Argument ${JSON.stringify(key)} must be ${types.join(' or ')}: ${JSON.stringify(text)} is not`,
  );
}

/** The types a property may have; none where the schema does not say. */
export function typesOf(schema: unknown): string[] {
  if (!isJsonObject(schema)) return [];
  const { type } = schema;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.filter((item) => typeof item === 'string');
  const choices = Array.isArray(schema.anyOf) ? schema.anyOf : schema.oneOf;
  return Array.isArray(choices) ? [...new Set(choices.flatMap(typesOf))] : [];
}

function tryJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined; // Text, then: that is one of the things it may be.
  }
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'number':
    case 'boolean':
      return typeof value === type;
    case 'integer':
      return Number.isInteger(value);
    case 'object':
      return isJsonObject(value);
    case 'array':
      return Array.isArray(value);
    case 'null':
      return value === null;
    default:
      return false;
  }
}
