import { describe, expect, it } from 'vitest';
import { McpClient, memoryTokenStore, type OAuthOptions, oauth } from '../../../src/protocol/index.ts';
import { closeBehindTest } from '../../transport/http/scripted-server.ts';
import { protect } from './protected-server.ts';
import { ScriptedIssuer, sendJson } from './scripted-issuer.ts';

/** Connects once to a server that this issuer guards, as a user who agrees. */
async function connect(issuer: ScriptedIssuer, options: Partial<OAuthOptions> = {}): Promise<void> {
  const server = await protect(issuer.url, (token) =>
    issuer.tokens.has(token) ? { scopes: [] } : undefined,
  );
  const authorizer = oauth({ onRedirect: issuer.agree, ...options });
  const client = await McpClient.http(server.url, { authorizer });
  closeBehindTest(() => client.close());
}

const clientIds = ({ authorizations }: ScriptedIssuer) => authorizations.map((sent) => sent.get('client_id'));

describe('the client', () => {
  it('is the one that was given, before all others', async () => {
    const issuer = await ScriptedIssuer.start({ metadata: { client_id_metadata_document_supported: true } });
    await connect(issuer, {
      clientRegistration: { clientId: 'given' },
      clientMetadataUrl: 'https://app.example.com/client.json',
    });
    expect(clientIds(issuer)).toEqual(['given']);
    expect(issuer.registrations).toEqual([]);
  });

  it('is its metadata document where the server supports that', async () => {
    const issuer = await ScriptedIssuer.start({ metadata: { client_id_metadata_document_supported: true } });
    await connect(issuer, { clientMetadataUrl: 'https://app.example.com/client.json' });
    expect(clientIds(issuer)).toEqual(['https://app.example.com/client.json']);
    expect(issuer.tokenRequests[0]?.get('client_id')).toBe('https://app.example.com/client.json');
    expect(issuer.registrations).toEqual([]);
  });

  it('registers itself elsewhere, as a native application', async () => {
    const issuer = await ScriptedIssuer.start();
    await connect(issuer, { clientMetadataUrl: 'https://app.example.com/client.json', clientName: 'Editor' });
    expect(issuer.registrations).toEqual([
      {
        client_name: 'Editor',
        redirect_uris: [issuer.authorizations[0]?.get('redirect_uri')],
        application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    ]);
    expect(clientIds(issuer)).toEqual(['client-1']);
  });

  it('registers itself as a web application where its redirects go elsewhere', async () => {
    const issuer = await ScriptedIssuer.start({
      metadata: {
        grant_types_supported: ['authorization_code'],
        token_endpoint_auth_methods_supported: undefined,
      },
    });
    let landed: URL | undefined;
    await connect(issuer, {
      redirect: 'https://app.example.com/callback',
      onRedirect: (url) => {
        landed = issuer.redirectFor(url);
      },
      waitForCode: async () => {
        await new Promise(setImmediate);
        return landed ?? '';
      },
    });
    expect(issuer.registrations[0]).toMatchObject({
      redirect_uris: ['https://app.example.com/callback'],
      application_type: 'web',
      grant_types: ['authorization_code'],
      token_endpoint_auth_method: 'client_secret_basic',
    });
  });

  it('proves itself as the server that registered it said', async () => {
    const issuer = await ScriptedIssuer.start({
      metadata: { token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'] },
      register: (_body, response) =>
        sendJson(response, 200, {
          client_id: 'id',
          client_secret: 's',
          token_endpoint_auth_method: 'client_secret_post',
        }),
    });
    await connect(issuer);
    expect(issuer.tokenRequests[0]?.get('client_secret')).toBe('s');
  });

  it('proves itself by a header where the server says nothing, without more escapes than needed', async () => {
    const issuer = await ScriptedIssuer.start({
      metadata: { token_endpoint_auth_methods_supported: undefined },
      register: (_body, response) =>
        sendJson(response, 201, { client_id: 'my-id.1_', client_secret: 'a:b c%' }),
    });
    await connect(issuer);
    const { authorization } = issuer.received.at(-1)?.headers ?? {};
    expect(atob(authorization?.replace('Basic ', '') ?? '')).toBe('my-id.1_:a%3Ab+c%25');
    expect(issuer.tokenRequests[0]?.has('client_id')).toBe(false);
  });

  it('is kept for its issuer, and asked for at the port that is registered', async () => {
    const store = memoryTokenStore();
    const issuer = await ScriptedIssuer.start();
    await connect(issuer, { store });
    await connect(issuer, { store });
    expect(clientIds(issuer)).toEqual(['client-1', 'client-1']);
    const redirects = issuer.authorizations.map((sent) => sent.get('redirect_uri'));
    expect(new Set(redirects).size).toBe(1);
    const other = await ScriptedIssuer.start();
    await connect(other, { store });
    expect(other.registrations).toHaveLength(1);
  });

  it('is registered anew when its port is taken, or its secret has run out', async () => {
    const store = memoryTokenStore();
    const issuer = await ScriptedIssuer.start();
    await connect(issuer, { store });
    const port = Number(new URL(issuer.authorizations[0]?.get('redirect_uri') ?? '').port);
    // Somebody else listens there now.
    await connect(issuer, {
      store,
      redirect: { port },
      onRedirect: async (url) => {
        await connect(issuer, { store });
        await issuer.agree(url);
      },
    });
    expect(issuer.registrations).toHaveLength(2);
    const expired = await ScriptedIssuer.start({
      register: (_body, response) =>
        sendJson(response, 201, { client_id: 'id', client_secret: 's', client_secret_expires_at: 1 }),
    });
    await connect(expired, { store });
    await connect(expired, { store });
    expect(expired.registrations).toHaveLength(2);
  });

  it('that was given is shown to no other issuer than its own', async () => {
    const issuer = await ScriptedIssuer.start();
    const other = await ScriptedIssuer.start();
    const store = memoryTokenStore();
    const clientRegistration = { clientId: 'given', clientSecret: 'secret' };
    await connect(issuer, { store, clientRegistration });
    await expect(connect(other, { store, clientRegistration })).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: `Cannot authorize at "${other.url}": client "given" is registered with "${issuer.url}"`,
    });
    const named = { ...clientRegistration, issuer: issuer.url };
    await expect(connect(other, { clientRegistration: named })).rejects.toThrow(/is registered with/);
    expect(other.authorizations).toEqual([]);
    expect(other.tokenRequests).toEqual([]);
  });

  it('is forgotten when the server does not know it any more', async () => {
    const store = memoryTokenStore();
    let isKnown = true;
    const issuer: ScriptedIssuer = await ScriptedIssuer.start({
      token: (_form, response) => {
        if (!isKnown) sendJson(response, 401, { error: 'invalid_client' });
        else sendJson(response, 200, { access_token: issuer.issue(), token_type: 'bearer' });
      },
    });
    await connect(issuer, { store });
    isKnown = false;
    await expect(connect(issuer, { store })).rejects.toThrow(
      `"${issuer.url}" refuses to authorize: invalid_client`,
    );
    isKnown = true;
    await connect(issuer, { store });
    expect(issuer.registrations).toHaveLength(2);
  });

  it('that cannot be registered is an error that says what would do', async () => {
    const closed = await ScriptedIssuer.start({ metadata: { registration_endpoint: undefined } });
    await expect(connect(closed)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: `Cannot authorize at "${closed.url}": this client is not known there and cannot register itself; give clientRegistration`,
    });
    const documents = await ScriptedIssuer.start({
      metadata: { registration_endpoint: undefined, client_id_metadata_document_supported: true },
    });
    await expect(connect(documents)).rejects.toThrow(/give clientMetadataUrl or clientRegistration/);
    const strict = await ScriptedIssuer.start({
      register: (_body, response) =>
        sendJson(response, 400, { error: 'invalid_redirect_uri', error_description: 'no\u001b[2Jloopback' }),
    });
    await expect(connect(strict)).rejects.toThrow(
      `Cannot register this client at "${strict.url}": status 400: invalid_redirect_uri: no [2Jloopback`,
    );
  });
});
