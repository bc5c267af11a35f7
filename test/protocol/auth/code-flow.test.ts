import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/jsonrpc/index.ts';
import { McpClient, type OAuthOptions, oauth } from '../../../src/protocol/index.ts';
import { closeBehindTest } from '../../transport/http/scripted-server.ts';
import { protect } from './protected-server.ts';
import { type IssuerScript, ScriptedIssuer, sendJson } from './scripted-issuer.ts';

async function connect(issuer: ScriptedIssuer, options: Partial<OAuthOptions> = {}, scopes?: string[]) {
  const server = await protect(
    issuer.url,
    (token) => (issuer.tokens.has(token) ? { scopes: [] } : undefined),
    scopes && { scopesSupported: scopes },
  );
  const authorizer = oauth({ onRedirect: issuer.agree, ...options });
  const client = await McpClient.http(server.url, { authorizer });
  closeBehindTest(() => client.close());
  return server;
}

async function refused(script: IssuerScript, options: Partial<OAuthOptions> = {}) {
  const issuer = await ScriptedIssuer.start(script);
  const error = await connect(issuer, options).then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(error).toMatchObject({ code: 'UNAUTHORIZED' });
  return { issuer, message: String(error.message).replaceAll(issuer.url, 'ISSUER') };
}

describe('the authorization code flow', () => {
  it('asks for a token with the code, the verifier and the resource', async () => {
    const issuer = await ScriptedIssuer.start();
    const server = await connect(issuer);
    const [asked] = issuer.authorizations;
    expect(Object.fromEntries(issuer.tokenRequests[0] ?? [])).toEqual({
      grant_type: 'authorization_code',
      code: 'code',
      redirect_uri: asked?.get('redirect_uri'),
      code_verifier: expect.stringMatching(/^[\w-]{43}$/),
      resource: server.url,
      client_id: 'client-1',
    });
    expect(asked?.get('resource')).toBe(server.url);
    expect(asked?.has('scope')).toBe(false);
  });

  it('keeps the query of an authorization endpoint that has one', async () => {
    const issuer = await ScriptedIssuer.start({
      metadata: { authorization_endpoint: 'https://auth.example.com/a?tenant=1' },
    });
    const shown: URL[] = [];
    await connect(issuer, {
      onRedirect: async (url) => {
        shown.push(url);
        await issuer.agree(url);
      },
    });
    expect(shown[0]?.href).toMatch(/^https:\/\/auth\.example\.com\/a\?tenant=1&response_type=code&/);
  });

  it.each([
    [undefined, ['a'], 'a', null],
    [['a', 'offline_access'], ['a'], 'a offline_access', 'consent'],
    [['offline_access'], undefined, null, null],
    [['a'], ['a', 'b'], 'a b', null],
  ])('asks for offline access only where it is on offer: %j', async (offered, supported, scope, prompt) => {
    const issuer = await ScriptedIssuer.start({ metadata: { scopes_supported: offered } as JsonObject });
    await connect(issuer, {}, supported);
    expect(issuer.authorizations[0]?.get('scope')).toBe(scope);
    expect(issuer.authorizations[0]?.get('prompt')).toBe(prompt);
  });

  it('asks for the scopes of the challenge, whatever the metadata of the resource says', async () => {
    const issuer = await ScriptedIssuer.start();
    const server = await protect(
      issuer.url,
      (token) => (issuer.tokens.has(token) ? { scopes: ['b', 'd'] } : undefined),
      { requiredScopes: ['b', 'd'], scopesSupported: ['a', 'b'] },
    );
    const client = await McpClient.http(server.url, { authorizer: oauth({ onRedirect: issuer.agree }) });
    closeBehindTest(() => client.close());
    expect(issuer.authorizations.map((sent) => sent.get('scope'))).toEqual(['b d']);
  });

  it('asks for the scopes that the host wants instead of all that there are', async () => {
    const issuer = await ScriptedIssuer.start();
    await connect(issuer, { scopes: ['b'] }, ['a', 'b', 'c']);
    expect(issuer.authorizations[0]?.get('scope')).toBe('b');
  });

  it.each([
    ['does not say whether it has PKCE', undefined],
    ['has only plain PKCE', ['plain']],
  ])('is refused where the server %s', async (_, methods) => {
    const { issuer, message } = await refused({
      metadata: { code_challenge_methods_supported: methods } as JsonObject,
    });
    expect(message).toMatch(/PKCE/);
    expect(issuer.authorizations).toEqual([]);
    expect(issuer.registrations).toEqual([]);
  });

  it.each([
    'http://auth.example.com/',
    'javascript:alert(1)',
    'https://honest.example@auth.example.com/',
    'https://192.168.1.1/reboot',
    'https://auth.example.com/#honest.example',
    undefined,
  ])('sends nobody to %s', async (endpoint) => {
    const { issuer, message } = await refused({
      metadata: { authorization_endpoint: endpoint } as JsonObject,
    });
    expect(message).toMatch(/authorization endpoint|^Cannot ask/);
    expect(issuer.authorizations).toEqual([]);
  });

  it('ends when the user takes too long, and listens no more', async () => {
    let address = '';
    const { message } = await refused(
      {},
      {
        timeoutMs: 50,
        onRedirect: ({ searchParams }) => {
          address = searchParams.get('redirect_uri') ?? '';
        },
      },
    );
    expect(message).toBe('Nobody answered the authorization at "ISSUER" within 50 ms');
    await expect(fetch(address)).rejects.toThrow();
  });

  it('ends when the connection is given up', async () => {
    const controller = new AbortController();
    const issuer = await ScriptedIssuer.start();
    const server = await protect(issuer.url, () => undefined);
    let address = '';
    const authorizer = oauth({
      onRedirect: ({ searchParams }) => {
        address = searchParams.get('redirect_uri') ?? '';
        controller.abort();
      },
    });
    await expect(McpClient.http(server.url, { authorizer, signal: controller.signal })).rejects.toMatchObject(
      {
        code: 'ABORTED',
      },
    );
    await expect.poll(() => fetch(address).catch(() => 'closed')).toBe('closed');
  });

  it('goes on as soon as the answer is there, however long the address is shown', async () => {
    const issuer = await ScriptedIssuer.start();
    await connect(issuer, {
      onRedirect: async (url) => {
        await issuer.agree(url);
        await new Promise(() => {});
      },
    });
    expect(issuer.tokenRequests).toHaveLength(1);
  });

  it('ends when the user takes too long, however long the address is shown', async () => {
    const { message } = await refused({}, { timeoutMs: 50, onRedirect: () => new Promise(() => {}) });
    expect(message).toBe('Nobody answered the authorization at "ISSUER" within 50 ms');
  });

  it('fails as the host fails to show the address', async () => {
    const issuer = await ScriptedIssuer.start();
    const onRedirect = () => {
      throw new Error('no browser');
    };
    await expect(connect(issuer, { onRedirect })).rejects.toMatchObject({
      code: 'HANDLER_FAILED',
      message: expect.stringMatching(/^Cannot sign in at ".*": onRedirect threw: no browser$/),
    });
  });
});

