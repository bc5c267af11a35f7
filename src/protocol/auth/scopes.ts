import { McpError } from '../../jsonrpc/index.ts';

/** The longest list of scopes that is asked for, in characters: a server can make it grow with each challenge. */
export const MAX_SCOPE_CHARS = 8192;

/** What is known of the scopes that an authorization may ask for. */
export interface ScopeSources {
  /** Those that the user of this client wants in any case. */
  readonly wanted: readonly string[] | undefined;
  /** Those that the server's challenge names. */
  readonly demanded: readonly string[] | undefined;
  /** Those that the resource's metadata names. */
  readonly supported: readonly string[] | undefined;
  /** Those that were asked for before, to be kept. */
  readonly previous: readonly string[];
}

/**
 * The scopes to ask for; none means that the parameter is left out.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy
 */
export function selectScopes({ wanted, demanded, supported, previous }: ScopeSources): string[] {
  const named = demanded ?? (previous.length > 0 || wanted ? [] : (supported ?? []));
  const scopes = [...new Set([...previous, ...(wanted ?? []), ...named])];
  if (scopes.join(' ').length > MAX_SCOPE_CHARS) {
    throw new McpError(
      'UNAUTHORIZED',
      `Cannot ask for scopes: there are more than ${MAX_SCOPE_CHARS} characters of them`,
    );
  }
  return scopes;
}

export function coversScopes(held: readonly string[], demanded: readonly string[]): boolean {
  return demanded.every((scope) => held.includes(scope));
}
