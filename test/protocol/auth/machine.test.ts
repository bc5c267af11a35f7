import { generateKeyPairSync, type KeyObject, verify, webcrypto } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import type { JsonObject } from '../../../src/jsonrpc/index.ts';
import {
  type ClientCredentialsOptions,
  clientCredentials,
  type EnterpriseOptions,
  enterpriseManaged,
  McpClient,
  workloadIdentity,
} from '../../../src/protocol/index.ts';
import type { HttpAuthorizer } from '../../../src/transport/index.ts';
import { closeBehindTest } from '../../transport/http/scripted-server.ts';
import { startOidc } from './oidc-server.ts';
import { protect } from './protected-server.ts';
import { type IssuerScript, ScriptedIssuer, sendJson } from './scripted-issuer.ts';

async function connect(url: string, authorizer: HttpAuthorizer): Promise<McpClient> {
  const client = await McpClient.http(url, { authorizer });
  closeBehindTest(() => client.close());
  return client;
}

async function guarded(script: IssuerScript = {}) {
  const issuer = await ScriptedIssuer.start(script);
  const server = await protect(issuer.url, (token) =>
    issuer.tokens.has(token) ? { scopes: ['write'] } : undefined,
  );
  return { issuer, server };
}

const claimsOf = (jwt: string): JsonObject =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
const headerOf = (jwt: string): JsonObject =>
  JSON.parse(Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString());

