import type { CharacterSets } from './characters.ts';
import { compileProgram, type PatternProgram } from './program.ts';
import { type PatternNode, PatternRefused } from './syntax.ts';

/**
 * Tells whether the runtime's own engine, which tries one way after the other, is known to take linear time for a pattern. It
 * is when at no place of any text more than a few ways are open. That is counted for all texts at once: a state is how many
 * ways lead to each instruction, and if only few states follow from the first one, there are no others.
 */
export function isLinear(node: PatternNode, sets: CharacterSets): boolean {
  const whole = separateLooks(node);
  if (whole === undefined) return false;
  return whole.every((part) => hasFewWays(part, sets));
}

/** Ways that may be open at one place. */
const MAX_WAYS = 32;
const MAX_STATES = 300;
const MAX_INSTRUCTIONS = 600;
/** How long a match may be that is searched for from every place. */
const MAX_FLOATING_CHARS = 64;

/**
 * What has to be linear on its own: the pattern without its lookaheads, and each of them. Nothing when the pattern starts
 * anew at many places and may go far from there: when it, or a lookahead, is not bound to the start.
 */
function separateLooks(node: PatternNode): PatternNode[] | undefined {
  const parts: PatternNode[] = [];
  const alternatives = node.kind === 'alternatives' ? node.nodes : [node];
  for (const alternative of alternatives) {
    const nodes = alternative.kind === 'sequence' ? alternative.nodes : [alternative];
    const [first] = nodes;
    const anchored = first?.kind === 'boundary' && first.at === 'start';
    if (!anchored && longest(alternative) > MAX_FLOATING_CHARS) return undefined;
    let begins = anchored;
    for (const inner of nodes) {
      if (inner.kind === 'look' && !inner.behind && begins) {
        if (hasLook(inner.node)) return undefined;
        parts.push(inner.node);
      } else if (hasLook(inner)) {
        return undefined;
      }
      begins &&= longest(inner) === 0;
    }
  }
  return [node, ...parts];
}

function hasFewWays(node: PatternNode, sets: CharacterSets): boolean {
  return countsFewWays(node, sets, 'exact') || countsFewWays(node, sets, 'loose');
}

function countsFewWays(node: PatternNode, sets: CharacterSets, counted: 'exact' | 'loose'): boolean {
  let program: PatternProgram;
  try {
    program = compileProgram(node, counted);
  } catch (error) {
    if (error instanceof PatternRefused) return false;
    throw error;
  }
  if (program.length > MAX_INSTRUCTIONS) return false;
  const first = waysFrom(program);
  const begin = first(0);
  if (begin === undefined) return false;
  const kinds = characterKinds(program, sets);
  const states = new Map([[keyOf(begin), begin]]);
  // Grows while it is walked.
  for (const state of states.values()) {
    for (const kind of kinds) {
      const next: Ways = new Map();
      for (const [pc, count] of state) {
        if (!kind.has(pc)) continue;
        const after = first(pc + 1);
        if (after === undefined) return false;
        for (const [to, ways] of after) next.set(to, (next.get(to) ?? 0) + count * ways);
      }
      let total = 0;
      for (const ways of next.values()) total += ways;
      if (total > MAX_WAYS) return false;
      states.set(keyOf(next), next);
      if (states.size > MAX_STATES) return false;
    }
  }
  return true;
}

/** How many ways lead to each instruction that takes a character. */
type Ways = Map<number, number>;

function keyOf(ways: Ways): string {
  return [...ways].sort(([a], [b]) => a - b).join(';');
}

/** The ways from an instruction to the next characters. Nothing when there are endlessly many, or very many. */
function waysFrom(program: PatternProgram): (pc: number) => Ways | undefined {
  const known = new Map<number, Ways | 'open' | undefined>();
  const from = (pc: number): Ways | undefined => {
    if (known.has(pc)) {
      const found = known.get(pc);
      return found === 'open' ? undefined : found;
    }
    known.set(pc, 'open');
    const found = follow(pc);
    known.set(pc, found);
    return found;
  };
  const follow = (pc: number): Ways | undefined => {
    const instruction = program[pc];
    switch (instruction?.op) {
      case 'character':
        return new Map([[pc, 1]]);
      case 'split': {
        const first = from(instruction.first);
        const second = from(instruction.second);
        return first && second && sum(first, second);
      }
      case 'jump':
        return from(instruction.to);
      case 'boundary':
        return from(pc + 1);
      // Whether it holds is left open: both are ways.
      case 'look':
        return from(instruction.to);
      default:
        return new Map();
    }
  };
  return from;
}

function sum(a: Ways, b: Ways): Ways | undefined {
  const total: Ways = new Map(a);
  for (const [pc, ways] of b) {
    const both = (total.get(pc) ?? 0) + ways;
    if (both > MAX_WAYS) return undefined;
    total.set(pc, both);
  }
  return total;
}

/** The kinds of characters that a program tells apart: for each, the instructions that take it. */
function characterKinds(program: PatternProgram, sets: CharacterSets): Set<number>[] {
  const atoms = new Map<string, number[]>();
  program.forEach((instruction, pc) => {
    if (instruction.op !== 'character') return;
    const users = atoms.get(instruction.atom);
    if (users === undefined) atoms.set(instruction.atom, [pc]);
    else users.push(pc);
  });
  const kinds = new Map<string, Set<number>>();
  // 128 stands for all beyond ASCII at once, as if one character were in all the sets that may have some.
  for (let code = 0; code <= 128; code++) {
    const taking = [...atoms].filter(([atom]) => {
      const set = sets.of(atom);
      return code === 128 ? set.mayBeBeyondAscii : set.has(code);
    });
    const key = taking.map(([atom]) => atom).join('\n');
    if (taking.length > 0 && !kinds.has(key)) kinds.set(key, new Set(taking.flatMap(([, users]) => users)));
  }
  return [...kinds.values()];
}

/** The most characters that a match may have. */
function longest(node: PatternNode): number {
  switch (node.kind) {
    case 'character':
      return 1;
    case 'sequence':
      return node.nodes.reduce((total, inner) => total + longest(inner), 0);
    case 'alternatives':
      return Math.max(...node.nodes.map(longest));
    case 'repeat': {
      const once = longest(node.node);
      return once === 0 ? 0 : once * node.max;
    }
    default:
      return 0;
  }
}

function hasLook(node: PatternNode): boolean {
  switch (node.kind) {
    case 'look':
      return true;
    case 'sequence':
    case 'alternatives':
      return node.nodes.some(hasLook);
    case 'repeat':
      return hasLook(node.node);
    default:
      return false;
  }
}
