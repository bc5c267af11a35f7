import { describe, expect, it } from 'vitest';
import { discoverServer, discoverSite } from '../../../src/protocol/auth/discovery.ts';
import { AuthHttp } from '../../../src/protocol/auth/http.ts';
import { readDemand } from '../../../src/protocol/auth/www-authenticate.ts';
import { ScriptedServer } from '../../transport/http/scripted-server.ts';
import { sendJson } from './scripted-issuer.ts';

const http = new AuthHttp({ ownHost: '127.0.0.1', allowPrivate: false });
const { signal } = new AbortController();

/** A server that has documents at some paths; `$` in them stands for its origin. */
async function serve(documents: { [path: string]: unknown }): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(({ path }, response) => {
    const document = documents[path];
    if (document === undefined) response.writeHead(404).end();
    else if (typeof document === 'number') response.writeHead(document).end();
    else if (typeof document === 'string')
      response.writeHead(200, { 'content-type': 'text/html' }).end(document);
    else sendJson(response, 200, JSON.parse(JSON.stringify(document).replaceAll('$', server.origin)));
  });
  return server;
}

const paths = ({ received }: ScriptedServer) => received.map(({ path }) => path);

function find(server: ScriptedServer, challenge?: string, url = server.url) {
  const demand = challenge === undefined ? undefined : readDemand({ 'www-authenticate': challenge });
  return discoverSite(http, { server: new URL(url), demand, preferredIssuer: undefined, signal });
}

const RESOURCE = '/.well-known/oauth-protected-resource';
const OAUTH = '/.well-known/oauth-authorization-server';
const OPENID = '/.well-known/openid-configuration';
const metadata = { issuer: '$', token_endpoint: '$/token', code_challenge_methods_supported: ['S256'] };
const resource = { resource: '$/mcp', authorization_servers: ['$'], scopes_supported: ['a', 'b'] };

describe('the metadata of the resource', () => {
  it('is read where the challenge says, and nowhere else', async () => {
    const server = await serve({ '/odd/place': resource, [OAUTH]: metadata });
    const challenge = `Bearer resource_metadata="${server.origin}/odd/place"`;
    expect(await find(server, challenge)).toEqual({
      resource: server.url,
      scopesSupported: ['a', 'b'],
      needsDpop: false,
      isLegacy: false,
      server: {
        issuer: server.origin,
        token_endpoint: `${server.origin}/token`,
        code_challenge_methods_supported: ['S256'],
      },
    });
    expect(paths(server)).toEqual(['/odd/place', OAUTH]);
  });

  it('is looked for under the path of the server, with its query, and then at the root', async () => {
    const root = { ...resource, resource: '$' };
    const server = await serve({ [RESOURCE]: root, [OAUTH]: metadata });
    expect(await find(server, 'Bearer', `${server.origin}/a/b/?c=d`)).toMatchObject({
      resource: server.origin,
    });
    expect(paths(server)).toEqual([`${RESOURCE}/a/b?c=d`, RESOURCE, OAUTH]);
  });

  it('is looked for only once where the server is at the root', async () => {
    const server = await serve({ [RESOURCE]: { ...resource, resource: '$/' }, [OAUTH]: metadata });
    expect(await find(server, undefined, server.origin)).toMatchObject({ resource: `${server.origin}/` });
    expect(paths(server)).toEqual([RESOURCE, OAUTH]);
  });

  it('is not there where a server has a page for every address', async () => {
    const server = await serve({ [`${RESOURCE}/mcp`]: '<html>', [RESOURCE]: '<html>', [OAUTH]: metadata });
    expect(await find(server)).toMatchObject({ isLegacy: true });
  });

  it('must be where the challenge says', async () => {
    const server = await serve({ [RESOURCE]: resource, [OAUTH]: metadata });
    await expect(find(server, 'Bearer resource_metadata="/nowhere"')).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: `Cannot read the metadata at "${server.origin}/nowhere": status 404, and no metadata`,
    });
    await expect(find(server, 'Bearer resource_metadata="http://"')).rejects.toThrow(/address that it names/);
  });

  it('is no matter of guessing while the server fails', async () => {
    const server = await serve({ [`${RESOURCE}/mcp`]: 500, [RESOURCE]: resource });
    await expect(find(server)).rejects.toThrow(/status 500/);
  });

  it.each([
    ['$/mcp', '$/mcp'],
    ['$', '$/mcp'],
    ['$/', '$/mcp'],
    ['$/a', '$/a/b'],
    ['$/a/', '$/a/b'],
    ['$/mcp', '$/mcp?x=y'],
    ['$/mcp?x=y', '$/mcp?x=y'],
  ])('covers with %s the server %s', async (named, url) => {
    const server = await serve({ '/m': { ...resource, resource: named }, [OAUTH]: metadata });
    const challenge = 'Bearer resource_metadata="/m"';
    const site = await find(server, challenge, url.replace('$', server.origin));
    expect(site.resource).toBe(named.replace('$', server.origin));
  });

  it.each([
    ['$/mcp/x', '$/mcp'],
    ['$/mc', '$/mcp'],
    ['$/mcp#x', '$/mcp'],
    ['$/mcp?x=z', '$/mcp?x=y'],
    ['https://evil.example.com/mcp', '$/mcp'],
    ['http://localhost/mcp', '$/mcp'],
    ['nonsense', '$/mcp'],
    [undefined, '$/mcp'],
  ])('does not cover with %s the server %s', async (named, url) => {
    const server = await serve({ '/m': { ...resource, resource: named }, [OAUTH]: metadata });
    const challenge = 'Bearer resource_metadata="/m"';
    await expect(find(server, challenge, url.replace('$', server.origin))).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringMatching(/it names no resource|it is about/),
    });
    expect(paths(server)).toEqual(['/m']);
  });

  it.each([
    [[]],
    [undefined],
    [[1]],
    [['nonsense']],
    [['urn:example:issuer', 'javascript:alert(1)', 'data:x']],
    ['$'],
    [['https://a.example.com/\u001b[2J']],
    [[`https://a.example.com/${'a'.repeat(3000)}`]],
  ])('must name an authorization server, and not %j', async (servers) => {
    const server = await serve({ '/m': { ...resource, authorization_servers: servers } });
    await expect(find(server, 'Bearer resource_metadata="/m"')).rejects.toThrow(
      /names no authorization server/,
    );
  });
});

