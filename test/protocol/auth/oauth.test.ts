import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  fileTokenStore,
  McpClient,
  memoryTokenStore,
  type OAuthOptions,
  oauth,
  type TokenStore,
} from '../../../src/protocol/index.ts';
import type { HttpAuthorizer } from '../../../src/transport/index.ts';
import { closeBehindTest } from '../../transport/http/scripted-server.ts';
import { browse } from './browser.ts';
import { type OidcServer, startOidc } from './oidc-server.ts';
import { protect } from './protected-server.ts';

const HOUR_MS = 3_600_000;

afterEach(() => vi.useRealTimers());

/** A user who does what the pages ask for, and what they were shown. */
function signingIn(options: Partial<OAuthOptions> = {}) {
  const shown: URL[] = [];
  const authorizer = oauth({
    onRedirect: async (url) => {
      shown.push(url);
      await browse(url);
    },
    ...options,
  });
  return { authorizer, shown };
}

async function connect(url: string, authorizer: HttpAuthorizer): Promise<McpClient> {
  const client = await McpClient.http(url, { authorizer });
  closeBehindTest(() => client.close());
  return client;
}

const grants = ({ asked }: OidcServer) => asked.filter((entry) => !entry.includes('/'));

const many = (client: McpClient) => Promise.all(Array.from({ length: 20 }, () => client.callTool('read')));

