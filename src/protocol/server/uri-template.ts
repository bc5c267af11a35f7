import { kindOf, misuse } from '../../jsonrpc/option.ts';
import { compileMatcher, matchUri, type UriMatcher, type UriVariables } from './uri-matcher.ts';
import { expandParts, malformed, parseParts, type UriValues } from './uri-parts.ts';

/** A parsed URI template. */
export interface UriTemplate {
  readonly template: string;
  /** The names of the variables, in the order of their appearance. */
  readonly variables: readonly string[];
  /**
   * Finds the values with which the template gives `uri`. Where there are several answers, variables further left take
   * as much as they can. Query parameters may come in any order, each may be absent. Takes steps linear in the length of
   * the URI, which may be {@link MAX_URI_CHARS} characters.
   *
   * @returns the values, percent-decoded; undefined when there are none.
   */
  match(uri: string): UriVariables | undefined;
  /** Writes the URI that the template gives for some values. */
  expand(values: UriValues): string;
}

/**
 * What a template that is written out has in its variables: a list for each with `*`, a string for any other. Certain to be
 * there is only what stands first in an expression without an operator, or with `+`.
 */
export type TemplateVariables<Template extends string> = string extends Template
  ? UriVariables
  : Template extends `${string}{${infer Expression}}${infer Rest}`
    ? ExpressionVariables<Expression> & TemplateVariables<Rest>
    : unknown;

type ExpressionVariables<Expression extends string> =
  Expression extends `${'#' | '.' | '/' | ';' | '?' | '&'}${infer Names}`
    ? Partial<ValuesOf<Listed<Names>>>
    : Expression extends `+${infer Names}`
      ? FirstOf<Names>
      : FirstOf<Expression>;

type FirstOf<Names extends string> = Names extends `${infer First},${infer Others}`
  ? ValuesOf<First> & Partial<ValuesOf<Listed<Others>>>
  : ValuesOf<Names>;

type Listed<Names extends string> = Names extends `${infer First},${infer Others}`
  ? First | Listed<Others>
  : Names;

type ValuesOf<Written extends string> = {
  [One in Written as NameOf<One>]: One extends `${string}*` ? string[] : string;
};

type NameOf<Written extends string> = Written extends `${infer Name}*` | `${infer Name}:${string}`
  ? Name
  : Written;

/** The longest template that is parsed, in characters. */
export const MAX_TEMPLATE_CHARS = 2_048;
/** The longest URI that is matched, in characters: longer ones match nothing. */
export const MAX_URI_CHARS = 8_192;

/**
 * Parses a URI template of RFC 6570, levels 1 to 4 without associative arrays.
 *
 * @throws TypeError when the template is malformed, names a variable twice or is longer than {@link MAX_TEMPLATE_CHARS}.
 * @see https://www.rfc-editor.org/rfc/rfc6570#section-2
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources#resource-templates
 */
export function parseUriTemplate(template: string): UriTemplate {
  if (typeof template !== 'string') misuse('uriTemplate', 'a string', kindOf(template));
  if (template.length > MAX_TEMPLATE_CHARS) {
    malformed(template, `it has more than ${MAX_TEMPLATE_CHARS} characters`);
  }
  const parts = parseParts(template);
  const variables = parts.flatMap((part) => ('text' in part ? [] : part.variables.map(({ name }) => name)));
  const twice = variables.find((name, index) => variables.indexOf(name) !== index);
  if (twice !== undefined) malformed(template, `it names the variable "${twice}" twice`);
  let matcher: UriMatcher | undefined;
  return {
    template,
    variables,
    match(uri) {
      if (uri.length > MAX_URI_CHARS) return undefined;
      matcher ??= compileMatcher(parts);
      return matchUri(matcher, uri).variables;
    },
    expand: (values) => expandParts(parts, values),
  };
}
