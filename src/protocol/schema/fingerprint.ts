import stringify from 'fast-json-stable-stringify';
import { nodeCrypto } from '../crypto.ts';

/**
 * A short name for the content of a JSON value: equal for values that differ only in the order of their members. The
 * SHA-256 of the value's canonical text, in base64url.
 *
 * @throws RangeError when the value is nested too deeply, TypeError when it holds a cycle.
 */
export function schemaFingerprint(value: unknown): string {
  return nodeCrypto().createHash('sha256').update(stableText(value)).digest('base64url');
}

/** The canonical text of a JSON value: what `JSON.stringify` writes, with the members sorted by name. */
export function stableText(value: unknown): string {
  // Sound: the package's types leave out that `undefined` has no text.
  return (stringify(value) as string | undefined) ?? '';
}
