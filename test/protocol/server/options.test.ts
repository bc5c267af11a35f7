import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  McpServer,
  serveHttp,
  serveSocket,
  serveStdio,
  serveWebSocket,
  toFetchHandler,
  toNodeHandler,
} from '../../../src/protocol/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: it is the point of these tests to pass what the types do not allow.
type Any = any;

const INFO = { name: 's', version: '1' };
const RESOURCE_METADATA = { resource: 'https://a.test/mcp', authorization_servers: ['https://b.test'] };
const verify = () => 'ann';
const auth = (options: Any) => ({ auth: options });

/** What a server is not made, served or added to with, and why. */
const REFUSED: readonly [string, (server: Any) => unknown, string | RegExp][] = [
  [
    'new McpServer()',
    () => new (McpServer as Any)(),
    'options must be an object with name and version, not undefined',
  ],
  [
    'no name',
    () => new McpServer({ version: '1' } as Any),
    'name must be a string that is not empty, not undefined',
  ],
  ['no version', () => new McpServer({ name: 's' } as Any), 'version must be a string, not undefined'],
  [
    'pageSize',
    () => new McpServer({ ...INFO, pageSize: 0 }),
    'pageSize must be a whole number of at least 1, or Infinity, not 0',
  ],
  ['onError', () => new McpServer({ ...INFO, onError: 5 as Any }), 'onError must be a function, not 5'],
  [
    'cache.ttlMs',
    () => new McpServer({ ...INFO, cache: { ttlMs: 1.5 } }),
    'cache.ttlMs must be a whole number of milliseconds, not 1.5',
  ],
  ...[serveHttp, serveStdio, serveSocket, serveWebSocket, toNodeHandler, toFetchHandler].map(
    (serve: Any): [string, () => unknown, string] => [
      `${serve.name}()`,
      () => serve(),
      'server must be an McpServer, not undefined',
    ],
  ),
  [
    'auth: true',
    (s) => serveHttp(s, auth(true)),
    'auth must be an object with verify and resourceMetadata, not true',
  ],
  [
    'auth without verify',
    (s) => serveHttp(s, auth({ resourceMetadata: RESOURCE_METADATA })),
    'auth.verify must be a function, not undefined',
  ],
  [
    'auth without resourceMetadata',
    (s) => toNodeHandler(s, auth({ verify })),
    'auth.resourceMetadata must be an object with resource and authorization_servers, not undefined',
  ],
  [
    'auth without a resource',
    (s) => toFetchHandler(s, auth({ verify, resourceMetadata: { ...RESOURCE_METADATA, resource: 'a' } })),
    'auth.resourceMetadata.resource must be an absolute URL, not "a"',
  ],
  [
    'auth without an issuer',
    (s) => serveHttp(s, auth({ verify, resourceMetadata: { resource: 'https://a.test/mcp' } })),
    'auth.resourceMetadata.authorization_servers must be an array of at least one issuer, not undefined',
  ],
  [
    'allowedHosts',
    (s) => serveHttp(s, { allowedHosts: 'example.com' as Any }),
    'allowedHosts must be an array of strings, or "*", not "example.com"',
  ],
  [
    'allowedOrigins',
    (s) => serveWebSocket(s, { allowedOrigins: [5] as Any }),
    'allowedOrigins must be an array of strings, or "*", not an array',
  ],
  [
    'methods',
    (s) => serveHttp(s, { methods: 'POST' as Any }),
    /^methods must be an array of "GET", .*, not a string$/,
  ],
  [
    'path',
    (s) => serveHttp(s, { path: 'mcp' }),
    'path must be a path that starts with "/" and has no query, not "mcp"',
  ],
  ['port', (s) => serveHttp(s, { port: 'x' as Any }), 'port must be from 0 to 65535, not "x"'],
  [
    'keepAliveMs',
    (s) => serveHttp(s, { keepAliveMs: 2 ** 30 }),
    'keepAliveMs must be from 1 to 536870911 milliseconds, or Infinity, not 1073741824',
  ],
  [
    'no target',
    (s) => serveSocket(s, undefined as Any),
    'target must be an object with a path or a port, not undefined',
  ],
  [
    'a tool declared by its name',
    (s) => s.tool('add', { a: z.number() }, () => ''),
    'Cannot register tool "add": it is declared by an object, as in tool({ name, inputSchema }, handler)',
  ],
  [
    'no tool',
    (s) => s.tool(undefined, () => ''),
    'the definition of a tool must be an object, not undefined',
  ],
  [
    'a tool without a name',
    (s) => s.tool({}, () => ''),
    'name of a tool must be a string that is not empty, not undefined',
  ],
  [
    'a schema for the arguments of a prompt',
    (s) => s.prompt({ name: 'p', arguments: z.object({}) }, () => ''),
    /^arguments of prompt "p" must be an array of .*; a prompt has no schema, not an object$/,
  ],
  [
    'arguments of a prompt by name',
    (s) => s.prompt({ name: 'p', arguments: { code: {} } }, () => ''),
    /^arguments of prompt "p" must be an array/,
  ],
  [
    'an argument of a prompt without a name',
    (s) => s.prompt({ name: 'p', arguments: [{ required: true }] }, () => ''),
    /^arguments of prompt "p" must be an array .*, not an array with something else$/,
  ],
  [
    'a resource without a URI',
    (s) => s.resource({ name: 'r' }, () => ''),
    'uri of a resource must be a string that is not empty, not undefined',
  ],
  [
    'a template that is no text',
    (s) => s.resourceTemplate({ name: 'r' }, () => ''),
    'uriTemplate must be a string, not undefined',
  ],
];

describe('a server', () => {
  it.each(REFUSED)('refuses %s', async (_, act, why) => {
    const server = new McpServer(INFO);
    const refusal = await (async () => act(server))().then(
      () => undefined,
      (error) => error,
    );
    expect(refusal).toBeInstanceOf(TypeError);
    if (typeof why === 'string') expect(refusal.message).toBe(why);
    else expect(refusal.message).toMatch(why);
    await server.close();
  });
});
