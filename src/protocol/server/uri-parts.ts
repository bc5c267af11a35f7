/** What an expansion takes; a variable that is undefined or an empty list is left out. */
export type UriValues = { readonly [name: string]: string | readonly string[] | undefined };

/** A variable in an expression. */
export interface TemplateVariable {
  readonly name: string;
  /** `*`: a list, each item on its own. */
  readonly explode: boolean;
  /** `:n`: at most this many characters of the value. */
  readonly maxChars: number | undefined;
}

/** A piece of a template: text as it is, or an expression. */
export type TemplatePart =
  | { readonly text: string }
  | { readonly operator: TemplateOperator; readonly variables: readonly TemplateVariable[] };

/** How the values of an expression are written. */
export interface TemplateOperator {
  /** What precedes the first value. */
  readonly first: string;
  /** What stands between values. */
  readonly separator: string;
  /** Whether values are written with their names; then also what follows the name of an empty value. */
  readonly named: false | { readonly ifEmpty: '' | '=' };
  /** Whether reserved characters and percent-encoded triplets are written as they are. */
  readonly reserved: boolean;
}

/**
 * Cuts a template into text and expressions.
 *
 * @throws TypeError when it is malformed.
 */
export function parseParts(template: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let at = 0;
  while (at < template.length) {
    const open = template.indexOf('{', at);
    const text = template.slice(at, open === -1 ? undefined : open);
    if (text.includes('}')) malformed(template, `"}" at ${at + text.indexOf('}')} closes nothing`);
    if (text !== '') parts.push({ text });
    if (open === -1) break;
    const close = template.indexOf('}', open);
    if (close === -1) malformed(template, `"{" at ${open} is not closed`);
    parts.push(parseExpression(template, template.slice(open + 1, close)));
    at = close + 1;
  }
  return parts;
}

export function expandParts(parts: readonly TemplatePart[], values: UriValues): string {
  return parts.map((part) => ('text' in part ? encode(part.text, true) : expand(part, values))).join('');
}

/** Text as an expansion writes it: characters that a URI cannot have are percent-encoded. */
export function encode(text: string, reserved: boolean): string {
  const wellFormed = text.replace(/\p{Surrogate}/gu, '\ufffd');
  if (!reserved) return encodeURIComponent(wellFormed).replace(/[!'()*]/g, percent);
  const pieces = wellFormed.split(/(%[0-9A-Fa-f]{2})/);
  // Every second piece is a triplet.
  return pieces
    .map((piece, index) =>
      index % 2 === 1 ? piece : encodeURI(piece).replaceAll('%5B', '[').replaceAll('%5D', ']'),
    )
    .join('');
}

/** @throws TypeError always. */
export function malformed(template: string, why: string): never {
  const shown = template.length > 200 ? `${template.slice(0, 200)}…` : template;
  throw new TypeError(`Cannot parse the URI template "${shown}": ${why}`);
}

const PLAIN: TemplateOperator = { first: '', separator: ',', named: false, reserved: false };
const OPERATORS: ReadonlyMap<string, TemplateOperator> = new Map([
  ['+', { ...PLAIN, reserved: true }],
  ['#', { ...PLAIN, first: '#', reserved: true }],
  ['.', { ...PLAIN, first: '.', separator: '.' }],
  ['/', { ...PLAIN, first: '/', separator: '/' }],
  [';', { first: ';', separator: ';', named: { ifEmpty: '' }, reserved: false }],
  ['?', { first: '?', separator: '&', named: { ifEmpty: '=' }, reserved: false }],
  ['&', { first: '&', separator: '&', named: { ifEmpty: '=' }, reserved: false }],
]);
const RESERVED_OPERATORS = '=,!@|';
const VARIABLE =
  /^((?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*)(\*|:[1-9][0-9]{0,3})?$/;

function parseExpression(template: string, expression: string): TemplatePart {
  const sign = expression.slice(0, 1);
  if (sign !== '' && RESERVED_OPERATORS.includes(sign)) {
    malformed(template, `the operator "${sign}" of {${expression}} has no meaning`);
  }
  const operator = OPERATORS.get(sign);
  const names = operator === undefined ? expression : expression.slice(1);
  const variables = names.split(',').map((text) => {
    const [, name, modifier] = VARIABLE.exec(text) ?? [];
    if (name === undefined) {
      malformed(
        template,
        `"${text}" in {${expression}} is no variable: letters, digits, "_" and "." make one`,
      );
    }
    return {
      name,
      explode: modifier === '*',
      maxChars: modifier?.startsWith(':') ? Number(modifier.slice(1)) : undefined,
    };
  });
  return { operator: operator ?? PLAIN, variables };
}

function expand({ operator, variables }: Exclude<TemplatePart, { text: string }>, values: UriValues): string {
  const { first, separator, reserved } = operator;
  const pieces = variables.flatMap(({ name, explode, maxChars }) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) return [];
    if (typeof value === 'string') {
      const text = maxChars === undefined ? value : Array.from(value).slice(0, maxChars).join('');
      return [named(operator, name, encode(text, reserved))];
    }
    const items = value.map((item) => encode(item, reserved));
    if (explode) return items.map((item) => named(operator, name, item));
    return items.length === 0 ? [] : [named(operator, name, items.join(','))];
  });
  return pieces.length === 0 ? '' : first + pieces.join(separator);
}

function named(operator: TemplateOperator, name: string, value: string): string {
  if (operator.named === false) return value;
  return value === '' ? name + operator.named.ifEmpty : `${name}=${value}`;
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
