import { afterEach, describe, expect, it } from 'vitest';
import type { McpError } from '../../../src/jsonrpc/index.ts';
import type { BearerOptions } from '../../../src/transport/http/bearer.ts';
import { BearerChallenge } from '../../../src/transport/http/challenge.ts';
import type { HttpHandler } from '../../../src/transport/http/exchange.ts';
import { type HttpListening, listenHttp } from '../../../src/transport/http/listen.ts';
import { ask, errorOf, post, RawClient, type RawResponse } from './raw-client.ts';

const METADATA_URL = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp';
const metadata = {
  resource: 'https://mcp.example.com/mcp',
  authorization_servers: ['https://auth.example.com'],
  scopes_supported: ['files:read'],
};

let server: HttpListening;
let errors: McpError[];
let seen: unknown[];

afterEach(() => server.close());

async function start(auth: Partial<BearerOptions> = {}, handler?: HttpHandler): Promise<void> {
  errors = [];
  seen = [];
  const verify: BearerOptions['verify'] = (token) => (token === 'good' ? { subject: 'ann' } : undefined);
  server = await listenHttp(
    handler ??
      ((exchange) => {
        seen.push(exchange.auth);
        exchange.reply(200, { ok: true });
      }),
    {
      auth: { verify, resourceMetadata: metadata, ...auth },
      onError: (error) => errors.push(error),
    },
  );
}

function call(authorization: string | undefined, path = '/mcp'): Promise<RawResponse> {
  return ask(server.port, post('{}', { authorization }, path));
}

function get(path: string, method = 'GET'): Promise<RawResponse> {
  const client = new RawClient(server.port);
  return client
    .write(`${method} ${path} HTTP/1.1`, 'Host: localhost', 'Origin: https://any.example', '', '')
    .response()
    .finally(() => client.destroy());
}

describe('the bearer guard', () => {
  it.each(['Bearer good', 'bearer good', 'BEARER   good'])(
    'lets "%s" in and hands its principal on',
    async (value) => {
      await start();
      expect((await call(value)).status).toBe(200);
      expect(seen).toEqual([{ subject: 'ann' }]);
    },
  );

  it.each([undefined, 'Basic Z29vZA==', 'Bearerish good', 'good'])(
    'challenges "%s" without an error code, since it carries no token',
    async (value) => {
      await start();
      const response = await call(value);
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toBe(`Bearer resource_metadata="${METADATA_URL}"`);
      expect(response.headers['content-type']).toBe('application/json');
      expect(errorOf(response).code).toBe(-32600);
      expect(seen).toEqual([]);
    },
  );

  it.each(['Bearer', 'Bearer ', 'Bearer good bad', 'Bearer go"od', 'Bearer =', 'Bearer good, Bearer good'])(
    'answers the malformed "%s" with a 400',
    async (value) => {
      await start();
      const response = await call(value);
      expect(response.status).toBe(400);
      expect(response.headers['www-authenticate']).toContain('error="invalid_request"');
    },
  );

  it('refuses two Authorization headers, each of which alone would do', async () => {
    await start();
    const response = await ask(
      server.port,
      post('{}', { authorization: 'Bearer good', Authorization: 'Bearer good' }),
    );
    expect(response.status).toBe(400);
    expect(seen).toEqual([]);
  });

  it('does not take a token from the address', async () => {
    await start();
    expect((await call(undefined, '/mcp?access_token=good')).status).toBe(401);
  });

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['false', false],
  ])('turns a token away for which verify returns %s', async (_name, value) => {
    await start({ verify: async () => value });
    const response = await call('Bearer x');
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(response.headers['www-authenticate']).toContain(`resource_metadata="${METADATA_URL}"`);
  });

  it.each(['returns', 'throws'])('answers with the challenge that verify %s', async (how) => {
    const challenge = new BearerChallenge('insufficient_scope', {
      description: 'Needs "write"\nplease',
      scopes: ['files:read', 'files:write'],
    });
    await start({
      realm: 'files',
      verify: () => {
        if (how === 'throws') throw challenge;
        return challenge;
      },
    });
    const response = await call('Bearer x');
    expect(response.status).toBe(403);
    expect(response.headers['www-authenticate']).toBe(
      'Bearer realm="files", error="insufficient_scope", error_description="Needs \\"write\\" please", ' +
        `scope="files:read files:write", resource_metadata="${METADATA_URL}"`,
    );
    expect(errors).toEqual([]);
  });

  it('takes a verify that fails for our own failure', async () => {
    await start({
      verify: () => {
        throw new Error('the key server is down');
      },
    });
    const response = await call('Bearer x');
    expect(response.status).toBe(500);
    expect(response.body).not.toContain('key server');
    expect(errors.map((error) => error.code)).toEqual(['HANDLER_FAILED']);
    expect(seen).toEqual([]);
  });

  it.each<[string, unknown, number]>([
    ['a list that has them', { scopes: ['a', 'b', 'c'] }, 200],
    ['a string that has them', { scope: 'b a' }, 200],
    ['a list that lacks one', { scopes: ['a'] }, 403],
    ['a string that lacks one', { scope: 'ab' }, 403],
    ['none at all', { subject: 'ann' }, 403],
    ['no object', 'ann', 403],
  ])('looks for required scopes in %s', async (_name, principal, status) => {
    await start({ requiredScopes: ['a', 'b'], verify: () => principal });
    const response = await call('Bearer x');
    expect(response.status).toBe(status);
    if (status === 403) expect(response.headers['www-authenticate']).toContain('scope="a b"');
  });

  it('names the required scopes in the first challenge', async () => {
    await start({ requiredScopes: ['a', 'b'] });
    expect((await call(undefined)).headers['www-authenticate']).toContain('scope="a b"');
  });

  it('answers with a challenge that a handler throws', async () => {
    await start({}, async () => {
      throw new BearerChallenge('insufficient_scope', { scopes: ['admin'] });
    });
    const response = await call('Bearer good');
    expect(response.status).toBe(403);
    expect(response.headers['www-authenticate']).toContain('scope="admin"');
    expect(errors).toEqual([]);
  });

  it('asks for a token before it finds fault with the rest', async () => {
    await start();
    const bare = 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n';
    expect((await ask(server.port, bare)).status).toBe(401);
  });

  it('turns a bad token away before it reads the body', async () => {
    await start();
    const client = new RawClient(server.port);
    client.write(post('', { 'content-length': '1000000' }));
    expect((await client.response()).status).toBe(401);
    client.destroy();
  });
});