describe('clientCredentials', () => {
  it('gets a token of a real authorization server with a secret', async () => {
    const oidc = await startOidc({
      clients: [
        {
          client_id: 'service',
          client_secret: 'a secret: with %',
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
    });
    const server = await protect(oidc.issuer, oidc.verify, { scopesSupported: ['read'] });
    const credentials = { clientId: 'service', clientSecret: 'a secret: with %' };
    const client = await connect(server.url, clientCredentials(credentials));
    expect(await client.callTool('write')).toMatchObject({ content: [{ text: 'written' }] });
    expect(oidc.asked.filter((entry) => !entry.includes('/'))).toEqual([
      'client_credentials',
      'client_credentials',
    ]);
  });

  it.each([
    ['rsa', 'RS256', {}],
    ['rsa', 'PS384', { algorithm: 'PS384' as const }],
    ['ec', 'ES256', {}],
    ['ed25519', 'Ed25519', {}],
  ])('proves itself with a private key of kind %s by %s', async (kind, algorithm, options) => {
    const { issuer, server } = await guarded();
    const { privateKey, publicKey } = keyPair(kind);
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const credentials = { clientId: 'service', privateKey: pem, keyId: 'k1', ...options };
    await connect(server.url, clientCredentials(credentials));
    const form = issuer.tokenRequests[0];
    expect(form?.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    const assertion = form?.get('client_assertion') ?? '';
    expect(headerOf(assertion)).toEqual({ alg: algorithm, kid: 'k1' });
    expect(claimsOf(assertion)).toMatchObject({ iss: 'service', sub: 'service', aud: issuer.url });
    if (kind === 'ec') {
      const [header, claims, signature = ''] = assertion.split('.');
      const key = { key: publicKey, dsaEncoding: 'ieee-p1363' as const };
      const signed = Buffer.from(`${header}.${claims}`);
      expect(verify('sha256', signed, key, Buffer.from(signature, 'base64url'))).toBe(true);
    }
  });

  it('takes a key as JWK and as a key of Web Crypto', async () => {
    const { issuer, server } = await guarded();
    const { privateKey } = keyPair('ec');
    const jwk = privateKey.export({ format: 'jwk' });
    const parameters = { name: 'ECDSA', namedCurve: 'P-256' };
    const key = await webcrypto.subtle.importKey('jwk', jwk, parameters, false, ['sign']);
    await connect(server.url, clientCredentials({ clientId: 'service', privateKey: jwk }));
    await connect(server.url, clientCredentials({ clientId: 'service', privateKey: key }));
    const assertions = issuer.tokenRequests.map((form) => headerOf(form.get('client_assertion') ?? ''));
    expect(assertions).toEqual([{ alg: 'ES256' }, { alg: 'ES256' }]);
  });

  it('gets another token before the first one expires, without a refresh token', async () => {
    const { issuer, server } = await guarded({
      token: (_form, response) =>
        sendJson(response, 200, {
          access_token: issuer.issue(),
          token_type: 'Bearer',
          expires_in: 3600,
          refresh_token: 'unwanted',
        }),
    });
    const client = await connect(server.url, clientCredentials({ clientId: 'service', clientSecret: 's' }));
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      vi.setSystemTime(Date.now() + 3_590_000);
      await Promise.all(Array.from({ length: 20 }, () => client.callTool('read')));
    } finally {
      vi.useRealTimers();
    }
    expect(issuer.tokenRequests.map((form) => form.get('grant_type'))).toEqual([
      'client_credentials',
      'client_credentials',
    ]);
    expect(server.seen.at(-1)).toBe('Bearer token-2');
  });

  it('goes on with a token that cannot be renewed yet, as long as it is good', async () => {
    let isUp = true;
    const { issuer, server } = await guarded({
      token: (_form, response) => {
        if (!isUp) response.writeHead(503).end();
        else
          sendJson(response, 200, { access_token: issuer.issue(), token_type: 'Bearer', expires_in: 3600 });
      },
    });
    const client = await connect(server.url, clientCredentials({ clientId: 'service', clientSecret: 's' }));
    isUp = false;
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      vi.setSystemTime(Date.now() + 3_590_000);
      for (let call = 0; call < 3; call++) await client.callTool('read');
      expect(issuer.tokenRequests).toHaveLength(2);
      vi.setSystemTime(Date.now() + 10_000);
      expect(server.seen.at(-1)).toBe('Bearer token-1');
    } finally {
      vi.useRealTimers();
    }
  });

  it('declares the extension that it is', async () => {
    const { issuer, server } = await guarded();
    const authorizer = clientCredentials({ clientId: 'service', clientSecret: 's' });
    const client = await connect(server.url, authorizer);
    expect(issuer.tokenRequests).toHaveLength(1);
    expect(await client.callTool('extensions')).toMatchObject({
      content: [{ text: '{"io.modelcontextprotocol/oauth-client-credentials":{}}' }],
    });
  });

  it('shows its secret to no other issuer', async () => {
    const { issuer, server } = await guarded();
    const authorizer = clientCredentials({
      clientId: 'service',
      clientSecret: 's',
      issuer: 'https://auth.example.com',
    });
    await expect(McpClient.http(server.url, { authorizer })).rejects.toThrow(/is registered with/);
    const other = await guarded();
    const bound = clientCredentials({ clientId: 'service', clientSecret: 's' });
    await connect(other.server.url, bound);
    await expect(McpClient.http(server.url, { authorizer: bound })).rejects.toThrow(/is registered with/);
    expect(issuer.tokenRequests).toEqual([]);
  });

  it.each<[Partial<ClientCredentialsOptions>, RegExp]>([
    [{}, /needs a clientSecret or a privateKey/],
    [{ privateKey: 'secret stuff' }, /^clientCredentials.privateKey must be a private key/],
    [{ privateKey: { kty: 'EC', d: 'secret' } }, /^clientCredentials.privateKey must be a private key/],
  ])('refuses credentials of no use at once: %j', (options, message) => {
    expect(() => clientCredentials({ clientId: 'service', ...options })).toThrow(message);
  });
});

describe('workloadIdentity', () => {
  it('exchanges the assertion for a token, without a client', async () => {
    const { issuer, server } = await guarded();
    const audiences: unknown[] = [];
    const assertion = (audience: unknown) => {
      audiences.push(audience);
      return 'a.b.c';
    };
    await connect(server.url, workloadIdentity({ assertion, scopes: ['read'] }));
    expect(Object.fromEntries(issuer.tokenRequests[0] ?? [])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: 'a.b.c',
      resource: server.url,
      scope: 'read',
    });
    expect(audiences).toEqual([{ issuer: issuer.url }]);
  });

  it('names its client where it has one', async () => {
    const { issuer, server } = await guarded();
    await connect(server.url, workloadIdentity({ assertion: 'a.b.c', clientId: 'workload' }));
    expect(issuer.tokenRequests[0]?.get('client_id')).toBe('workload');
  });

  it.each(['invalid_grant', 'invalid_scope', 'unauthorized_client'])(
    'takes %s for an answer, and tries nothing else',
    async (error) => {
      const { issuer, server } = await guarded({
        token: (_form, response) => sendJson(response, 400, { error }),
      });
      const authorizer = workloadIdentity({ assertion: 'a.b.c' });
      await expect(McpClient.http(server.url, { authorizer })).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
        message: `"${issuer.url}" refuses to authorize: ${error}`,
      });
      expect(issuer.tokenRequests).toHaveLength(1);
      expect(issuer.registrations).toEqual([]);
    },
  );

  it('needs an assertion', () => {
    expect(() => workloadIdentity({ assertion: '' })).toThrow(/assertion must be a JWT/);
  });
});

