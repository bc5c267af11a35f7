import { CharacterSets } from './pattern/characters.ts';
import { PatternMatcher } from './pattern/matcher.ts';
import { compileProgram, MAX_PATTERN_INSTRUCTIONS, programSize } from './pattern/program.ts';
import { isLinear } from './pattern/proof.ts';
import { type PatternNode, PatternRefused, parsePattern } from './pattern/syntax.ts';
import { takeText } from './steps.ts';

/** How long a pattern may be, in characters. */
export const MAX_PATTERN_CHARS = 5_000;

/** A pattern that takes time linear in the length of the text. */
export interface LinearPattern {
  /** @throws StepsExhausted when the validation at hand has used up its steps. */
  test(text: string): boolean;
  /** What tells it from other patterns: the compiler shares those that print the same. */
  toString(): string;
}

/** Why a pattern cannot be matched safely, or nothing. */
export function patternFault(source: string): string | undefined {
  try {
    const pattern = parse(source, 'u');
    if (programSize(pattern.node) > MAX_PATTERN_INSTRUCTIONS) compileParsed(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof PatternRefused) return error.message;
    throw error;
  }
}

/**
 * Makes a pattern that a peer wrote safe to use: with the runtime's own engine where that is known to be linear, else with
 * one that is linear always, though some fifty times slower. A pattern that is well-formed only without the `u` flag, for
 * the sake of a needless backslash, is taken without it.
 *
 * @throws PatternRefused when it cannot be matched safely.
 */
export function compilePattern(source: string, flags = 'u'): LinearPattern {
  return compileParsed(parse(source, flags));
}

interface ParsedPattern {
  readonly expression: RegExp;
  readonly node: PatternNode;
}

function compileParsed({ expression, node }: ParsedPattern): LinearPattern {
  const sets = new CharacterSets(expression.flags);
  const name = String(expression);
  if (!isLinear(node, sets)) {
    const matcher = new PatternMatcher(compileProgram(node), sets, expression.unicode);
    return { test: (text) => matcher.test(text), toString: () => name };
  }
  tryOut(expression);
  return {
    test(text) {
      takeText(text);
      return expression.test(text);
    },
    toString: () => name,
  };
}

/** The runtime compiles an expression when it is first used, and may find it too large then. */
function tryOut(expression: RegExp): void {
  try {
    expression.test('');
  } catch {
    throw new PatternRefused('it is too large');
  }
}

function parse(source: string, flags: string): ParsedPattern {
  if (source.length > MAX_PATTERN_CHARS)
    throw new PatternRefused(`it has more than ${MAX_PATTERN_CHARS} characters`);
  const expression = tryExpression(source, flags) ?? tryExpression(source, flags.replace('u', ''));
  if (expression === undefined) throw new PatternRefused('it is no regular expression');
  return { expression, node: parsePattern(source, expression.unicode) };
}

function tryExpression(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined; // A syntax error: there is no other way to ask.
  }
}
