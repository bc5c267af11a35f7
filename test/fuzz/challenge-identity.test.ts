import fc from 'fast-check';
import { expect } from 'vitest';
import { parseChallenges } from '../../src/protocol/auth/www-authenticate.ts';
import { fuzz } from './property.ts';

const token = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,12}$/);
const value = fc.string({ maxLength: 20, unit: fc.constantFrom(...' \t",=\\ab:/?é') });
const space = fc.constantFrom(' ', '  ', '\t');

/** Challenges that are written down, in any of the ways that there are, are read as they were, and noise ends nothing. */
fuzz({
  name: 'challenge-identity',
  inputs: fc.record({
    challenges: fc.array(
      fc.record({
        scheme: token,
        params: fc.uniqueArray(fc.record({ name: token, value, isToken: fc.boolean(), token }), {
          maxLength: 4,
          selector: ({ name }) => name.toLowerCase(),
        }),
      }),
      { maxLength: 4 },
    ),
    space,
    noise: fc.string({ maxLength: 40, unit: fc.constantFrom(...'ab=", \\\t;') }),
  }),
  holds({ challenges, space: gap, noise }) {
    const written = challenges.map(({ scheme, params }) => {
      const list = params.map((param) => {
        const text = param.isToken ? param.token : `"${param.value.replace(/["\\]/g, '\\$&')}"`;
        return `${param.name}${gap}=${gap}${text}`;
      });
      return list.length > 0 ? `${scheme}${gap}${list.join(`${gap},${gap}`)}` : scheme;
    });
    const expected = challenges.map(({ scheme, params }) => ({
      scheme: scheme.toLowerCase(),
      params: new Map(
        params.map((param) => [param.name.toLowerCase(), param.isToken ? param.token : param.value]),
      ),
    }));
    const header = written.join(`${gap},${gap}`);
    expect(parseChallenges({ 'www-authenticate': header })).toStrictEqual(expected);
    expect(parseChallenges({ 'www-authenticate': written })).toStrictEqual(expected);
    const withNoise = parseChallenges({ 'www-authenticate': `${header}${gap},${gap}"${noise}` });
    expect(withNoise.slice(0, expected.length)).toHaveLength(expected.length);
    parseChallenges({ 'www-authenticate': noise });
  },
});
