import { describe, expect, it } from 'vitest';
import { convertContent } from '../../src/bridge/index.ts';

const note = (text: string) => ({ type: 'text', text });
const PNG = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' };

describe('convertContent', () => {
  it('B41 gives plain text for one text block, whatever it says', () => {
    expect(convertContent([{ type: 'text', text: 'hello' }])).toBe('hello');
    expect(convertContent([{ type: 'text', text: '' }])).toBe('');
  });

  it('B41 gives parts for any other shape, in the same order', () => {
    expect(convertContent([])).toEqual([]);
    expect(convertContent([{ type: 'text', text: 'a' }, PNG, { type: 'text', text: 'b' }])).toEqual([
      note('a'),
      PNG,
      note('b'),
    ]);
    expect(convertContent([{ ...PNG, annotations: { priority: 1 } }])).toEqual([PNG]);
  });

  // Each row: what arrives, and what the model is shown.
  it.each<[string, unknown, unknown[]]>([
    ['audio', { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }, [note('[audio: audio/wav, 3 bytes]')]],
    [
      'a text resource',
      { type: 'resource', resource: { uri: 'file:///a.md', mimeType: 'text/markdown', text: '# A' } },
      [note('[resource: file:///a.md, text/markdown]\n# A')],
    ],
    [
      'a binary resource',
      { type: 'resource', resource: { uri: 'file:///a.zip', mimeType: 'application/zip', blob: 'AAE=' } },
      [note('[resource: file:///a.zip, application/zip, 2 bytes, binary]')],
    ],
    [
      'an image resource',
      { type: 'resource', resource: { uri: 'file:///a', mimeType: 'image/webp', blob: 'AAE=' } },
      [note('[resource: file:///a, image/webp]'), { type: 'image', data: 'AAE=', mimeType: 'image/webp' }],
    ],
    [
      'an empty resource',
      { type: 'resource', resource: { uri: 'x:y' } },
      [note('[resource: x:y, no contents]')],
    ],
    [
      'a resource link',
      {
        type: 'resource_link',
        uri: 'file:///b.txt',
        name: 'b',
        title: 'The B',
        mimeType: 'text/plain',
        size: 12,
        description: 'More about B',
      },
      [note('[resource link: "b", "The B", file:///b.txt, text/plain, 12 bytes]\nMore about B')],
    ],
    [
      'a bare resource link',
      { type: 'resource_link', uri: 'x:y', name: 'b' },
      [note('[resource link: "b", x:y]')],
    ],
    [
      'a resource link whose title is its name',
      { type: 'resource_link', uri: 'x:y', name: 'b', title: 'b' },
      [note('[resource link: "b", x:y]')],
    ],
    [
      'an unknown block',
      { type: 'video', name: 'clip', uri: 'file:///c.mp4', data: 'AAAA' },
      [note('[content of type "video": "clip", file:///c.mp4]')],
    ],
    ['a block without a type', { text: 'x' }, [note('[content of type unknown]')]],
    ['a block whose type is no text', { type: nested(50_000) }, [note('[content of type unknown]')]],
    ['a text block without text', { type: 'text' }, [note('[content of type "text"]')]],
    ['an image without data', { type: 'image', mimeType: 'image/png' }, [note('[malformed image]')]],
    ['audio without a type', { type: 'audio', data: 'AAAA' }, [note('[malformed audio]')]],
    ['a resource without contents', { type: 'resource' }, [note('[malformed resource]')]],
    ['null', null, [note('[malformed content: no object]')]],
    ['a string', 'text', [note('[malformed content: no object]')]],
  ])('B40 never drops %s in silence', (_, block, expected) => {
    expect(convertContent([block])).toEqual(expected);
    expect(convertContent([note('before'), block])).toEqual([note('before'), ...expected]);
  });

  it('B40 keeps audio for a host that takes it', () => {
    const block = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' };
    expect(convertContent([{ ...block, _meta: {} }], { audio: 'part' })).toEqual([block]);
  });
});

function nested(levels: number): unknown {
  let value: unknown = 'text';
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}
