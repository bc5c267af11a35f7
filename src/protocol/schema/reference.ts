import { isJsonObject, type JsonObject } from '../../jsonrpc/index.ts';

/** A URI without its fragment, and the fragment decoded. */
export interface UriReference {
  uri: string;
  fragment: string;
}

/** Resolves a URI reference against a base. Nothing when it cannot be resolved. Never any I/O. */
export function resolveUri(base: string, reference: string): UriReference | undefined {
  if (reference.startsWith('#')) return withFragment(base, reference.slice(1));
  let url: URL;
  try {
    url = new URL(reference, base);
  } catch {
    return undefined; // Not a URI, or relative to a base such as urn: that has no hierarchy.
  }
  const fragment = url.hash.slice(1);
  url.hash = '';
  return withFragment(url.href, fragment);
}

/** The value that a JSON pointer names. Nothing when there is none. */
export function resolvePointer(root: JsonObject, pointer: string): unknown {
  let value: unknown = root;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(value)) value = /^(?:0|[1-9][0-9]*)$/.test(name) ? value[Number(name)] : undefined;
    else if (isJsonObject(value) && Object.hasOwn(value, name)) value = value[name];
    else return undefined;
  }
  return value;
}

/** Appends a name to a JSON pointer. */
export function pointerTo(pointer: string, name: string | number): string {
  if (typeof name === 'number' || !/[~/]/.test(name)) return `${pointer}/${name}`;
  return `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function withFragment(uri: string, encoded: string): UriReference | undefined {
  try {
    return { uri, fragment: decodeURIComponent(encoded) };
  } catch {
    return undefined; // A broken percent-encoding.
  }
}
