import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileMatcher, matchUri } from '../../../src/protocol/server/uri-matcher.ts';
import { parseParts } from '../../../src/protocol/server/uri-parts.ts';
import {
  MAX_TEMPLATE_CHARS,
  MAX_URI_CHARS,
  parseUriTemplate,
} from '../../../src/protocol/server/uri-template.ts';

/** The values of the examples in RFC 6570, sections 1.2 and 3.2. */
const VALUES = {
  count: ['one', 'two', 'three'],
  dom: ['example', 'com'],
  dub: 'me/too',
  hello: 'Hello World!',
  half: '50%',
  var: 'value',
  who: 'fred',
  base: 'http://example.com/home/',
  path: '/foo/bar',
  list: ['red', 'green', 'blue'],
  v: '6',
  x: '1024',
  y: '768',
  empty: '',
  empty_list: [],
  undef: undefined,
};

function match(template: string, uri: string): unknown {
  const found = parseUriTemplate(template).match(uri);
  return found && { ...found };
}

describe('expanding', () => {
  it.each([
    // Section 3.2.1
    ['{count}', 'one,two,three'],
    ['{count*}', 'one,two,three'],
    ['{/count}', '/one,two,three'],
    ['{/count*}', '/one/two/three'],
    ['{;count}', ';count=one,two,three'],
    ['{;count*}', ';count=one;count=two;count=three'],
    ['{?count}', '?count=one,two,three'],
    ['{?count*}', '?count=one&count=two&count=three'],
    ['{&count*}', '&count=one&count=two&count=three'],
    // Section 3.2.2
    ['{var}', 'value'],
    ['{hello}', 'Hello%20World%21'],
    ['{half}', '50%25'],
    ['O{empty}X', 'OX'],
    ['O{undef}X', 'OX'],
    ['{x,y}', '1024,768'],
    ['{x,hello,y}', '1024,Hello%20World%21,768'],
    ['?{x,empty}', '?1024,'],
    ['?{x,undef}', '?1024'],
    ['?{undef,y}', '?768'],
    ['{var:3}', 'val'],
    ['{var:30}', 'value'],
    ['{list}', 'red,green,blue'],
    ['{list*}', 'red,green,blue'],
    // Section 3.2.3
    ['{+var}', 'value'],
    ['{+hello}', 'Hello%20World!'],
    ['{+half}', '50%25'],
    ['{base}index', 'http%3A%2F%2Fexample.com%2Fhome%2Findex'],
    ['{+base}index', 'http://example.com/home/index'],
    ['O{+empty}X', 'OX'],
    ['{+path}/here', '/foo/bar/here'],
    ['here?ref={+path}', 'here?ref=/foo/bar'],
    ['up{+path}{var}/here', 'up/foo/barvalue/here'],
    ['{+x,hello,y}', '1024,Hello%20World!,768'],
    ['{+path,x}/here', '/foo/bar,1024/here'],
    ['{+path:6}/here', '/foo/b/here'],
    ['{+list*}', 'red,green,blue'],
    // Section 3.2.4
    ['{#var}', '#value'],
    ['{#hello}', '#Hello%20World!'],
    ['foo{#empty}', 'foo#'],
    ['foo{#undef}', 'foo'],
    ['{#x,hello,y}', '#1024,Hello%20World!,768'],
    ['{#path,x}/here', '#/foo/bar,1024/here'],
    ['{#list*}', '#red,green,blue'],
    // Section 3.2.5
    ['{.who}', '.fred'],
    ['{.who,who2}', '.fred'],
    ['{.half}', '.50%25'],
    ['www{.dom*}', 'www.example.com'],
    ['X{.var}', 'X.value'],
    ['X{.empty}', 'X.'],
    ['X{.undef}', 'X'],
    ['X{.var:3}', 'X.val'],
    ['X{.list}', 'X.red,green,blue'],
    ['X{.list*}', 'X.red.green.blue'],
    ['X{.empty_list}', 'X'],
    ['X{.empty_list*}', 'X'],
    // Section 3.2.6
    ['{/who}', '/fred'],
    ['{/half,who}', '/50%25/fred'],
    ['{/who,dub}', '/fred/me%2Ftoo'],
    ['{/var,empty}', '/value/'],
    ['{/var,undef}', '/value'],
    ['{/var,x}/here', '/value/1024/here'],
    ['{/var:1,x}', '/v/1024'],
    ['{/list*,x}', '/red/green/blue/1024'],
    // Section 3.2.7
    ['{;who}', ';who=fred'],
    ['{;half}', ';half=50%25'],
    ['{;empty}', ';empty'],
    ['{;v,empty,who}', ';v=6;empty;who=fred'],
    ['{;v,undef,who}', ';v=6;who=fred'],
    ['{;hello:5}', ';hello=Hello'],
    // Section 3.2.8
    ['{?who}', '?who=fred'],
    ['{?half}', '?half=50%25'],
    ['{?x,y}', '?x=1024&y=768'],
    ['{?x,y,empty}', '?x=1024&y=768&empty='],
    ['{?x,y,undef}', '?x=1024&y=768'],
    ['{?var:3}', '?var=val'],
    // Section 3.2.9
    ['{&who}', '&who=fred'],
    ['?fixed=yes{&x}', '?fixed=yes&x=1024'],
    ['{&x,y,empty}', '&x=1024&y=768&empty='],
    ['{&var:3}', '&var=val'],
  ])('%s gives %s', (template, uri) => {
    expect(parseUriTemplate(template).expand(VALUES)).toBe(uri);
  });

  it('encodes what a URI cannot hold, and never throws', () => {
    expect(parseUriTemplate('ä {+x}{?y}').expand({ x: 'ü[%20%]', y: '\ud800' })).toBe(
      '%C3%A4%20%C3%BC[%20%25]?y=%EF%BF%BD',
    );
  });

  it('minds only own values', () => {
    expect(parseUriTemplate('x{?constructor,__proto__}').expand({})).toBe('x');
  });
});