describe('resource metadata', () => {
  it.each(['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp'])(
    'is served to anybody at %s',
    async (path) => {
      await start();
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(response.headers['content-type']).toBe('application/json');
      expect(response.headers['access-control-allow-origin']).toBe('*');
      expect(JSON.parse(response.body)).toEqual(metadata);
    },
  );

  it('is served at the root alone for a resource at the root', async () => {
    await start({ resourceMetadata: { ...metadata, resource: 'https://mcp.example.com/' } });
    expect((await get('/.well-known/oauth-protected-resource')).status).toBe(200);
    const below = 'GET /.well-known/oauth-protected-resource/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n';
    expect((await ask(server.port, below)).status).toBe(404);
    expect((await call(undefined)).headers['www-authenticate']).toContain(
      'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"',
    );
  });

  it('answers the question a browser asks before', async () => {
    await start();
    const response = await get('/.well-known/oauth-protected-resource', 'OPTIONS');
    expect(response.status).toBe(204);
    expect(response.headers['access-control-allow-headers']).toBe('*');
  });

  it('is not written to', async () => {
    await start();
    const response = await get('/.well-known/oauth-protected-resource', 'DELETE');
    expect(response.status).toBe(405);
    expect(response.headers.allow).toBe('GET, HEAD, OPTIONS');
  });

  it('is not served under a foreign host', async () => {
    await start();
    const request = 'GET /.well-known/oauth-protected-resource HTTP/1.1\r\nHost: evil.example\r\n\r\n';
    expect((await ask(server.port, request)).status).toBe(403);
  });

  it('gives a verdict in time, or there is a 500 and a report', async () => {
    await start({ verify: () => new Promise(() => {}), verifyTimeoutMs: 20 });
    expect((await call('Bearer good')).status).toBe(500);
    expect(errors).toMatchObject([
      {
        code: 'HANDLER_FAILED',
        message: expect.stringContaining('auth.verify gave no verdict within 20 ms'),
        cause: { code: 'TIMEOUT' },
      },
    ]);
    await expect(start({ verifyTimeoutMs: 0 })).rejects.toThrow('verifyTimeoutMs');
  });

  it('must name a resource and an issuer', async () => {
    await start();
    await expect(start({ resourceMetadata: { ...metadata, resource: 'mcp.example.com' } })).rejects.toThrow(
      TypeError,
    );
    await expect(start({ resourceMetadata: { ...metadata, authorization_servers: [] } })).rejects.toThrow(
      TypeError,
    );
  });
});
