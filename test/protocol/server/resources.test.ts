import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { type McpError, RpcError } from '../../../src/jsonrpc/index.ts';
import { McpServer, type ResourceReturn } from '../../../src/protocol/index.ts';
import { WireClient } from './wire-client.ts';

const INFO = { name: 'test', version: '1' };
const BOTH = ['2026-07-28', '2025-11-25'] as const;
const NOT_FOUND = { '2026-07-28': -32602, '2025-11-25': -32002 };

describe.each(BOTH)('a resource, in revision %s,', (revision) => {
  it('is listed as it was defined, and read by its URI', async () => {
    const server = new McpServer(INFO);
    const definition = {
      uri: 'test://static/text',
      name: 'text',
      title: 'Text',
      description: 'd',
      mimeType: 'text/plain',
      size: 4,
      annotations: { audience: ['user' as const], priority: 0.5, lastModified: '2026-01-01T00:00:00Z' },
    };
    server.resource(definition, (uri) => `read ${uri}`);
    const client = await WireClient.speak(server, revision);
    expect((await client.result('resources/list')).resources).toEqual([definition]);
    expect((await client.result('resources/read', { uri: definition.uri })).contents).toEqual([
      { uri: definition.uri, mimeType: 'text/plain', text: `read ${definition.uri}` },
    ]);
  });

  it.each<[string, ResourceReturn, object[]]>([
    ['text', 'x', [{ uri: 'test:r', text: 'x' }]],
    ['no text', '', [{ uri: 'test:r', text: '' }]],
    ['bytes', Buffer.from([0, 255, 1]), [{ uri: 'test:r', blob: 'AP8B' }]],
    [
      'a part of larger bytes',
      new Uint8Array([9, 0, 255, 1, 9]).subarray(1, 4),
      [{ uri: 'test:r', blob: 'AP8B' }],
    ],
    [
      'contents',
      [
        { uri: 'test:r/1', text: 'a' },
        { uri: 'test:r/2', blob: '' },
      ],
      [
        { uri: 'test:r/1', text: 'a' },
        { uri: 'test:r/2', blob: '' },
      ],
    ],
    [
      'a result',
      { contents: [{ uri: 'test:r', text: 'a', mimeType: 'x/y' }] },
      [{ uri: 'test:r', text: 'a', mimeType: 'x/y' }],
    ],
  ])('may return %s, at once or later', async (_, returned, contents) => {
    const server = new McpServer(INFO);
    let later = false;
    server.resource({ uri: 'test:r', name: 'r' }, () => (later ? Promise.resolve(returned) : returned));
    const client = await WireClient.speak(server, revision);
    expect((await client.result('resources/read', { uri: 'test:r' })).contents).toEqual(contents);
    later = true;
    expect((await client.result('resources/read', { uri: 'test:r' })).contents).toEqual(contents);
  });

  it('that does not exist is refused with the code of the revision and its URI', async () => {
    const server = new McpServer(INFO);
    server.resource({ uri: 'test:r', name: 'r' }, () => undefined);
    const client = await WireClient.speak(server, revision);
    for (const uri of ['test:r', 'test:other', 'toString', '']) {
      expect(await client.error('resources/read', { uri })).toEqual({
        code: NOT_FOUND[revision],
        message: `Resource not found: ${uri}`,
        data: { uri },
      });
    }
    for (const uri of [undefined, null, 5]) {
      expect(await client.error('resources/read', { uri })).toMatchObject({ code: -32602 });
    }
  });

  it('that fails is an internal error without details, unless it throws an RpcError', async () => {
    const errors: McpError[] = [];
    const server = new McpServer({ ...INFO, onError: (error) => errors.push(error) });
    server.resource({ uri: 'test:fails', name: 'r' }, () => Promise.reject(new Error('secret')));
    // Sound: the type forbids it, callers from JavaScript do not know.
    server.resource({ uri: 'test:odd', name: 'r' }, () => 5 as unknown as string);
    server.resource({ uri: 'test:refuses', name: 'r' }, () => {
      throw new RpcError(-31000, 'no');
    });
    const client = await WireClient.speak(server, revision);
    for (const uri of ['test:fails', 'test:odd']) {
      expect(await client.error('resources/read', { uri })).toEqual({
        code: -32603,
        message: 'Internal error',
      });
    }
    expect(errors).toMatchObject([{ cause: { message: 'secret' } }, { code: 'HANDLER_FAILED' }]);
    expect(await client.error('resources/read', { uri: 'test:refuses' })).toEqual({
      code: -31000,
      message: 'no',
    });
  });
});

