import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const DOCS = new URL('../../docs/bridge.md', import.meta.url);
/** A row of the tables: the number of a rule, what it says, and links to its tests. */
const ROW = /^\| ([BP]\d\d) \| .+ \| (.+) \|$/gm;
const LINK = /\]\(([^)]+)\)/g;

const rules = [...readFileSync(DOCS, 'utf8').matchAll(ROW)].map(([, rule = '', tests = '']) => ({
  rule,
  files: [...tests.matchAll(LINK)].map(([, file = '']) => file),
}));

describe('docs/bridge.md', () => {
  it('has each rule once', () => {
    const numbers = rules.map(({ rule }) => rule);
    expect(numbers.length).toBeGreaterThan(10);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it.each(rules)('links $rule to tests whose titles name it', ({ rule, files }) => {
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const source = readFileSync(new URL(file, DOCS), 'utf8');
      expect(source, file).toMatch(new RegExp(`['"\`]${rule} `));
    }
  });
});
