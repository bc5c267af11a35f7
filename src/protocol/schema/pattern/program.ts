import type { Boundary, PatternNode } from './syntax.ts';
import { PatternRefused } from './syntax.ts';

/** A regular expression as instructions of a nondeterministic automaton. The first one is at 0. */
export type PatternProgram = readonly PatternInstruction[];

export type PatternInstruction =
  /** Takes one character and goes on with the next instruction. */
  | { readonly op: 'character'; readonly atom: string }
  /** Goes on at two places. */
  | { readonly op: 'split'; readonly first: number; second: number }
  | { readonly op: 'jump'; readonly to: number }
  | { readonly op: 'boundary'; readonly at: Boundary }
  /** Goes on at `to` if what follows in the program, up to its `accept`, matches from here on, or does not. */
  | { readonly op: 'look'; readonly negative: boolean; readonly behind: boolean; to: number }
  | { readonly op: 'accept' };

type RepeatNode = Extract<PatternNode, { kind: 'repeat' }>;

/** How many instructions a pattern may have: counted repetitions are written out. */
export const MAX_PATTERN_INSTRUCTIONS = 10_000;

/**
 * Compiles a pattern.
 *
 * @param counted - `exact` writes counted repetitions out; `loose` takes them for any number, which matches more.
 * @throws PatternRefused when it has more than {@link MAX_PATTERN_INSTRUCTIONS}.
 */
export function compileProgram(node: PatternNode, counted: 'exact' | 'loose' = 'exact'): PatternProgram {
  const program: PatternInstruction[] = [];
  const push = <Instruction extends PatternInstruction>(instruction: Instruction): Instruction => {
    if (program.push(instruction) > MAX_PATTERN_INSTRUCTIONS) throw new PatternRefused('it repeats too much');
    return instruction;
  };
  // Inside of a look behind all is written backwards, to be run from right to left.
  const emit = (node: PatternNode, behind: boolean): void => {
    switch (node.kind) {
      case 'character':
        push({ op: 'character', atom: node.atom });
        return;
      case 'sequence':
        for (const inner of behind ? node.nodes.toReversed() : node.nodes) emit(inner, behind);
        return;
      case 'alternatives':
        emitAlternatives(node.nodes, behind);
        return;
      case 'repeat':
        emitRepeat(node, behind);
        return;
      case 'boundary':
        push({ op: 'boundary', at: node.at });
        return;
      case 'look': {
        const look = push({ op: 'look', negative: node.negative, behind: node.behind, to: 0 });
        emit(node.node, node.behind);
        push({ op: 'accept' });
        look.to = program.length;
      }
    }
  };
  const emitAlternatives = (nodes: readonly PatternNode[], behind: boolean): void => {
    const ends: { op: 'jump'; to: number }[] = [];
    nodes.forEach((node, index) => {
      if (index === nodes.length - 1) {
        emit(node, behind);
        return;
      }
      const split = push({ op: 'split', first: program.length + 1, second: 0 });
      emit(node, behind);
      ends.push(push({ op: 'jump', to: 0 }));
      split.second = program.length;
    });
    for (const end of ends) end.to = program.length;
  };
  const emitRepeat = ({ node, min, max }: RepeatNode, behind: boolean): void => {
    const loose = counted === 'loose' && max > 1;
    for (let copy = 0; copy < (loose ? 0 : min); copy++) emit(node, behind);
    if (loose || max === Infinity) {
      const loop = program.length;
      const split = push({ op: 'split', first: loop + 1, second: 0 });
      emit(node, behind);
      push({ op: 'jump', to: loop });
      split.second = program.length;
      return;
    }
    const exits: { second: number }[] = [];
    for (let copy = min; copy < max; copy++) {
      exits.push(push({ op: 'split', first: program.length + 1, second: 0 }));
      emit(node, behind);
    }
    for (const exit of exits) exit.second = program.length;
  };
  emit(node, false);
  push({ op: 'accept' });
  return program;
}

/** How many instructions {@link compileProgram} makes of a pattern. */
export function programSize(node: PatternNode): number {
  return sizeOf(node) + 1;
}

function sizeOf(node: PatternNode): number {
  switch (node.kind) {
    case 'sequence':
      return total(node.nodes);
    case 'alternatives':
      return total(node.nodes) + 2 * (node.nodes.length - 1);
    case 'repeat': {
      const { min, max } = node;
      const size = sizeOf(node.node);
      return max === Infinity ? size * (min + 1) + 2 : size * max + (max - min);
    }
    case 'look':
      return sizeOf(node.node) + 2;
    default:
      return 1;
  }
}

function total(nodes: readonly PatternNode[]): number {
  return nodes.reduce((sum, node) => sum + sizeOf(node), 0);
}