describe('the answer to an authorization', () => {
  const advertised = { authorization_response_iss_parameter_supported: true };

  it.each([
    ['named as advertised', advertised, {}],
    ['named all the same', {}, {}],
    ['not named where that is not advertised', {}, { iss: undefined }],
  ])('is accepted with its issuer %s', async (_, metadata, redirect) => {
    const issuer = await ScriptedIssuer.start({ metadata, redirect });
    await connect(issuer);
    expect(issuer.tokenRequests).toHaveLength(1);
  });

  it.each<[string, JsonObject, { [name: string]: string | undefined }]>([
    ['without the issuer that is advertised', advertised, { iss: undefined }],
    ['with another issuer', advertised, { iss: 'https://evil.example.com' }],
    ['with another issuer that is not advertised', {}, { iss: 'https://evil.example.com' }],
    ['with an empty issuer', {}, { iss: '' }],
    ['without a code', {}, { code: undefined }],
    ['with a token', {}, { code: undefined, token: 'x' }],
  ])('is refused %s', async (_, metadata, redirect) => {
    const { issuer, message } = await refused({ metadata, redirect });
    expect(message).toMatch(/^Cannot (use the answer to the authorization at|authorize at) "ISSUER": /);
    expect(issuer.tokenRequests).toEqual([]);
  });

  it.each([
    (url: string) => `${url}/`,
    (url: string) => url.replace('http', 'HTTP'),
    (url: string) => `${url}%2F`,
  ])('is refused with an issuer that is written in another way', async (variant) => {
    const redirect: { iss?: string } = {};
    const issuer = await ScriptedIssuer.start({ redirect });
    redirect.iss = variant(issuer.url);
    await expect(connect(issuer)).rejects.toThrow(/it is of another issuer/);
    expect(issuer.tokenRequests).toEqual([]);
  });

  it('is waited for by its state: others change nothing', async () => {
    const issuer = await ScriptedIssuer.start();
    const statuses: number[] = [];
    await connect(issuer, {
      onRedirect: async (url) => {
        const target = issuer.redirectFor(url);
        const state = target.searchParams.get('state') ?? '';
        for (const other of ['', 'other', `${state}x`]) {
          target.searchParams.set('state', other);
          statuses.push((await fetch(target)).status);
        }
        target.searchParams.set('state', state);
        statuses.push((await fetch(target)).status);
      },
    });
    expect(statuses).toEqual([400, 400, 400, 200]);
  });

  it('may be an error, in whose words nothing can take over a terminal', async () => {
    const description = 'no\u001b[2J way';
    const { message } = await refused({
      redirect: { code: undefined, error: 'access_denied', error_description: description },
    });
    expect(message).toBe('"ISSUER" refuses to authorize: access_denied: no [2J way');
  });

  it('is no error of another issuer, whose words are not shown', async () => {
    const { message } = await refused({
      redirect: {
        code: undefined,
        error: 'access_denied',
        error_description: 'call 555',
        iss: 'https://evil.example.com',
      },
    });
    expect(message).not.toContain('555');
    expect(message).not.toContain('access_denied');
  });
});

