import fc from 'fast-check';
import { expect } from 'vitest';
import { CharacterSets } from '../../src/protocol/schema/pattern/characters.ts';
import { PatternMatcher } from '../../src/protocol/schema/pattern/matcher.ts';
import { compileProgram, programSize } from '../../src/protocol/schema/pattern/program.ts';
import { parsePattern } from '../../src/protocol/schema/pattern/syntax.ts';
import { resetSteps } from '../../src/protocol/schema/steps.ts';
import { patternSource, patternText } from './patterns.ts';
import { fuzz } from './property.ts';

/** The matcher that is linear by construction finds what the runtime's own engine finds. */
fuzz({
  name: 'pattern-match',
  inputs: fc.tuple(patternSource, fc.array(patternText, { minLength: 4, maxLength: 4 })),
  holds([source, texts]) {
    const node = parsePattern(source, true);
    const program = compileProgram(node);
    expect(program.length).toBe(programSize(node));
    const matcher = new PatternMatcher(program, new CharacterSets('u'), true);
    for (const text of texts) {
      resetSteps();
      expect([source, text, matcher.test(text)]).toEqual([source, text, new RegExp(source, 'u').test(text)]);
    }
  },
});
