import { encode, type TemplateOperator, type TemplatePart, type TemplateVariable } from './uri-parts.ts';

/** The values of a template's variables, in an object without a prototype. A variable with `*` has a list. */
export type UriVariables = Record<string, string | string[]>;

/**
 * A template as a list of instructions. They are run as a nondeterministic automaton, all ways at once, so that no URI makes
 * it go back and try again.
 */
export type UriMatcher = readonly Instruction[];

export interface UriMatch {
  /** Undefined when the URI does not match. */
  readonly variables: UriVariables | undefined;
  /** How often an instruction looked at a place in the URI. */
  readonly steps: number;
}

type Instruction =
  /** Takes one of these texts. */
  | { readonly op: 'text'; readonly texts: readonly string[] }
  /** Takes one character that is none of these. */
  | { readonly op: 'one'; readonly except: string }
  /** Takes any number of characters that are none of these, as many as it can. */
  | { readonly op: 'run'; readonly except: string }
  /** Goes on with the next instruction if that leads to the end, else with that at `to`. */
  | { readonly op: 'try'; to: number }
  /** Goes back to the text at `to` if that leads to the end, else on with the next instruction. */
  | { readonly op: 'repeat'; readonly to: number }
  /** Here begins a value. */
  | { readonly op: 'open' }
  /** Here ends a value. */
  | { readonly op: 'close'; readonly capture: Capture };

type Capture =
  | { readonly variable: TemplateVariable }
  /** Pairs of name and value, as after `?`. */
  | { readonly separator: string; readonly pairs: ReadonlyMap<string, TemplateVariable> };

export function compileMatcher(parts: readonly TemplatePart[]): UriMatcher {
  const program: Instruction[] = [];
  const joined = joinPairs(parts);
  joined.forEach((part, index) => {
    if ('text' in part) {
      program.push({ op: 'text', texts: [...new Set([part.text, encode(part.text, true)])] });
    } else if (part.operator.named) {
      compilePairs(program, part.operator, part.variables);
    } else {
      compileValues(program, part.operator, part.variables, endsOf(joined.slice(index + 1)));
    }
  });
  return program;
}

/** What ends a value because of what follows: where `{.ext}` is next, a dot begins it; behind a `?` all is query. */
function endsOf(rest: readonly TemplatePart[]): string {
  const firsts = rest.map((part) => ('text' in part ? part.text : part.operator.first));
  const [next] = rest;
  const ends = next === undefined || 'text' in next ? '' : next.operator.first;
  return ends + ['?', '#'].filter((sign) => firsts.some((first) => first.includes(sign))).join('');
}

/**
 * Matches a whole URI. First every instruction learns, from the end of the URI to its start, from which places it leads to
 * the end; then one walk takes the preferred way among those.
 */
export function matchUri(program: UriMatcher, uri: string): UriMatch {
  const begin = program[0];
  if (begin?.op === 'text' && !begin.texts.some((text) => uri.startsWith(text)))
    return { variables: undefined, steps: 1 };
  const leads = new Leads(program, uri);
  const variables: UriVariables = Object.create(null);
  let pc = 0;
  let at = 0;
  let start = 0;
  if (!leads.from(pc, at)) return { variables: undefined, steps: leads.steps };
  for (let instruction = program[0]; instruction !== undefined; instruction = program[pc]) {
    const next = pc + 1;
    switch (instruction.op) {
      case 'text': {
        const text = instruction.texts.find(
          (text) => uri.startsWith(text, at) && leads.from(next, at + text.length),
        );
        at += text?.length ?? 0;
        pc = next;
        break;
      }
      case 'one':
        at += unitAt(uri, at);
        pc = next;
        break;
      case 'run': {
        const after = at + unitAt(uri, at);
        if (takes(instruction.except, uri, at) && leads.from(pc, after)) at = after;
        else pc = next;
        break;
      }
      case 'try':
        pc = leads.from(next, at) ? next : instruction.to;
        break;
      case 'repeat':
        pc = leads.from(instruction.to, at) ? instruction.to : next;
        break;
      case 'open':
        start = at;
        pc = next;
        break;
      case 'close':
        if (!keep(variables, instruction.capture, uri.slice(start, at)))
          return { variables: undefined, steps: leads.steps };
        pc = next;
    }
  }
  return { variables, steps: leads.steps };
}

/** From which places of a URI each instruction leads to the end of both. */
class Leads {
  steps = 0;
  readonly #width: number;
  readonly #known: Uint8Array;

