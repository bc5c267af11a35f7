/** A regular expression as a tree. Groups leave no trace: only whether a text matches is ever asked. */
export type PatternNode =
  /** One character; `atom` is the source that describes it, such as `a`, `\d` or `[^x-z]`. */
  | { readonly kind: 'character'; readonly atom: string }
  | { readonly kind: 'sequence'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'alternatives'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly node: PatternNode; readonly min: number; readonly max: number }
  | { readonly kind: 'boundary'; readonly at: Boundary }
  | {
      readonly kind: 'look';
      readonly node: PatternNode;
      readonly negative: boolean;
      readonly behind: boolean;
    };

export type Boundary = 'start' | 'end' | 'word' | 'noWord';

/** Why a pattern is not accepted. */
export class PatternRefused extends Error {}

/** How deep groups may nest. */
const MAX_GROUP_DEPTH = 100;

/**
 * Parses the source of a regular expression that the runtime has already found well-formed.
 *
 * @throws PatternRefused for what cannot be matched in linear time: references back to a group.
 */
export function parsePattern(source: string, unicode: boolean): PatternNode {
  const parser = new PatternParser(source, unicode);
  return parser.alternatives(0);
}

class PatternParser {
  readonly #source: string;
  readonly #unicode: boolean;
  #at = 0;

  constructor(source: string, unicode: boolean) {
    this.#source = source;
    this.#unicode = unicode;
  }

  /** Reads up to the parenthesis that closes the group, or the end. */
  alternatives(depth: number): PatternNode {
    if (depth > MAX_GROUP_DEPTH) throw new PatternRefused(`its groups nest deeper than ${MAX_GROUP_DEPTH}`);
    const nodes = [this.#sequence(depth)];
    while (this.#take('|')) nodes.push(this.#sequence(depth));
    return nodes.length === 1 ? (nodes[0] as PatternNode) : { kind: 'alternatives', nodes }; // There is one.
  }

  #sequence(depth: number): PatternNode {
    const nodes: PatternNode[] = [];
    while (this.#at < this.#source.length && !this.#sees('|') && !this.#sees(')')) {
      nodes.push(this.#quantified(this.#term(depth)));
    }
    return nodes.length === 1 ? (nodes[0] as PatternNode) : { kind: 'sequence', nodes }; // There is one.
  }

  #term(depth: number): PatternNode {
    if (this.#take('^')) return { kind: 'boundary', at: 'start' };
    if (this.#take('$')) return { kind: 'boundary', at: 'end' };
    if (this.#take('\\b')) return { kind: 'boundary', at: 'word' };
    if (this.#take('\\B')) return { kind: 'boundary', at: 'noWord' };
    const look = LOOKS.find((begin) => this.#take(begin));
    if (look !== undefined) {
      return {
        kind: 'look',
        node: this.#group(depth),
        negative: look.endsWith('!'),
        behind: look.includes('<'),
      };
    }
    if (this.#take('(?:')) return this.#group(depth);
    if (this.#take('(')) {
      if (this.#take('?<')) this.#at = this.#source.indexOf('>', this.#at) + 1;
      return this.#group(depth);
    }
    const start = this.#at;
    this.#skipCharacter();
    return { kind: 'character', atom: this.#source.slice(start, this.#at) };
  }

  #group(depth: number): PatternNode {
    const node = this.alternatives(depth + 1);
    this.#at++;
    return node;
  }

  #quantified(node: PatternNode): PatternNode {
    const [text, min, comma, max] = QUANTIFIER.exec(this.#source.slice(this.#at, this.#at + 40)) ?? [];
    if (text === undefined) return node;
    this.#at += text.length;
    if (min === undefined) {
      return {
        kind: 'repeat',
        node,
        min: text.startsWith('+') ? 1 : 0,
        max: text.startsWith('?') ? 1 : Infinity,
      };
    }
    const least = Number(min);
    return {
      kind: 'repeat',
      node,
      min: least,
      max: comma === undefined ? least : max === '' ? Infinity : Number(max),
    };
  }

  #skipCharacter(): void {
    if (this.#sees('[')) {
      this.#skipClass();
    } else if (this.#sees('\\')) {
      const [text] = (this.#unicode ? ESCAPE : LEGACY_ESCAPE).exec(this.#source.slice(this.#at)) ?? ['\\'];
      if (/^\\[1-9k]/.test(text)) throw new PatternRefused('it refers back to a group');
      this.#at += text.length;
    } else {
      const isPair = this.#unicode && (this.#source.codePointAt(this.#at) ?? 0) > 0xffff;
      this.#at += isPair ? 2 : 1;
    }
  }

  #skipClass(): void {
    for (this.#at++; this.#at < this.#source.length; this.#at++) {
      if (this.#sees('\\')) this.#at++;
      else if (this.#take(']')) return;
    }
  }

  #sees(text: string): boolean {
    return this.#source.startsWith(text, this.#at);
  }

  #take(text: string): boolean {
    const found = this.#sees(text);
    if (found) this.#at += text.length;
    return found;
  }
}

const LOOKS = ['(?=', '(?!', '(?<=', '(?<!'] as const;
const QUANTIFIER = /^(?:[*+?]|\{(\d+)(,)?(\d*)\})\??/;
/** With the u flag: a surrogate pair of two escapes is one character. */
const ESCAPE =
  /^\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|[\s\S])/;
const LEGACY_ESCAPE = /^\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[\s\S])/;
