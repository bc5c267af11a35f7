import { takeSteps } from '../steps.ts';
import type { CharacterSet, CharacterSets } from './characters.ts';
import type { PatternProgram } from './program.ts';
import type { Boundary } from './syntax.ts';

/**
 * Runs a pattern as an automaton that takes all ways at once: the time is that of the text times that of the program,
 * whatever they are. Only a look ahead or behind inside of a repetition starts again at every place, and takes its steps for it.
 */
export class PatternMatcher {
  readonly #program: PatternProgram;
  /** What each instruction takes that takes a character. */
  readonly #sets: readonly (CharacterSet | undefined)[];
  readonly #unicode: boolean;
  readonly #anchored: boolean;
  /** How many instructions were followed for which no steps were taken yet. */
  #followed = 0;

  constructor(program: PatternProgram, sets: CharacterSets, unicode: boolean) {
    this.#program = program;
    this.#sets = program.map((instruction) =>
      instruction.op === 'character' ? sets.of(instruction.atom) : undefined,
    );
    this.#unicode = unicode;
    const first = program[0];
    this.#anchored = first?.op === 'boundary' && first.at === 'start';
  }

  /** @throws StepsExhausted when the validation at hand has used up its steps. */
  test(text: string): boolean {
    return this.#run(0, text, 0, this.#anchored ? 'ahead' : 'anywhere');
  }

  /** Whether the program at `start` matches from a place on, to the left or to the right, or from any place behind it. */
  #run(start: number, text: string, from: number, where: 'ahead' | 'behind' | 'anywhere'): boolean {
    // `seen` says at which place an instruction was last reached, so that it is followed once at each.
    const seen = new Int32Array(this.#program.length).fill(-1);
    // Making it takes time as well.
    this.#followed += seen.length >> 6;
    let threads: number[] = [];
    if (this.#follow(start, text, from, seen, threads)) return true;
    let at = from;
    const end = where === 'behind' ? 0 : text.length;
    while (at !== end && (where === 'anywhere' || threads.length > 0)) {
      // Following an instruction takes some 25 nanoseconds, a quarter of a step.
      takeSteps(1 + (this.#followed >> 2));
      this.#followed = 0;
      const code = where === 'behind' ? this.#codeBefore(text, at) : this.#codeAt(text, at);
      const width = code > 0xffff ? 2 : 1;
      at += where === 'behind' ? -width : width;
      const next: number[] = [];
      for (const pc of threads) {
        if (this.#sets[pc]?.has(code) !== true) continue;
        if (this.#follow(pc + 1, text, at, seen, next)) return true;
      }
      if (where === 'anywhere' && this.#follow(start, text, at, seen, next)) return true;
      threads = next;
    }
    return false;
  }

  #codeAt(text: string, at: number): number {
    return (this.#unicode ? text.codePointAt(at) : text.charCodeAt(at)) ?? 0;
  }

  #codeBefore(text: string, at: number): number {
    const pair = this.#unicode && at > 1 ? (text.codePointAt(at - 2) ?? 0) : 0;
    return pair > 0xffff ? pair : text.charCodeAt(at - 1);
  }

  /** Follows all ways that take no character. True when one leads to the end of the pattern. */
  #follow(start: number, text: string, at: number, seen: Int32Array, threads: number[]): boolean {
    const open = [start];
    for (let pc = open.pop(); pc !== undefined; pc = open.pop()) {
      if (seen[pc] === at) continue;
      seen[pc] = at;
      this.#followed++;
      const instruction = this.#program[pc];
      switch (instruction?.op) {
        case undefined:
        case 'accept':
          return true;
        case 'character':
          threads.push(pc);
          break;
        case 'split':
          open.push(instruction.second, instruction.first);
          break;
        case 'jump':
          open.push(instruction.to);
          break;
        case 'boundary':
          if (isBoundary(instruction.at, text, at)) open.push(pc + 1);
          break;
        case 'look': {
          const found = this.#run(pc + 1, text, at, instruction.behind ? 'behind' : 'ahead');
          if (found !== instruction.negative) open.push(instruction.to);
        }
      }
    }
    return false;
  }
}

function isBoundary(boundary: Boundary, text: string, at: number): boolean {
  if (boundary === 'start') return at === 0;
  if (boundary === 'end') return at === text.length;
  return (isWord(text, at - 1) !== isWord(text, at)) === (boundary === 'word');
}

function isWord(text: string, at: number): boolean {
  return /^\w$/.test(text.charAt(at));
}