describe.each(BOTH)('a resource template, in revision %s,', (revision) => {
  it('is listed, and reads what it gives, with the values of its variables', async () => {
    const server = new McpServer(INFO);
    const definition = { uriTemplate: 'test://{id}/data{?lang}', name: 'data', mimeType: 'application/json' };
    server.resourceTemplate(definition, (uri, variables) => JSON.stringify({ uri, ...variables }));
    const client = await WireClient.speak(server, revision);
    expect((await client.result('resources/templates/list')).resourceTemplates).toEqual([definition]);
    expect((await client.result('resources/list')).resources).toEqual([]);
    const uri = 'test://a%20b/data?lang=de';
    expect((await client.result('resources/read', { uri })).contents).toEqual([
      { uri, mimeType: 'application/json', text: JSON.stringify({ uri, id: 'a b', lang: 'de' }) },
    ]);
    expect(await client.error('resources/read', { uri: 'test://a/b/data' })).toMatchObject({
      code: NOT_FOUND[revision],
    });
  });

  it('has the types of its variables where the template is written out', async () => {
    const server = new McpServer(INFO);
    server.resourceTemplate({ uriTemplate: 'a://{id}/{+path}{?q,page*}', name: 'a' }, (_uri, variables) => {
      const id: string = variables.id;
      const path: string = variables.path;
      const q: string | undefined = variables.q;
      const pages: string[] | undefined = variables.page;
      // @ts-expect-error: a query may lack it.
      const certain: string = variables.q;
      // @ts-expect-error: the template has no such variable.
      const other = variables.other;
      return JSON.stringify([id, path, q, pages, certain, other]);
    });
    server.resourceTemplate({ uriTemplate: 'b:{x,y:3}{/rest*}', name: 'b' }, (_uri, variables) => {
      const x: string = variables.x;
      const y: string | undefined = variables.y;
      const rest: string[] | undefined = variables.rest;
      return JSON.stringify([x, y, rest]);
    });
    const client = await WireClient.speak(server, revision);
    const read = async (uri: string) => {
      const { contents } = await client.result('resources/read', { uri });
      return JSON.parse((contents as { text: string }[])[0]?.text ?? '');
    };
    expect(await read('a://1/x/y?page=1&page=2')).toEqual(['1', 'x/y', null, ['1', '2'], null, null]);
    expect(await read('b:1')).toEqual(['1', null, null]);
    expect(await read('b:1,2/3/4')).toEqual(['1', '2', ['3', '4']]);
  });

  it('comes after resources of their own and after templates before it', async () => {
    const server = new McpServer(INFO);
    server.resourceTemplate({ uriTemplate: 'test:{first}', name: '1' }, (_uri, { first }) =>
      first === 'skip' ? undefined : 'first',
    );
    server.resourceTemplate({ uriTemplate: 'test:{+second}', name: '2' }, () => 'second');
    server.resource({ uri: 'test:fixed', name: 'fixed' }, () => 'fixed');
    const client = await WireClient.speak(server, revision);
    const read = async (uri: string) => (await client.result('resources/read', { uri })).contents;
    expect(await read('test:fixed')).toMatchObject([{ text: 'fixed' }]);
    expect(await read('test:x')).toMatchObject([{ text: 'first' }]);
    expect(await read('test:x/y')).toMatchObject([{ text: 'second' }]);
    expect(await client.error('resources/read', { uri: 'test:skip' })).toMatchObject({
      data: { uri: 'test:skip' },
    });
  });

  it('may list resources worth naming, each URI once, in pages where that is asked for', async () => {
    const server = new McpServer({ ...INFO, pageSize: 2 });
    server.resource({ uri: 'test:1', name: 'fixed' }, () => 'x');
    const list = ['test:1', 'test:2', 'test:2', 'test:3'].map((uri) => ({ uri, name: uri }));
    server.resourceTemplate({ uriTemplate: 'test:{n}', name: 'n' }, () => 'x', { list: async () => list });
    const client = await WireClient.speak(server, revision);
    const first = await client.result('resources/list');
    const second = await client.result('resources/list', { cursor: first.nextCursor });
    expect([first.resources, second.resources, second.nextCursor]).toEqual([
      [
        { uri: 'test:1', name: 'fixed' },
        { uri: 'test:2', name: 'test:2' },
      ],
      [{ uri: 'test:3', name: 'test:3' }],
      undefined,
    ]);
  });

  it('completes its variables, named by the template or by a URI of it', async () => {
    const server = new McpServer(INFO);
    server.resourceTemplate({ uriTemplate: 'test:{n}', name: 'n' }, () => 'x', {
      complete: { n: (value) => [`${value}!`] },
    });
    server.resource({ uri: 'other:fixed', name: 'fixed' }, () => 'x');
    const client = await WireClient.speak(server, revision);
    const complete = (uri: string) => ({
      ref: { type: 'ref/resource', uri },
      argument: { name: 'n', value: 'v' },
    });
    for (const uri of ['test:{n}', 'test:5']) {
      expect(await client.result('completion/complete', complete(uri))).toMatchObject({
        completion: { values: ['v!'] },
      });
    }
    expect(await client.result('completion/complete', complete('other:fixed'))).toMatchObject({
      completion: { values: [] },
    });
    expect(await client.error('completion/complete', complete('other:{n}'))).toMatchObject({ code: -32602 });
  });

  it('is listed in pages where that is asked for', async () => {
    const server = new McpServer({ ...INFO, pageSize: 1 });
    for (const name of ['b', 'a']) server.resourceTemplate({ uriTemplate: `${name}:{x}`, name }, () => 'x');
    const client = await WireClient.speak(server, revision);
    const first = await client.result('resources/templates/list');
    const second = await client.result('resources/templates/list', { cursor: first.nextCursor });
    expect([first.resourceTemplates, second.resourceTemplates]).toMatchObject([
      [{ name: 'b' }],
      [{ name: 'a' }],
    ]);
    expect(await client.error('resources/list', { cursor: first.nextCursor })).toMatchObject({
      code: -32602,
    });
  });
});

describe('registering a resource', () => {
  it('is refused for a URI that is taken and a template that is malformed', () => {
    const server = new McpServer(INFO);
    server.resource({ uri: 'test:r', name: 'r' }, () => 'x');
    server.resourceTemplate({ uriTemplate: 'test:{a}', name: 't' }, () => 'x');
    expect(() => server.resource({ uri: 'test:r', name: 's' }, () => 'x')).toThrow(TypeError);
    expect(() => server.resourceTemplate({ uriTemplate: 'test:{a}', name: 's' }, () => 'x')).toThrow(
      TypeError,
    );
    expect(() => server.resourceTemplate({ uriTemplate: 'test:{a', name: 's' }, () => 'x')).toThrow(
      TypeError,
    );
  });
});