describe('oauth, with a real authorization server,', () => {
  it('finds it, registers, and signs the user in', async () => {
    const oidc = await startOidc();
    const server = await protect(oidc.issuer, oidc.verify, { scopesSupported: ['read'] });
    const { authorizer, shown } = signingIn();
    const client = await connect(server.url, authorizer);
    expect(await client.callTool('read')).toMatchObject({ content: [{ text: 'something' }] });
    expect(shown).toHaveLength(1);
    const asked = Object.fromEntries(shown[0]?.searchParams ?? []);
    expect(asked).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      resource: server.url,
      scope: 'read offline_access',
      prompt: 'consent',
    });
    expect(asked.redirect_uri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect(oidc.asked.slice(0, 3)).toEqual([
      'GET /.well-known/oauth-authorization-server',
      'POST /reg',
      'GET /auth',
    ]);
    expect(grants(oidc)).toEqual(['authorization_code']);
    expect(server.seen[0]).toBeUndefined();
    expect(new Set(server.seen.slice(1)).size).toBe(1);
  });

  it('renews a token that is about to expire once for all calls, and again with what that brought', async () => {
    const oidc = await startOidc();
    const server = await protect(oidc.issuer, oidc.verify, { scopesSupported: ['read'] });
    const { authorizer, shown } = signingIn();
    const client = await connect(server.url, authorizer);
    vi.useFakeTimers({ toFake: ['Date'] });
    for (const times of [1, 2]) {
      vi.setSystemTime(Date.now() + HOUR_MS);
      server.seen.length = 0;
      for (const result of await many(client))
        expect(result).toMatchObject({ content: [{ text: 'something' }] });
      expect(grants(oidc)).toEqual(['authorization_code', ...Array(times).fill('refresh_token')]);
      expect(server.seen).toHaveLength(20);
      expect(new Set(server.seen).size).toBe(1);
    }
    expect(shown).toHaveLength(1);
  });

  it('renews a token that is refused once for all calls', async () => {
    const oidc = await startOidc();
    const server = await protect(oidc.issuer, oidc.verify, { scopesSupported: ['read'] });
    const { authorizer, shown } = signingIn();
    const client = await connect(server.url, authorizer);
    await revokeAccess(oidc, server.seen.at(-1));
    for (const result of await many(client))
      expect(result).toMatchObject({ content: [{ text: 'something' }] });
    expect(grants(oidc)).toEqual(['authorization_code', 'refresh_token']);
    expect(shown).toHaveLength(1);
  });

  it('renews a token once for all who share the store', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mcpwire-tokens-'));
    closeBehindTest(() => rm(folder, { recursive: true }));
    const store = () => fileTokenStore(join(folder, 'tokens.json'));
    const oidc = await startOidc();
    const server = await protect(oidc.issuer, oidc.verify, { scopesSupported: ['read'] });
    const first = signingIn({ store: store() });
    const others = [signingIn({ store: store() }), signingIn({ store: store() })];
    const clients = [await connect(server.url, first.authorizer)];
    for (const { authorizer } of others) clients.push(await connect(server.url, authorizer));
    vi.useFakeTimers({ toFake: ['Date'] });
    vi.setSystemTime(Date.now() + HOUR_MS);
    await Promise.all(clients.map(many));
    expect(grants(oidc)).toEqual(['authorization_code', 'refresh_token']);
    expect(others.flatMap(({ shown }) => shown)).toEqual([]);
  });

  it('asks for more scopes, beside those it has, when an operation needs them', async () => {
    const oidc = await startOidc();
    const server = await protect(oidc.issuer, oidc.verify, { scopesSupported: ['read'] });
    const { authorizer, shown } = signingIn();
    const client = await connect(server.url, authorizer);
    expect(await client.callTool('write')).toMatchObject({ content: [{ text: 'written' }] });
    expect(await client.callTool('write')).toMatchObject({ content: [{ text: 'written' }] });
    expect(await client.callTool('read')).toMatchObject({ content: [{ text: 'something' }] });
    expect(shown.map(({ searchParams }) => searchParams.get('scope'))).toEqual([
      'read offline_access',
      'read write offline_access',
    ]);
  });

  it('signs the user in anew when the authorization was taken back', async () => {
    const oidc = await startOidc();
    const server = await protect(oidc.issuer, oidc.verify, { scopesSupported: ['read'] });
    const { authorizer, shown } = signingIn();
    const client = await connect(server.url, authorizer);
    const token = await oidc.provider.AccessToken.find(server.seen.at(-1)?.replace('Bearer ', '') ?? '');
    await oidc.provider.RefreshToken.revokeByGrantId(token?.grantId ?? '');
    await token?.destroy();
    expect(await client.callTool('read')).toMatchObject({ content: [{ text: 'something' }] });
    expect(shown).toHaveLength(2);
    expect(grants(oidc)).toEqual([
      'authorization_code',
      'refresh_token: invalid_grant',
      'authorization_code',
    ]);
  });

  it('goes on with what is in its store', async () => {
    const oidc = await startOidc();
    const server = await protect(oidc.issuer, oidc.verify, { scopesSupported: ['read'] });
    const store = memoryTokenStore();
    await connect(server.url, signingIn({ store }).authorizer);
    const { authorizer, shown } = signingIn({ store });
    const client = await connect(server.url, authorizer);
    await revokeAccess(oidc, server.seen.at(-1));
    expect(await client.callTool('read')).toMatchObject({ content: [{ text: 'something' }] });
    expect(shown).toEqual([]);
    expect(grants(oidc)).toEqual(['authorization_code', 'refresh_token']);
  });

  it('revokes and forgets the tokens when the user signs out', async () => {
    const oidc = await startOidc();
    const server = await protect(oidc.issuer, oidc.verify, { scopesSupported: ['read'] });
    const values = new Map<string, string>();
    const store: TokenStore = {
      get: (key) => (values.has(key) ? JSON.parse(values.get(key) ?? '') : undefined),
      set: (key, value) => void values.set(key, JSON.stringify(value)),
      delete: (key) => void values.delete(key),
    };
    const { authorizer } = signingIn({ store });
    await connect(server.url, authorizer);
    const token = server.seen.at(-1)?.replace('Bearer ', '') ?? '';
    expect(await oidc.verify(token, server.url)).toBeDefined();
    expect([...values.keys()].sort()).toEqual([`client ${oidc.issuer}`, `tokens ${server.url}`]);
    await authorizer.logout(server.url);
    expect(values.size).toBe(0);
    expect(await oidc.verify(token, server.url)).toBeUndefined();
    expect(oidc.asked.filter((entry) => entry === 'POST /token/revocation')).toHaveLength(2);
  });

  it('does not count the time that the user takes', async () => {
    const oidc = await startOidc();
    const server = await protect(oidc.issuer, oidc.verify, { scopesSupported: ['read'] });
    const { authorizer } = signingIn({
      onRedirect: async (url) => {
        await setTimeout(1500);
        await browse(url);
      },
    });
    const options = { authorizer, probeTimeoutMs: 1000, connectTimeoutMs: 1000 };
    const client = await McpClient.http(server.url, options);
    closeBehindTest(() => client.close());
    expect(client.dialect).toBe('stateless');
  });

  it('ends with an error when the server refuses even a new token', async () => {
    const oidc = await startOidc();
    const server = await protect(oidc.issuer, () => undefined, { scopesSupported: ['read'] });
    const { authorizer, shown } = signingIn();
    await expect(McpClient.http(server.url, { authorizer })).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: `"${server.url}" refuses the access token that "${oidc.issuer}" has just issued: invalid_token: the token is not valid here`,
    });
    expect(shown).toHaveLength(1);
  });
});

async function revokeAccess(oidc: OidcServer, authorization: string | undefined): Promise<void> {
  const token = await oidc.provider.AccessToken.find(authorization?.replace('Bearer ', '') ?? '');
  await token?.destroy();
}
