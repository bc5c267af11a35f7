import fc from 'fast-check';
import { expect } from 'vitest';
import { CharacterSets } from '../../src/protocol/schema/pattern/characters.ts';
import { compileProgram, type PatternProgram } from '../../src/protocol/schema/pattern/program.ts';
import { isLinear } from '../../src/protocol/schema/pattern/proof.ts';
import { parsePattern } from '../../src/protocol/schema/pattern/syntax.ts';
import { patternSource, patternText } from './patterns.ts';
import { fuzz } from './property.ts';

/** A pattern that is left to an engine that tries one way after the other gives it few ways to try, on any text. */
fuzz({
  name: 'pattern-proof',
  inputs: fc.tuple(patternSource, patternText, patternText, patternText),
  holds([source, head, middle, tail]) {
    const node = parsePattern(source, true);
    const sets = new CharacterSets('u');
    if (!isLinear(node, sets)) return;
    const program = compileProgram(node);
    const text = head + middle.repeat(40) + tail;
    const characters = Array.from(text, (character) => character.codePointAt(0) ?? 0);
    const [first] = program;
    const starts = first?.op === 'boundary' && first.at === 'start' ? 1 : characters.length + 1;
    const bound = 40 * program.length * (starts === 1 ? characters.length + 1 : 80);
    for (let start = 0; start < starts; start++) {
      expect(tries(program, sets, characters, start, bound)).toBeLessThanOrEqual(bound);
    }
  },
});

/** How many instructions are tried when no way is ever good enough, up to a limit. */
function tries(
  program: PatternProgram,
  sets: CharacterSets,
  characters: number[],
  start: number,
  limit: number,
): number {
  let count = 0;
  const open: [pc: number, at: number][] = [[0, start]];
  for (let state = open.pop(); state !== undefined && count <= limit; state = open.pop()) {
    count++;
    const [pc, at] = state;
    const instruction = program[pc];
    const code = characters[at];
    switch (instruction?.op) {
      case 'character':
        if (code !== undefined && sets.of(instruction.atom).has(code)) open.push([pc + 1, at + 1]);
        break;
      case 'split':
        open.push([instruction.second, at], [instruction.first, at]);
        break;
      case 'jump':
        open.push([instruction.to, at]);
        break;
      case 'boundary':
        if (instruction.at !== 'start' || at === 0) open.push([pc + 1, at]);
        break;
      case 'look':
        open.push([instruction.to, at], [pc + 1, at]);
    }
  }
  return count;
}