describe('the metadata of an authorization server', () => {
  it('is looked for in three places where the issuer has a path', async () => {
    const server = await serve({ [`/t/1${OPENID}`]: { ...metadata, issuer: '$/t/1' } });
    expect(await discoverServer(http, `${server.origin}/t/1`, signal)).toMatchObject({
      issuer: `${server.origin}/t/1`,
    });
    expect(paths(server)).toEqual([`${OAUTH}/t/1`, `${OPENID}/t/1`, `/t/1${OPENID}`]);
  });

  it('is looked for in two places where the issuer has none', async () => {
    const server = await serve({ [OPENID]: metadata });
    expect(await discoverServer(http, server.origin, signal)).toMatchObject({ issuer: server.origin });
    expect(paths(server)).toEqual([OAUTH, OPENID]);
  });

  it('is that of the issuer, and may stand behind that of another one', async () => {
    const server = await serve({
      [`${OAUTH}/t`]: metadata,
      [`/t${OPENID}`]: { ...metadata, issuer: '$/t', token_endpoint: '$/right' },
    });
    expect(await discoverServer(http, `${server.origin}/t`, signal)).toMatchObject({
      token_endpoint: `${server.origin}/right`,
    });
  });

  it.each(['$/', 'https://honest.example', '', undefined, 1])(
    'is not used with the issuer %s',
    async (issuer) => {
      const server = await serve({ [OAUTH]: { ...metadata, issuer }, [OPENID]: { ...metadata, issuer } });
      await expect(discoverServer(http, server.origin, signal)).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
        message: expect.stringMatching(/it is of the issuer|it names no issuer/),
      });
    },
  );

  it('leaves out what is of the wrong type', async () => {
    const server = await serve({
      [OAUTH]: {
        ...metadata,
        token_endpoint: 1,
        authorization_endpoint: 'nonsense',
        scopes_supported: 'a b',
        code_challenge_methods_supported: ['S256', 1],
        client_id_metadata_document_supported: 'yes',
        other: true,
      },
    });
    expect(await discoverServer(http, server.origin, signal)).toEqual({
      issuer: server.origin,
      code_challenge_methods_supported: ['S256'],
    });
  });

  it('must be there', async () => {
    const server = await serve({});
    await expect(discoverServer(http, server.origin, signal)).rejects.toThrow(/it publishes no metadata/);
    await expect(discoverServer(http, `${server.origin}?a`, signal)).rejects.toThrow(
      /neither query nor fragment/,
    );
  });
});

describe('a server of revision 2025-03-26', () => {
  it('has the metadata at its origin, for either way to write the issuer', async () => {
    for (const issuer of ['$', '$/']) {
      const server = await serve({ [OAUTH]: { ...metadata, issuer, token_endpoint: '$/odd' } });
      expect(await find(server, undefined, `${server.origin}/v1/mcp`)).toMatchObject({
        isLegacy: true,
        resource: `${server.origin}/v1/mcp`,
        server: { token_endpoint: `${server.origin}/odd` },
      });
      expect(server.received.at(-1)?.headers['mcp-protocol-version']).toBe('2025-03-26');
    }
  });

  it('has its endpoints at default addresses where it has no metadata', async () => {
    const server = await serve({});
    expect(await find(server)).toMatchObject({
      isLegacy: true,
      server: {
        issuer: server.origin,
        authorization_endpoint: `${server.origin}/authorize`,
        token_endpoint: `${server.origin}/token`,
        registration_endpoint: `${server.origin}/register`,
      },
    });
  });

  it('is not guessed at where its metadata is of another issuer, or fails', async () => {
    const foreign = await serve({ [OAUTH]: { ...metadata, issuer: 'https://honest.example' } });
    await expect(find(foreign)).rejects.toThrow(/it is of the issuer/);
    const failing = await serve({ [OAUTH]: 503 });
    await expect(find(failing)).rejects.toThrow(/status 503/);
  });
});
