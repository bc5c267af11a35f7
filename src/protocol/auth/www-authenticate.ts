import type { ReplyHeaders } from '../../transport/index.ts';

/** One challenge of a WWW-Authenticate header. */
export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly params: ReadonlyMap<string, string>;
}

/** What a server wants of a request that it refused, read from all its challenges. */
export interface Demand {
  readonly error: string | undefined;
  readonly description: string | undefined;
  /** The scopes that the request needs; undefined where the server names none. */
  readonly scopes: readonly string[] | undefined;
  readonly resourceMetadata: string | undefined;
  /** Whether the server takes tokens that are bound to a key. */
  readonly takesDpop: boolean;
  /** Whether the server takes plain bearer tokens. */
  readonly takesBearer: boolean;
}

const MAX_HEADER_CHARS = 16 * 1024;
const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y;
const BLANK = /[ \t]*/y;
const COMMAS = /[ \t,]*/y;
const EQUALS = /[ \t]*=[ \t]*/y;
/** Addresses are often sent without the quotes that they need. */
const UNQUOTED = /[^ \t,"]+/y;
const QUOTED = /"((?:[^"\\]|\\.)*)"/y;
/** A token68 value stands alone: neither a comma nor an equals sign with a value follows. */
const TOKEN68 = /[-._~+/0-9A-Za-z]+=*(?=[ \t]*(?:,|$))/y;
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;

/**
 * Reads the challenges of a reply. What cannot be read ends the list: it never throws.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110.html#name-www-authenticate
 */
export function parseChallenges(headers: ReplyHeaders): Challenge[] {
  const header = headers['www-authenticate'];
  if (header === undefined) return [];
  const text = (Array.isArray(header) ? header.join(', ') : header).slice(0, MAX_HEADER_CHARS);
  const reader = new Reader(text);
  const challenges: Challenge[] = [];
  for (let scheme = reader.scheme(); scheme !== undefined; scheme = reader.scheme()) {
    challenges.push({ scheme: scheme.toLowerCase(), params: reader.params() });
  }
  return challenges;
}

/** @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy */
export function readDemand(headers: ReplyHeaders): Demand {
  const challenges = parseChallenges(headers).filter(
    ({ scheme }) => scheme === 'bearer' || scheme === 'dpop',
  );
  const first = (name: string) =>
    challenges.map(({ params }) => params.get(name)).find((value) => value !== undefined);
  const scope = first('scope');
  return {
    error: first('error'),
    description: first('error_description'),
    scopes: scope === undefined ? undefined : parseScopes(scope),
    resourceMetadata: first('resource_metadata'),
    takesDpop: challenges.some(({ scheme }) => scheme === 'dpop'),
    takesBearer: challenges.some(({ scheme }) => scheme === 'bearer'),
  };
}

/** The scopes of a list with spaces, each once; what is no scope is left out. */
export function parseScopes(list: string): string[] {
  return [...new Set(list.split(' ').filter((scope) => SCOPE.test(scope)))];
}

/** Reads on from where it stopped; each step takes time in proportion to what it reads. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The scheme that the next challenge begins with; undefined at the end, or where there is none. */
  scheme(): string | undefined {
    this.#take(COMMAS);
    return this.#take(TOKEN)?.[0];
  }

  /** The parameters behind a scheme. A token68 value, which no scheme of ours has, is passed over. */
  params(): Map<string, string> {
    const params = new Map<string, string>();
    if (!this.#take(BLANK)?.[0]) return params;
    if (this.#take(TOKEN68)) return params;
    for (;;) {
      this.#take(COMMAS);
      const start = this.#at;
      const name = this.#take(TOKEN)?.[0].toLowerCase();
      if (name === undefined || !this.#take(EQUALS)) {
        this.#at = start;
        return params;
      }
      const value = this.#take(QUOTED)?.[1]?.replace(/\\(.)/g, '$1') ?? this.#take(UNQUOTED)?.[0];
      if (value === undefined) {
        this.#at = this.#text.length;
        return params;
      }
      // The first one counts: a parameter must not occur twice.
      if (!params.has(name)) params.set(name, value);
    }
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match) this.#at = pattern.lastIndex;
    return match ?? undefined;
  }
}