describe('matching', () => {
  it.each([
    ['file:///logs', 'file:///logs', {}],
    ['file:///logs', 'file:///logs/', undefined],
    ['test://{id}/data', 'test://a%20b/data', { id: 'a b' }],
    ['test://{id}/data', 'test://a b:ü@c/data', { id: 'a b:ü@c' }],
    ['test://{id}/data', 'test:///data', undefined],
    ['test://{id}', 'test://a/b', undefined],
    ['test://{id}', 'test://a?b', undefined],
    ['test://{id}', 'test://a%2Fb', { id: 'a/b' }],
    ['test://{id}', 'test://a%2', undefined],
    ['test://{id}', 'test://%C3', undefined],
    ['geo://{at}', 'geo://52.5,13.4', { at: '52.5,13.4' }],
    ['map://{x,y}', 'map://1024,768', { x: '1024', y: '768' }],
    ['map://{x,y}', 'map://1024', { x: '1024' }],
    ['map://{x,y}', 'map://1024,', { x: '1024', y: '' }],
    ['map://{x,y}', 'map://1,2,3', undefined],
    ['tags://{list*}', 'tags://red,green%2C,blue', { list: ['red', 'green,', 'blue'] }],
    ['tags://{list*}', 'tags://red', { list: ['red'] }],
    ['file:///{+path}', 'file:///a/b%20c.txt', { path: 'a/b c.txt' }],
    ['file:///{+path}', 'file:///', undefined],
    ['file:///{+dir}/{name}.{ext}', 'file:///a/b/c.tar.gz', { dir: 'a/b', name: 'c.tar', ext: 'gz' }],
    ['{a}{b}', 'xyz', { a: 'xy', b: 'z' }],
    ['{+a}-{+b}', '1-2-3', { a: '1-2', b: '3' }],
    ['api{/version,kind}/list', 'api/v1/users/list', { version: 'v1', kind: 'users' }],
    ['api{/version,kind}/list', 'api/list', {}],
    ['api{/a}{/b}', 'api/x/y', { a: 'x', b: 'y' }],
    ['api{/rest*}', 'api/x/y/z', { rest: ['x', 'y', 'z'] }],
    ['api{/rest*}', 'api', {}],
    ['api{/rest*,last}', 'api/x/y', { rest: ['x', 'y'] }],
    ['www{.dom*}', 'www.example.com', { dom: ['example', 'com'] }],
    ['file{.ext}', 'file.tar.gz', { ext: 'tar.gz' }],
    ['file{.ext}', 'file', {}],
    ['{name}{.ext}', 'file.tar.gz', { name: 'file', ext: 'tar.gz' }],
    ['{name}{.ext}', 'file', { name: 'file' }],
    ['{+path}{?q}', 'a/b?q=1', { path: 'a/b', q: '1' }],
    ['{+path}/raw{?q}', 'a/b/raw?q=/raw', { path: 'a/b', q: '/raw' }],
    ['{+path}{#f}', 'a?b#c', { path: 'a?b', f: 'c' }],
    ['{+path}?q={q}', 'a?q=1', { path: 'a', q: '1' }],
    ['{id}{;p}', 'a;p=1', { id: 'a', p: '1' }],
    ['q{?a,b}', 'q?a=1&b=2', { a: '1', b: '2' }],
    ['q{?a,b}', 'q?b=2&a=1', { a: '1', b: '2' }],
    ['q{?a,b}', 'q?b=2', { b: '2' }],
    ['q{?a,b}', 'q', {}],
    ['q{?a,b}', 'q?a=1&c=3', undefined],
    ['q{?a,b}', 'q?a=1&a=2', undefined],
    ['q{?a}', 'q?a=1%262=3', { a: '1&2=3' }],
    ['q{?a}', 'q?a=x=y', { a: 'x=y' }],
    ['q{?a*}', 'q?a=1&a=2', { a: ['1', '2'] }],
    ['q{?a}{&b}', 'q?b=2&a=1', { a: '1', b: '2' }],
    ['q{?a}{#f}', 'q?a=1#x/y', { a: '1', f: 'x/y' }],
    ['q?fixed=1{&a}', 'q?fixed=1&a=2', { a: '2' }],
    ['p{;x,y}/z', 'p;y;x=1/z', { x: '1', y: '' }],
    ['x{#f}', 'x#a,b?c', { f: 'a,b?c' }],
    ['x{:3}', '', 'throws'],
    ['{name:3}', 'abc', { name: 'abc' }],
    ['{name:3}', 'abcd', undefined],
    ['ä/{x}', 'ä/1', { x: '1' }],
    ['ä/{x}', '%C3%A4/1', { x: '1' }],
    ['{a.b}/{c_d}', '1/2', { 'a.b': '1', c_d: '2' }],
  ])('%s on %s', (template, uri, expected) => {
    if (expected === 'throws') expect(() => parseUriTemplate(template)).toThrow(TypeError);
    else expect(match(template, uri)).toEqual(expected);
  });

  it('gives an object without inherited names', () => {
    const found = parseUriTemplate('x://{__proto__}/{constructor}').match('x://a/b');
    expect(found && Object.getPrototypeOf(found)).toBeNull();
    expect(Object.entries(found ?? {})).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
    expect(parseUriTemplate('x://{a}').match('x://b')?.toString).toBeUndefined();
  });

  it('names the variables in their order', () => {
    expect(parseUriTemplate('{b}{/a*}{?c:3,d}').variables).toEqual(['b', 'a', 'c', 'd']);
  });

  it('finds again what was expanded', () => {
    const text = fc.string({ unit: 'grapheme' });
    const some = fc.string({ unit: 'grapheme', minLength: 1 });
    const values = fc.record({
      id: some,
      kind: fc.option(text, { nil: undefined }),
      more: fc.array(text, { minLength: 1 }),
      a: fc.option(text, { nil: undefined }),
      b: fc.option(fc.array(text, { minLength: 1 }), { nil: undefined }),
      f: fc.option(some, { nil: undefined }),
    });
    for (const template of [
      'x://{id}{.kind}/y{/more*}{?a,b*}{#f}',
      'x://y/{id}{;a,b*}{/more*}{?kind}{#f}',
      '{id}{?kind,a,b*}{#f}',
      'x{?b*,id,more*}',
    ]) {
      const parsed = parseUriTemplate(template);
      fc.assert(
        fc.property(values, (given) => {
          // A dot is a character of a value like any other: what stands before ".kind" must not have one.
          if (template.includes('.kind')) given.id = given.id.replaceAll('.', '-') || '-';
          if (template.includes('.kind') && given.kind !== undefined)
            given.kind = given.kind.replaceAll('.', '-');
          const names = parsed.variables.filter((name) => given[name as keyof typeof given] !== undefined);
          const expected = Object.fromEntries(names.map((name) => [name, given[name as keyof typeof given]]));
          const uri = parsed.expand(given);
          expect({ ...parsed.match(uri) }).toEqual(expected);
        }),
        { numRuns: 200 },
      );
    }
  });

  it('never throws, whatever the URI', () => {
    const templates = ['x{a}', '{+a}{b}', '{?a,b*}', '{/a*}{;b}', '{#a}', '{.a,b}'].map(parseUriTemplate);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.constantFrom(...templates), (uri, template) => {
        const found = template.match(uri);
        expect(found === undefined || typeof found === 'object').toBe(true);
      }),
    );
  });
});

