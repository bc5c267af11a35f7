import { describe, expect, it } from 'vitest';
import { parseChallenges, parseScopes, readDemand } from '../../../src/protocol/auth/www-authenticate.ts';

const parse = (header: string | string[]) =>
  parseChallenges({ 'www-authenticate': header }).map(({ scheme, params }) => [
    scheme,
    Object.fromEntries(params),
  ]);

describe('a WWW-Authenticate header', () => {
  it.each<[string, string | string[], unknown]>([
    ['a scheme alone', 'Bearer', [['bearer', {}]]],
    ['quoted values', 'Bearer realm="a, b=c", scope="x y"', [['bearer', { realm: 'a, b=c', scope: 'x y' }]]],
    [
      'any case',
      'BEARER Scope="x", ERROR=invalid_token',
      [['bearer', { scope: 'x', error: 'invalid_token' }]],
    ],
    ['escapes', String.raw`Bearer realm="a \"b\" \\c"`, [['bearer', { realm: 'a "b" \\c' }]]],
    ['odd spaces', 'Bearer   a = "1" ,\t b= 2 ,, c="3"', [['bearer', { a: '1', b: '2', c: '3' }]]],
    [
      'addresses without quotes',
      'Bearer resource_metadata=https://x/y?z=1, a=b',
      [['bearer', { resource_metadata: 'https://x/y?z=1', a: 'b' }]],
    ],
    [
      'several challenges',
      'Basic realm="x", Bearer scope="a", DPoP algs="ES256"',
      [
        ['basic', { realm: 'x' }],
        ['bearer', { scope: 'a' }],
        ['dpop', { algs: 'ES256' }],
      ],
    ],
    [
      'several headers',
      ['Negotiate', 'Bearer scope="a"'],
      [
        ['negotiate', {}],
        ['bearer', { scope: 'a' }],
      ],
    ],
    [
      'a token68 value',
      'Negotiate abc+/def==, Bearer scope=a',
      [
        ['negotiate', {}],
        ['bearer', { scope: 'a' }],
      ],
    ],
    [
      'schemes in a row',
      'Negotiate, Basic, Bearer',
      [
        ['negotiate', {}],
        ['basic', {}],
        ['bearer', {}],
      ],
    ],
    ['a parameter that comes twice', 'Bearer scope="a", scope="b"', [['bearer', { scope: 'a' }]]],
    ['a quote that does not end', 'Bearer scope="a', [['bearer', {}]]],
    ['no value', 'Bearer a=b, scope=, error="x"', [['bearer', { a: 'b' }]]],
    ['nonsense', '"", =', []],
    ['nothing', '', []],
  ])('is read with %s', (_, header, expected) => {
    expect(parse(header)).toEqual(expected);
  });

  it.each(['a ', 'a=', '"', '\\', 'a=b,', ' ', 'a="\\', 'ab=\t'])(
    'is read up to a length, whatever it repeats: %j',
    (piece) => {
      const [first] = parse(`Bearer scope="x", ${piece.repeat(100_000)}`);
      expect(first).toMatchObject(['bearer', { scope: 'x' }]);
      const far = parse(`Bearer ${'a=b,'.repeat(20_000)} scope="x"`);
      expect(far[0]).toEqual(['bearer', { a: 'b' }]);
      expect(JSON.stringify(far)).not.toContain('scope');
    },
  );
});

describe('a demand', () => {
  it('puts together what the challenges of both token schemes say', () => {
    const header = 'Basic error="no", DPoP algs="ES256", Bearer error="insufficient_scope", scope="b a b"';
    expect(readDemand({ 'www-authenticate': `${header}, error_description="more"` })).toEqual({
      error: 'insufficient_scope',
      description: 'more',
      scopes: ['b', 'a'],
      resourceMetadata: undefined,
      takesDpop: true,
      takesBearer: true,
    });
  });

  it('is empty where there is none', () => {
    expect(readDemand({})).toMatchObject({ error: undefined, scopes: undefined, takesBearer: false });
  });

  it('keeps only what is a scope', () => {
    expect(parseScopes(`a  b "c" ${'d'.repeat(300)} é a`)).toEqual(['a', 'b']);
  });
});
