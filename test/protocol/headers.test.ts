import { describe, expect, it } from 'vitest';
import { decodeHeaderValue, encodeHeaderValue, requestHeaders } from '../../src/protocol/headers.ts';
import { paramHeaders, readParamHeaders } from '../../src/protocol/param-headers.ts';

describe('header values', () => {
  it.each([
    ['us-west1', 'us-west1'],
    ['us west 1', 'us west 1'],
    ['', ''],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
    ['\ttab', '=?base64?CXRhYg==?='],
  ])('writes %j as %j, and reads it back', (value, header) => {
    expect(encodeHeaderValue(value)).toBe(header);
    expect(decodeHeaderValue(header)).toBe(value);
  });

  it.each([
    ['=?base64?SGVsbG8?=', 'wrong padding'],
    ['=?base64?SGVs!bG8=?=', 'no Base64'],
    ['=?base64?/w==?=', 'no UTF-8'],
    ['caf\u00e9', 'no ASCII'],
    ['a\u0000b', 'a control character'],
  ])('does not read %j: %s', (header) => {
    expect(decodeHeaderValue(header)).toBeUndefined();
  });

  it('takes what only looks like the sentinel for what it is', () => {
    for (const value of ['=?base64?=', '=?BASE64?QQ==?=', '=?base64?QQ==']) {
      expect(decodeHeaderValue(encodeHeaderValue(value))).toBe(value);
    }
    expect(decodeHeaderValue('=?BASE64?QQ==?=')).toBe('=?BASE64?QQ==?=');
  });

  it('mirrors method, version and name', () => {
    expect(requestHeaders('2026-07-28', 'tools/call', { name: 'zürich' })).toEqual({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': '=?base64?esO8cmljaA==?=',
    });
    expect(requestHeaders('2026-07-28', 'resources/read', { uri: 'file:///a' })).toMatchObject({
      'mcp-name': 'file:///a',
    });
    expect(requestHeaders('2026-07-28', 'constructor', { name: 'x' })).not.toHaveProperty('mcp-name');
  });
});

describe('arguments that are mirrored into headers', () => {
  const schema = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

  it('are found at any depth of plain properties, and read at exactly that place', () => {
    const read = readParamHeaders(
      schema({
        region: { type: 'string', 'x-mcp-header': 'Region' },
        nested: {
          type: 'object',
          properties: { count: { type: ['integer', 'null'], 'x-mcp-header': 'Count' } },
        },
        'x-mcp-header': { type: 'boolean', 'x-mcp-header': 'Named-So' },
        free: { type: 'string', default: { 'x-mcp-header': 'no annotation' } },
      }),
    );
    if (typeof read === 'string') throw new Error(read);
    expect(paramHeaders(read, { region: 'eu', nested: { count: 7 }, 'x-mcp-header': false })).toEqual({
      'mcp-param-region': 'eu',
      'mcp-param-count': '7',
      'mcp-param-named-so': 'false',
    });
    expect(paramHeaders(read, { region: null, nested: 'flat', count: 3 })).toEqual({});
    expect(paramHeaders(read, { region: 5, nested: { count: 1.5 } })).toEqual({});
    expect(paramHeaders(read, undefined)).toEqual({});
    expect(paramHeaders(read, JSON.parse('{"__proto__":{"region":"x"}}'))).toEqual({});
  });

  it.each([
    ['an empty name', schema({ a: { type: 'string', 'x-mcp-header': '' } })],
    ['a name with a space', schema({ a: { type: 'string', 'x-mcp-header': 'My Region' } })],
    ['a name that is no string', schema({ a: { type: 'string', 'x-mcp-header': 1 } })],
    [
      'a name that comes twice, in any case',
      schema({ a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } }),
    ],
    ['type number', schema({ a: { type: 'number', 'x-mcp-header': 'A' } })],
    ['no type', schema({ a: { 'x-mcp-header': 'A' } })],
    ['two types', schema({ a: { type: ['string', 'integer'], 'x-mcp-header': 'A' } })],
    ['the root', { type: 'string', 'x-mcp-header': 'A' }],
    ['array items', schema({ a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } })],
    ['a composition', schema({}, { anyOf: [schema({ a: { type: 'string', 'x-mcp-header': 'A' } })] })],
    ['a condition', schema({}, { if: schema({ a: { type: 'string', 'x-mcp-header': 'A' } }) })],
    ['a definition', schema({}, { $defs: { a: { type: 'string', 'x-mcp-header': 'A' } } })],
    [
      'properties behind a definition',
      schema({}, { $defs: { a: schema({ b: { type: 'string', 'x-mcp-header': 'A' } }) } }),
    ],
  ])('are refused on %s', (_, inputSchema) => {
    expect(readParamHeaders(inputSchema)).toEqual(expect.any(String));
  });

  it('are refused below any depth rather than overflow the stack', () => {
    let deep: object = { type: 'string' };
    for (let level = 0; level < 10_000; level++) deep = schema({ a: deep });
    expect(readParamHeaders(deep as { [key: string]: unknown })).toContain('deeper than');
  });
});
