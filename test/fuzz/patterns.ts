import fc from 'fast-check';

const atom = fc.constantFrom(
  ...[
    'a',
    'b',
    'c',
    '.',
    '\\d',
    '\\w',
    '[ab]',
    '[^a]',
    '\\W',
    '\\.',
    '-',
    '\\s',
    '[\\]b]',
    '1',
    'é',
    '/',
    '[a-c1]',
  ],
  ...['\\u0061', '\\x62', '\\p{L}', '\\u{1F600}', '😀', '\\ud83d\\ude00', '[^]', '\\cJ', '\\0'],
);
const boundary = fc.constantFrom('\\b', '^', '$');
const quantifier = fc.constantFrom(
  '',
  '',
  '',
  '*',
  '+',
  '?',
  '{2}',
  '{1,3}',
  '{0,2}',
  '{2,}',
  '*?',
  '+?',
  '{1,2}?',
);
const opening = fc.constantFrom('(', '(?:', '(?<name>');
const look = fc.constantFrom('(?=', '(?!', '(?<=', '(?<!');

const { top } = fc.letrec<{ term: string; sequence: string; any: string; top: string }>((tie) => ({
  term: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    { weight: 4, arbitrary: fc.tuple(atom, quantifier).map(([inner, times]) => inner + times) },
    { weight: 1, arbitrary: boundary },
    {
      weight: 3,
      arbitrary: fc
        .tuple(opening, tie('any'), quantifier)
        .map(([open, inner, times]) => `${open}${inner})${times}`),
    },
    { weight: 1, arbitrary: fc.tuple(look, tie('any')).map(([open, inner]) => `${open}${inner})`) },
  ),
  sequence: fc.array(tie('term'), { maxLength: 4 }).map((terms) => terms.join('')),
  any: fc.array(tie('sequence'), { minLength: 1, maxLength: 3 }).map((sequences) => sequences.join('|')),
  top: fc.oneof(
    tie('any'),
    tie('sequence').map((sequence) => `^${sequence}$`),
  ),
}));

/** Sources of regular expressions, short enough for the runtime's own engine to come to an end with short texts. */
export const patternSource = top.filter((source) => {
  if (source.length > 40) return false;
  try {
    new RegExp(source, 'u');
    return true;
  } catch {
    return false; // Two groups of one name, or a quantifier where there may be none.
  }
});

/** Texts of the characters that {@link patternSource} has atoms for. */
export const patternText = fc
  .array(fc.constantFrom('a', 'b', 'c', '1', '-', '.', ' ', 'é', '😀', '\ud83d', '/', '\n', '\0'), {
    maxLength: 7,
  })
  .map((characters) => characters.join(''));
