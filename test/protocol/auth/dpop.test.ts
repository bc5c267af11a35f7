import { createHash, createPublicKey, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject } from '../../../src/jsonrpc/index.ts';
import { DpopKey } from '../../../src/protocol/auth/dpop.ts';
import { McpClient, memoryTokenStore, type OAuthOptions, oauth } from '../../../src/protocol/index.ts';
import { closeBehindTest, type Received, ScriptedServer } from '../../transport/http/scripted-server.ts';
import { browse } from './browser.ts';
import { startOidc } from './oidc-server.ts';
import { type IssuerScript, ScriptedIssuer, sendJson } from './scripted-issuer.ts';

const BINDS = { dpop_signing_alg_values_supported: ['ES256'] };

/** Takes a proof apart and checks its signature. */
function readProof(jwt: string | string[] | undefined): { header: JsonObject; claims: JsonObject } {
  const [head = '', body = '', signature = ''] = String(jwt).split('.');
  const [header, claims] = [head, body].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
  expect(header).toEqual({
    typ: 'dpop+jwt',
    alg: 'ES256',
    jwk: { kty: 'EC', crv: 'P-256', x: expect.any(String), y: expect.any(String) },
  });
  const key = createPublicKey({ key: header.jwk, format: 'jwk' });
  const bytes = Buffer.from(signature, 'base64url');
  expect(verify('sha256', Buffer.from(`${head}.${body}`), { key, dsaEncoding: 'ieee-p1363' }, bytes)).toBe(
    true,
  );
  return { header, claims };
}