describe('enterpriseManaged', () => {
  const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
  const issueGrant = (answer: JsonObject = {}): IssuerScript => ({
    token: (_form, response) =>
      sendJson(response, 200, {
        ...{ access_token: 'grant.of.idp', issued_token_type: ID_JAG, token_type: 'N_A', expires_in: 300 },
        ...answer,
      }),
  });

  async function enterprise(idpScript: IssuerScript, options: Partial<EnterpriseOptions> = {}) {
    const idp = await ScriptedIssuer.start(idpScript);
    const { issuer, server } = await guarded();
    const authorizer = enterpriseManaged({
      clientId: 'client at the server',
      clientSecret: 's',
      identityProvider: { issuer: idp.url, clientId: 'client at the idp' },
      identity: () => 'id.token.of.user',
      ...options,
    });
    return { idp, issuer, server, authorizer };
  }

  it('exchanges the identity for a grant, and the grant for a token', async () => {
    const { idp, issuer, server, authorizer } = await enterprise(issueGrant(), { scopes: ['read'] });
    const client = await connect(server.url, authorizer);
    expect(Object.fromEntries(idp.tokenRequests[0] ?? [])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: ID_JAG,
      audience: issuer.url,
      resource: server.url,
      scope: 'read',
      subject_token: 'id.token.of.user',
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      client_id: 'client at the idp',
    });
    expect(Object.fromEntries(issuer.tokenRequests[0] ?? [])).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: 'grant.of.idp',
      resource: server.url,
    });
    expect(await client.callTool('extensions')).toMatchObject({
      content: [{ text: '{"io.modelcontextprotocol/enterprise-managed-authorization":{}}' }],
    });
  });

  it('goes where it was told, with a SAML assertion where that is what it has', async () => {
    const { idp, server, authorizer } = await enterprise(issueGrant(), { identityType: 'saml2' });
    await connect(server.url, authorizer);
    expect(idp.tokenRequests[0]?.get('subject_token_type')).toBe('urn:ietf:params:oauth:token-type:saml2');
    const direct = await enterprise(issueGrant());
    const told = enterpriseManaged({
      clientId: 'c',
      identity: 'x',
      identityProvider: {
        issuer: 'https://idp.invalid',
        tokenEndpoint: `${direct.idp.url}/token`,
        clientId: 'd',
      },
    });
    await connect(direct.server.url, told);
    expect(direct.idp.asked).toEqual(['POST /token']);
  });

  it.each([
    [
      'another type of grant',
      { issued_token_type: 'urn:ietf:params:oauth:token-type:jwt' },
      /no identity assertion/,
    ],
    ['an access token', { token_type: 'Bearer' }, /type "bearer" and not "n_a"/],
  ])('refuses %s', async (_, answer, message) => {
    const { issuer, server, authorizer } = await enterprise(issueGrant(answer));
    await expect(McpClient.http(server.url, { authorizer })).rejects.toThrow(message);
    expect(issuer.tokenRequests).toEqual([]);
  });

  it.each([
    [{ issuer: 'urn:example:idp' }, /identityProvider.issuer must be an https address/],
    [{ issuer: 'http://idp.example.com' }, /identityProvider.issuer must be an https address/],
    [{ tokenEndpoint: 'http://idp.example.com/token' }, /identityProvider.tokenEndpoint must be an https/],
    [{ clientId: '' }, /identityProvider.clientId/],
  ])('refuses an identity provider with %j at once', (part, message) => {
    const identityProvider = { issuer: 'https://idp.example.com', clientId: 'c', ...part };
    expect(() => enterpriseManaged({ clientId: 'c', identity: 'x', identityProvider })).toThrow(message);
  });

  it('says that the organization refuses', async () => {
    const { idp, server, authorizer } = await enterprise({
      token: (_form, response) =>
        sendJson(response, 400, { error: 'access_denied', error_description: 'policy' }),
    });
    await expect(McpClient.http(server.url, { authorizer })).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: `"${idp.url}" refuses to authorize: access_denied: policy`,
    });
  });
});

function keyPair(kind: string): { privateKey: KeyObject; publicKey: KeyObject } {
  if (kind === 'rsa') return generateKeyPairSync('rsa', { modulusLength: 2048 });
  if (kind === 'ec') return generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return generateKeyPairSync('ed25519');
}
