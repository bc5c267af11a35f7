import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const read = (relative: string) =>
  readFileSync(fileURLToPath(new URL(`../${relative}`, import.meta.url)), 'utf8');

const README = read('README.md');
/** A comment that names an example, and the block of code that follows it. */
const SHOWN = /<!-- (examples\/\S+) -->\n```js\n([\s\S]*?)```/g;

describe('README.md', () => {
  const shown = [...README.matchAll(SHOWN)];

  it('shows no code but that of examples', () => {
    expect(shown.length).toBeGreaterThan(0);
    expect(README.match(/```(js|ts)/g)).toHaveLength(shown.length);
  });

  it.each(shown.map(([, name = '', code = '']) => [name, code]))('shows %s as it is', (name, code) => {
    const withoutHead = read(name).replace(/^(\/\/.*\n)+/, '');
    expect(code).toBe(withoutHead);
  });

  it('links to files that exist', () => {
    const links = [...README.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, target = '']) => target);
    expect(links.length).toBeGreaterThan(3);
    for (const link of links) expect(() => read(link), link).not.toThrow();
  });
});
