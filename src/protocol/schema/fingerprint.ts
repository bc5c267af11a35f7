import { isJsonObject } from '../../jsonrpc/index.ts';
import { nodeCrypto } from '../crypto.ts';

/**
 * A short name for the content of a JSON value: equal for values that differ only in the order of their members. The
 * SHA-256 of the value's canonical text, in base64url.
 *
 * @throws RangeError when the value is nested too deeply, as one with a cycle is.
 */
export function schemaFingerprint(value: unknown): string {
  return nodeCrypto().createHash('sha256').update(stableText(value)).digest('base64url');
}

/** The canonical text of a JSON value: what `JSON.stringify` writes, with the members sorted by name. */
export function stableText(value: unknown): string {
  // `undefined` has no text.
  return textOf(value) ?? '';
}

/** Undefined for what `JSON.stringify` leaves out: `undefined` and functions. */
function textOf(given: unknown): string | undefined {
  const value = hasToJson(given) ? given.toJSON() : given;
  if (Array.isArray(value)) return `[${Array.from(value, (item) => textOf(item) ?? 'null').join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  let members = '';
  for (const name of Object.keys(value).sort()) {
    const text = textOf(value[name]);
    if (text === undefined) continue;
    members += `${members && ','}${JSON.stringify(name)}:${text}`;
  }
  return `{${members}}`;
}

function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return (
    typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function'
  );
}