describe('an answer with the token', () => {
  it('may come with status 200 and be a refusal', async () => {
    const { message } = await refused({
      token: (_form, response) =>
        sendJson(response, 200, { error: 'bad_code', error_description: 'expired' }),
    });
    expect(message).toBe('"ISSUER" refuses to authorize: bad_code: expired');
  });

  it('may hold an ID token, which nobody reads', async () => {
    const issuer: ScriptedIssuer = await ScriptedIssuer.start({
      token: (_form, response) =>
        sendJson(response, 200, { access_token: issuer.issue(), token_type: 'Bearer', id_token: 'nonsense' }),
    });
    await connect(issuer);
  });

  it('is given to nobody in the words of an error', async () => {
    const { message } = await refused({
      token: (_form, response) =>
        sendJson(response, 200, { access_token: 'very-secret', token_type: 'Bearer', expires_in: {} }),
    });
    expect(message).toMatch(/^Cannot authorize at "ISSUER": status 200: /);
    expect(message).not.toContain('secret');
  });
});

describe('a refusal', () => {
  it.each(['code_verifier', 'client_secret'])(
    'does not repeat the %s, even where the server does',
    async (name) => {
      const { issuer, message } = await refused(
        {
          metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] },
          token: (form, response) =>
            sendJson(response, 400, {
              error: 'invalid_grant',
              error_description: `${'x'.repeat(180)} ${form.get(name)} is not right`,
            }),
        },
        { clientRegistration: { clientId: 'a', clientSecret: 'a secret of some length' } },
      );
      expect(message).toMatch(/ … is not right$/);
      expect(message).not.toContain(issuer.tokenRequests[0]?.get(name)?.slice(0, 8));
    },
  );
});

describe('the options of oauth', () => {
  const onRedirect = () => {};

  it.each<[Partial<OAuthOptions>, RegExp]>([
    [{ redirect: 'https://app.example.com/cb' }, /needs waitForCode/],
    [{ redirect: 'nonsense', waitForCode: async () => '' }, /redirect must be an address/],
    [{ redirect: 'http://app.example.com/cb', waitForCode: async () => '' }, /redirect must be https/],
    [{ redirect: 'com.example.app:/cb', waitForCode: async () => '' }, /redirect must be https/],
    [{ redirect: 'https://app.example.com/cb#x', waitForCode: async () => '' }, /redirect must be https/],
    [{ waitForCode: async () => '' }, /needs a redirect address/],
    [{ timeoutMs: 0 }, /timeoutMs/],
    [{ clientMetadataUrl: 'http://app.example.com/c.json' }, /clientMetadataUrl/],
    [{ clientMetadataUrl: 'https://app.example.com' }, /clientMetadataUrl/],
    [{ clientMetadataUrl: 'https://app.example.com/c.json#x' }, /clientMetadataUrl/],
    [{ clientMetadataUrl: 'https://app.example.com/a/../c.json' }, /clientMetadataUrl/],
    [{ clientMetadataUrl: 'https://APP.example.com/c.json' }, /clientMetadataUrl/],
    [{ clientMetadataUrl: 'https://me:secret@app.example.com/c.json' }, /clientMetadataUrl/],
    [{ clientRegistration: { clientId: '' } }, /clientRegistration.clientId/],
    [{ clientRegistration: { clientId: 'a', authMethod: 'client_secret_post' } }, /needs a clientSecret/],
    [{ clientRegistration: { clientId: 'a', authMethod: 'private_key_jwt' } }, /needs a privateKey/],
    [{ clientRegistration: { clientId: 'a', privateKey: 'very secret' } }, /must be a private key: PEM/],
  ])('of no use are refused at once: %j', (options, message) => {
    expect(() => oauth({ onRedirect, ...options })).toThrow(message);
  });
});