describe('malformed templates', () => {
  it.each([
    ['a{b', '"{" at 1 is not closed'],
    ['a}b', '"}" at 1 closes nothing'],
    ['{a{b}}', '"a{b" in {a{b} is no variable'],
    ['{}', '"" in {} is no variable'],
    ['{a,}', '"" in {a,} is no variable'],
    ['{?}', '"" in {?} is no variable'],
    ['{a b}', '"a b" in {a b} is no variable'],
    ['{user-id}', '"user-id" in {user-id} is no variable: letters, digits, "_" and "." make one'],
    ['{a:0}', 'is no variable'],
    ['{a:12345}', 'is no variable'],
    ['{a**}', 'is no variable'],
    ['{.a.}', 'is no variable'],
    ['{!a}', 'the operator "!" of {!a} has no meaning'],
    ['{a}/{a}', 'it names the variable "a" twice'],
    ['x'.repeat(MAX_TEMPLATE_CHARS + 1), `it has more than ${MAX_TEMPLATE_CHARS} characters`],
  ])('refuses %s', (template, reason) => {
    expect(() => parseUriTemplate(template)).toThrow(TypeError);
    expect(() => parseUriTemplate(template)).toThrow(reason);
  });
});

describe('hostile URIs', () => {
  it('takes steps that grow with the length of the URI and no faster', () => {
    for (const template of ['{+a}{+b}{+c}{+d}x', '{a*}{b*}{c*}!', '{+a,b,c,d}{+e}y', '/{+a}/{+b}/{+c}/z']) {
      const matcher = compileMatcher(parseParts(template));
      for (const unit of ['/', 'a,', '%', '/a/', '%2F,']) {
        const steps = (length: number) => matchUri(matcher, unit.repeat(length / unit.length)).steps;
        expect(steps(8_000)).toBeLessThanOrEqual(2 * steps(4_000) + matcher.length);
        expect(steps(8_000)).toBeLessThanOrEqual((matcher.length + 1) * 8_001 + 1);
      }
    }
  });

  it('matches no URI that is longer than the bound', () => {
    const template = parseUriTemplate('x:{+a}');
    expect(template.match(`x:${'y'.repeat(MAX_URI_CHARS - 2)}`)).toBeDefined();
    expect(template.match(`x:${'y'.repeat(MAX_URI_CHARS - 1)}`)).toBeUndefined();
  });
});
