import type { JsonObject } from '../jsonrpc/index.ts';

// What is said of content that cannot be shown.

/** What a block is known by, the quoted ones first. */
export function named({ name, title, uri }: JsonObject): unknown[] {
  return [
    typeof name === 'string' ? JSON.stringify(name) : undefined,
    typeof title === 'string' && title !== name ? JSON.stringify(title) : undefined,
    uri,
  ];
}

/** What is said of a block whose type has no form here. Only a text is a type; any other value may be of any size. */
export function ofType(type: unknown): string {
  return `content of type ${typeof type === 'string' ? JSON.stringify(type) : 'unknown'}`;
}

/** `what: fact, fact`; facts that are no text, or empty, are left out. */
export function describe(what: string, facts: readonly unknown[]): string {
  const known = facts.filter((fact) => typeof fact === 'string' && fact !== '');
  return known.length === 0 ? what : `${what}: ${known.join(', ')}`;
}

/** How many bytes a Base64 string stands for. */
export function sizeOf(base64: string): string {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return `${Math.max(0, Math.floor((base64.length * 3) / 4) - padding)} bytes`;
}