  constructor(program: UriMatcher, uri: string) {
    this.#width = program.length + 1;
    this.#known = new Uint8Array(this.#width * (uri.length + 1));
    this.#know(program.length, uri.length, true);
    for (let at = uri.length; at >= 0; at--) {
      // Texts first: they look only at later places, and `repeat` looks back at them.
      for (let pc = program.length - 1; pc >= 0; pc--) {
        const instruction = program[pc];
        if (instruction?.op !== 'text') continue;
        this.#know(
          pc,
          at,
          instruction.texts.some((text) => uri.startsWith(text, at) && this.from(pc + 1, at + text.length)),
        );
      }
      for (let pc = program.length - 1; pc >= 0; pc--) {
        const instruction = program[pc];
        if (instruction === undefined || instruction.op === 'text') continue;
        this.#know(pc, at, this.#leads(instruction, pc, uri, at));
      }
    }
  }

  from(pc: number, at: number): boolean {
    return this.#known[at * this.#width + pc] === 1;
  }

  #leads(instruction: Exclude<Instruction, { op: 'text' }>, pc: number, uri: string, at: number): boolean {
    switch (instruction.op) {
      case 'one':
        return takes(instruction.except, uri, at) && this.from(pc + 1, at + unitAt(uri, at));
      case 'run':
        return (
          this.from(pc + 1, at) || (takes(instruction.except, uri, at) && this.from(pc, at + unitAt(uri, at)))
        );
      case 'try':
      case 'repeat':
        return this.from(pc + 1, at) || this.from(instruction.to, at);
      case 'open':
      case 'close':
        return this.from(pc + 1, at);
    }
  }

  #know(pc: number, at: number, leads: boolean): void {
    this.steps++;
    if (leads) this.#known[at * this.#width + pc] = 1;
  }
}

/** Characters that end a value in a place where they are not written as they are. */
const PATH_ENDS = '/?#';

/** Values without names: all but the first may be missing, and a variable with `*` repeats. */
function compileValues(
  program: Instruction[],
  operator: TemplateOperator,
  variables: readonly TemplateVariable[],
  ends: string,
): void {
  const { first, separator, reserved } = operator;
  const isList = variables.length > 1 || variables.some(({ explode }) => explode);
  const except = (reserved ? '' : PATH_ENDS) + (isList ? separator : '') + ends;
  const exits: { op: 'try'; to: number }[] = [];
  const mayEnd = (): void => {
    const exit = { op: 'try' as const, to: 0 };
    exits.push(exit);
    program.push(exit);
  };
  variables.forEach((variable, index) => {
    // Without a character in front of it, the absence of all values cannot be told from an empty first one.
    if (index > 0 || first !== '') mayEnd();
    const prefix = index === 0 ? first : separator;
    if (prefix !== '') program.push({ op: 'text', texts: [prefix] });
    program.push({ op: 'open' });
    if (index === 0 && first === '') program.push({ op: 'one', except });
    program.push({ op: 'run', except }, { op: 'close', capture: { variable } });
    if (!variable.explode) return;
    const skip = { op: 'try' as const, to: 0 };
    program.push(skip);
    const again = program.length;
    program.push({ op: 'text', texts: [separator] }, { op: 'open' }, { op: 'run', except });
    program.push({ op: 'close', capture: { variable } }, { op: 'repeat', to: again });
    skip.to = program.length;
  });
  for (const exit of exits) exit.to = program.length;
}

function compilePairs(
  program: Instruction[],
  operator: TemplateOperator,
  variables: readonly TemplateVariable[],
): void {
  const pairs = new Map(variables.map((variable) => [variable.name, variable]));
  const { first, separator } = operator;
  const except = separator === '&' ? '#' : PATH_ENDS;
  const length = program.length;
  program.push({ op: 'try', to: length + 5 }, { op: 'text', texts: [first] }, { op: 'open' });
  program.push({ op: 'run', except }, { op: 'close', capture: { separator, pairs } });
}

/** `{?a}{&b}` is one query: its parameters come in any order. */
function joinPairs(parts: readonly TemplatePart[]): TemplatePart[] {
  const joined: TemplatePart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const continues =
      last !== undefined &&
      !('text' in last) &&
      !('text' in part) &&
      part.operator.named &&
      last.operator.named;
    if (continues && part.operator.first === last.operator.separator) {
      joined[joined.length - 1] = {
        operator: last.operator,
        variables: [...last.variables, ...part.variables],
      };
    } else {
      joined.push(part);
    }
  }
  return joined;
}

function keep(variables: UriVariables, capture: Capture, text: string): boolean {
  if ('variable' in capture) return keepValue(variables, capture.variable, text);
  return text.split(capture.separator).every((pair) => {
    const equals = pair.indexOf('=');
    const variable = capture.pairs.get(equals === -1 ? pair : pair.slice(0, equals));
    return (
      variable !== undefined && keepValue(variables, variable, equals === -1 ? '' : pair.slice(equals + 1))
    );
  });
}

/** False when a value is no percent-encoded text, longer than its variable may be, or a second one. */
function keepValue(
  variables: UriVariables,
  { name, explode, maxChars }: TemplateVariable,
  encoded: string,
): boolean {
  let value: string;
  try {
    value = decodeURIComponent(encoded);
  } catch {
    return false;
  }
  if (maxChars !== undefined && value.length > maxChars && Array.from(value).length > maxChars) return false;
  const known = variables[name];
  if (!explode) {
    variables[name] = value;
    return known === undefined;
  }
  if (Array.isArray(known)) known.push(value);
  else variables[name] = [value];
  return true;
}

function takes(except: string, uri: string, at: number): boolean {
  const character = uri[at];
  return character !== undefined && !except.includes(character);
}

/** The length of the character at a place: a percent-encoded triplet is one. */
function unitAt(uri: string, at: number): number {
  return uri[at] === '%' && /^[0-9A-Fa-f]{2}$/.test(uri.slice(at + 1, at + 3)) ? 3 : 1;
}