/** A server that takes tokens bound to keys; `challenge` is what it says to others. */
async function start(script: IssuerScript = {}, challenge = 'DPoP', nonce?: string) {
  const issuer: ScriptedIssuer = await ScriptedIssuer.start({
    metadata: BINDS,
    token: (_form, response) =>
      sendJson(response, 200, { access_token: issuer.issue(), token_type: 'DPoP', expires_in: 3600 }),
    ...script,
  });
  const server = await ScriptedServer.start((received, response) => {
    const { authorization } = received.headers;
    if (received.path.startsWith('/.well-known')) {
      sendJson(response, 200, { resource: server.url, authorization_servers: [issuer.url] });
    } else if (!authorization) {
      response.writeHead(401, { 'www-authenticate': challenge }).end();
    } else if (nonce !== undefined && readProof(received.headers.dpop).claims.nonce !== nonce) {
      response
        .writeHead(401, { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': nonce })
        .end();
    } else {
      const { id } = received.message;
      sendJson(response, 200, {
        jsonrpc: '2.0',
        id,
        result: { resultType: 'complete', supportedVersions: ['2026-07-28'] },
      });
    }
  });
  return { issuer, server };
}

async function connect(url: string, issuer: ScriptedIssuer, options: Partial<OAuthOptions> = {}) {
  const client = await McpClient.http(url, { authorizer: oauth({ onRedirect: issuer.agree, ...options }) });
  closeBehindTest(() => client.close());
  return client;
}

const authorized = ({ received }: ScriptedServer): Received[] =>
  received.filter(({ headers }) => headers.authorization !== undefined);

describe('a token that is bound to a key', () => {
  it('is asked for and used with a fresh proof each time where the server asks for that', async () => {
    const { issuer, server } = await start();
    const client = await connect(`${server.url}?secret=1`, issuer);
    await client.ping();
    const atIssuer = readProof(issuer.received.at(-1)?.headers.dpop);
    expect(atIssuer.claims).toEqual({
      jti: expect.any(String),
      htm: 'POST',
      htu: `${issuer.url}/token`,
      iat: expect.any(Number),
    });
    expect(issuer.authorizations[0]?.get('dpop_jkt')).toBe(thumbprint(atIssuer.header));
    const requests = authorized(server);
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(['DPoP token-1', 'DPoP token-1']);
    const proofs = requests.map(({ headers }) => readProof(headers.dpop));
    for (const { header, claims } of proofs) {
      expect(header).toEqual(atIssuer.header);
      expect(claims).toMatchObject({
        htm: 'POST',
        htu: server.url,
        ath: createHash('sha256').update('token-1').digest('base64url'),
      });
    }
    expect(new Set([atIssuer, ...proofs].map(({ claims }) => claims.jti)).size).toBe(3);
  });

  it('is used with the nonces that both servers want', async () => {
    let asked = 0;
    const { issuer, server } = await start(
      {
        token: (_form, response, { headers }) => {
          const { nonce } = readProof(headers.dpop).claims;
          asked++;
          if (nonce === 'n1') sendJson(response, 200, { access_token: issuer.issue(), token_type: 'DPoP' });
          else {
            response.setHeader('dpop-nonce', 'n1');
            sendJson(response, 400, { error: 'use_dpop_nonce' });
          }
        },
      },
      'DPoP',
      'n2',
    );
    const client = await connect(server.url, issuer);
    await client.ping();
    expect(asked).toBe(2);
    expect(authorized(server)).toHaveLength(3);
  });

  it('is not asked for again and again with a nonce that never fits', async () => {
    const { issuer, server } = await start({
      token: (_form, response) => {
        response.setHeader('dpop-nonce', String(issuer.tokenRequests.length));
        sendJson(response, 400, { error: 'use_dpop_nonce' });
      },
    });
    await expect(connect(server.url, issuer)).rejects.toThrow(/use_dpop_nonce/);
    expect(issuer.tokenRequests).toHaveLength(2);
  });

  it('goes on with its key from the store', async () => {
    const store = memoryTokenStore();
    const { issuer, server } = await start();
    await connect(server.url, issuer, { store });
    await connect(server.url, issuer, { store });
    const [first, second] = authorized(server).map(({ headers }) => readProof(headers.dpop).header);
    expect(second).toEqual(first);
    expect(issuer.tokenRequests).toHaveLength(1);
  });

  it('is not what the store holds where the host wants it otherwise', async () => {
    const store = memoryTokenStore();
    const { issuer, server } = await start(
      {
        token: (_form, response, { headers }) =>
          sendJson(response, 200, {
            access_token: issuer.issue(),
            token_type: headers.dpop ? 'DPoP' : 'Bearer',
          }),
      },
      'Bearer, DPoP',
    );
    for (const dpop of [false, true, false]) await connect(server.url, issuer, { store, dpop });
    const sent = authorized(server).map(({ headers }) => headers.authorization?.replace(/ .*/, ''));
    expect(sent.filter((type, index) => type !== sent[index - 1])).toEqual(['Bearer', 'DPoP', 'Bearer']);
  });

  it('is asked for where the host insists, and not where it forbids it', async () => {
    const bearer: IssuerScript = {
      token: (_form, response, { headers }) =>
        sendJson(response, 200, { access_token: 'x', token_type: headers.dpop ? 'DPoP' : 'Bearer' }),
    };
    for (const [challenge, dpop, expected] of [
      ['Bearer', undefined, 'Bearer x'],
      ['Bearer', true, 'DPoP x'],
      ['Bearer, DPoP', undefined, 'DPoP x'],
      ['Bearer, DPoP', false, 'Bearer x'],
    ] as const) {
      const { issuer, server } = await start(bearer, challenge);
      await connect(server.url, issuer, dpop === undefined ? {} : { dpop });
      expect(authorized(server)[0]?.headers.authorization).toBe(expected);
    }
  });

  it.each([
    ['cannot bind it', { metadata: {} }, /does not bind tokens to keys with ES256/],
    [
      'does not bind it',
      { token: (_form, response) => sendJson(response, 200, { access_token: 'x', token_type: 'Bearer' }) },
      /issued a token of type "bearer" and not "dpop"/,
    ],
  ] as [string, IssuerScript, RegExp][])('is an error where the issuer %s', async (_, script, message) => {
    const { issuer, server } = await start(script);
    await expect(connect(server.url, issuer)).rejects.toThrow(message);
  });

  it('is issued by a real authorization server', async () => {
    const oidc = await startOidc({ features: { dPoP: { enabled: true } } });
    const seen: Received[] = [];
    const server = await ScriptedServer.start((received, response) => {
      if (received.path.startsWith('/.well-known')) {
        sendJson(response, 200, {
          resource: server.url,
          authorization_servers: [oidc.issuer],
          scopes_supported: ['read'],
        });
        return;
      }
      seen.push(received);
      const { id } = received.message;
      if (!received.headers.authorization) response.writeHead(401, { 'www-authenticate': 'DPoP' }).end();
      else
        sendJson(response, 200, {
          jsonrpc: '2.0',
          id,
          result: { resultType: 'complete', supportedVersions: ['2026-07-28'] },
        });
    });
    const authorizer = oauth({ onRedirect: async (url) => void (await browse(url)) });
    const client = await McpClient.http(server.url, { authorizer });
    closeBehindTest(() => client.close());
    const { authorization, dpop } = seen.at(-1)?.headers ?? {};
    const token = await oidc.provider.AccessToken.find(authorization?.replace('DPoP ', '') ?? '');
    expect(token?.tokenType).toBe('DPoP');
    expect(token?.jkt).toBe(thumbprint(readProof(dpop).header));
  });
});

describe('a key', () => {
  it('survives being written and read', async () => {
    const key = await DpopKey.generate();
    const copy = DpopKey.fromJwk(key.toJwk());
    expect(copy?.thumbprint).toBe(key.thumbprint);
  });

  it.each([{}, { kty: 'EC' }, { kty: 'oct', k: 'AA' }])('is not read from %j', (jwk) => {
    expect(DpopKey.fromJwk(jwk)).toBeUndefined();
  });

  it('leaves the query out of its proofs, and takes only nonces that are such', async () => {
    const key = await DpopKey.generate();
    const url = new URL('https://mcp.example.com/mcp?secret=x#y');
    expect(key.takeNonce(url, { 'dpop-nonce': 'a b' })).toBe(false);
    expect(key.takeNonce(url, {})).toBe(false);
    expect(key.takeNonce(url, { 'dpop-nonce': 'n' })).toBe(true);
    expect(key.takeNonce(url, { 'dpop-nonce': 'n' })).toBe(false);
    expect(readProof(key.proof({ method: 'GET', url })).claims).toMatchObject({
      htu: 'https://mcp.example.com/mcp',
      nonce: 'n',
    });
    expect(
      readProof(key.proof({ method: 'GET', url: new URL('https://other.example.com/') })).claims.nonce,
    ).toBe(undefined);
  });
});

function thumbprint({ jwk }: JsonObject): string {
  if (!isJsonObject(jwk)) throw new Error('There is no key');
  const { crv, kty, x, y } = jwk;
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}
