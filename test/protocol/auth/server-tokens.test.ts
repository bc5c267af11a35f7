import { afterEach, describe, expect, it, vi } from 'vitest';
import type { JsonObject } from '../../../src/jsonrpc/index.ts';
import {
  McpClient,
  memoryTokenStore,
  type OAuthOptions,
  oauth,
  type TokenStore,
} from '../../../src/protocol/index.ts';
import { httpErrorOf } from '../../../src/transport/index.ts';
import { closeBehindTest } from '../../transport/http/scripted-server.ts';
import { protect } from './protected-server.ts';
import { type IssuerScript, ScriptedIssuer, sendJson } from './scripted-issuer.ts';

/** An issuer that also gives refresh tokens, and a server that takes its tokens. */
async function start(script: IssuerScript = {}, scopes: string[] = []) {
  const issuer: ScriptedIssuer = await ScriptedIssuer.start({
    token: (_form, response) => issueWithRefresh(issuer, response),
    ...script,
  });
  const server = await protect(issuer.url, (token) => (issuer.tokens.has(token) ? { scopes } : undefined));
  return { issuer, server };
}

function issueWithRefresh(
  issuer: ScriptedIssuer,
  response: Parameters<typeof sendJson>[0],
  more: JsonObject = {},
): void {
  const token = { access_token: issuer.issue(), token_type: 'Bearer' };
  sendJson(response, 200, { ...token, refresh_token: `refresh-${issuer.tokenRequests.length}`, ...more });
}

async function connect(url: string, issuer: ScriptedIssuer, options: Partial<OAuthOptions> = {}) {
  const authorizer = oauth({ onRedirect: issuer.agree, ...options });
  const client = await McpClient.http(url, { authorizer });
  closeBehindTest(() => client.close());
  return client;
}

afterEach(() => vi.useRealTimers());

const grants = ({ tokenRequests }: ScriptedIssuer) => tokenRequests.map((form) => form.get('grant_type'));
const many = (client: McpClient) => Array.from({ length: 20 }, () => client.callTool('read'));

describe('tokens for a server', () => {
  it('are asked for once by all requests that are refused at once', async () => {
    const { issuer, server } = await start({ token: (_form, response) => sendBearer(issuer, response) });
    const client = await connect(server.url, issuer);
    issuer.tokens.clear();
    await Promise.all(many(client));
    expect(grants(issuer)).toEqual(['authorization_code', 'authorization_code']);
  });

  it('that the user refuses fail all requests that wait, and are asked for again by the next one', async () => {
    const redirect: { error?: string; code?: string | undefined } = {};
    const { issuer, server } = await start({
      redirect,
      token: (_form, response) => sendBearer(issuer, response),
    });
    const client = await connect(server.url, issuer);
    issuer.tokens.clear();
    redirect.error = 'access_denied';
    for (const outcome of await Promise.allSettled(many(client))) {
      expect(outcome).toMatchObject({ reason: { code: 'UNAUTHORIZED', message: /access_denied/ } });
    }
    expect(issuer.authorizations).toHaveLength(2);
    delete redirect.error;
    await client.callTool('read');
    expect(issuer.authorizations).toHaveLength(3);
  });

  it('are not asked for with scopes that were asked for before', async () => {
    const { issuer, server } = await start({}, []);
    const client = await connect(server.url, issuer);
    for (const times of [2, 2]) {
      const error = await client.callTool('write').catch((thrown) => thrown);
      expect(httpErrorOf(error)).toMatchObject({ status: 403 });
      expect(issuer.authorizations).toHaveLength(times);
    }
    expect(issuer.authorizations.map((sent) => sent.get('scope'))).toEqual([null, 'write']);
    await client.callTool('read');
  });

  it('are used and renewed where nobody can be asked, and then there are no others', async () => {
    const store = memoryTokenStore();
    const { issuer, server } = await start();
    await connect(server.url, issuer, { store });
    issuer.tokens.clear();
    const client = await McpClient.http(server.url, { authorizer: oauth({ store }) });
    closeBehindTest(() => client.close());
    expect(grants(issuer)).toEqual(['authorization_code', 'refresh_token']);
    const other = await start();
    await expect(McpClient.http(other.server.url, { authorizer: oauth({ store }) })).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: `Cannot authorize at "${other.issuer.url}": a user has to sign in, and nobody can be asked here`,
    });
    expect(other.issuer.registrations).toEqual([]);
  });

  it.each(['session', 'stateless'] as const)(
    'are sent with every request of the %s dialect',
    async (dialect) => {
      const { issuer, server } = await start();
      const authorizer = oauth({ onRedirect: issuer.agree });
      const client = await McpClient.http(server.url, { authorizer, dialect });
      await client.callTool('read');
      await client.close();
      const [first, ...others] = server.seen;
      expect(first).toBeUndefined();
      expect(others.length).toBeGreaterThanOrEqual(dialect === 'session' ? 4 : 2);
      expect(new Set(others)).toEqual(new Set(['Bearer token-1']));
    },
  );

  it('are not asked of a user when a session ends', async () => {
    const issuer = await ScriptedIssuer.start();
    const server = await protect(issuer.url, (token) =>
      issuer.tokens.has(token) ? { scopes: [] } : undefined,
    );
    const authorizer = oauth({ onRedirect: issuer.agree });
    const client = await McpClient.http(server.url, { authorizer, dialect: 'session' });
    issuer.tokens.clear();
    await client.close();
    expect(issuer.authorizations).toHaveLength(1);
  });

  it('are asked for no longer than anybody waits for them', async () => {
    const { issuer, server } = await start({ token: (_form, response) => sendBearer(issuer, response) });
    let shown = (_url: URL) => {};
    const second = new Promise<URL>((resolve) => {
      shown = resolve;
    });
    const client = await connect(server.url, issuer, {
      onRedirect: async (url) => {
        if (issuer.authorizations.length === 0) await issuer.agree(url);
        else shown(url);
      },
    });
    issuer.tokens.clear();
    const controllers = [new AbortController(), new AbortController()];
    const calls = Promise.allSettled(
      controllers.map(({ signal }) => client.callTool('read', {}, { signal })),
    );
    const address = (await second).searchParams.get('redirect_uri') ?? '';
    controllers[0]?.abort();
    expect((await fetch(address)).status).toBe(400);
    controllers[1]?.abort();
    expect(await calls).toMatchObject([{ reason: { code: 'ABORTED' } }, { reason: { code: 'ABORTED' } }]);
    await expect.poll(() => fetch(address).catch(() => 'closed')).toBe('closed');
  });

  it('move with the server to another issuer, and nothing of the old one is shown there', async () => {
    const first: ScriptedIssuer = await ScriptedIssuer.start({
      token: (_form, response) => issueWithRefresh(first, response),
    });
    const second: ScriptedIssuer = await ScriptedIssuer.start({
      register: (_body, response) => sendJson(response, 201, { client_id: 'other' }),
      token: (_form, response) => {
        second.tokens.add('second');
        sendJson(response, 200, { access_token: 'second', token_type: 'Bearer' });
      },
    });
    const issuers = [first.url];
    const server = await protect(
      first.url,
      (token) => ((issuers[0] === first.url ? first : second).tokens.has(token) ? { scopes: [] } : undefined),
      { issuers },
    );
    const client = await connect(server.url, first, {
      onRedirect: (url) => (url.origin === first.url ? first : second).agree(url),
    });
    issuers[0] = second.url;
    await client.callTool('read');
    expect(second.authorizations[0]?.get('client_id')).toBe('other');
    expect(second.received.map(({ body }) => body).join()).not.toMatch(/client-1|refresh-1|token-1"/);
    expect(grants(first)).toEqual(['authorization_code']);
    expect(grants(second)).toEqual(['authorization_code']);
  });

  it('that somebody else has renewed meanwhile are taken from the store', async () => {
    const values = new Map<string, string>();
    const store = storeOver(values);
    const { issuer, server } = await start({
      token: (form, response) => {
        if (form.get('grant_type') !== 'refresh_token') {
          issueWithRefresh(issuer, response);
          return;
        }
        // Another process was faster: its tokens are in the store by now.
        const key = `tokens ${server.url}`;
        const stored: JsonObject = JSON.parse(values.get(key) ?? '');
        values.set(key, JSON.stringify({ ...stored, accessToken: issuer.issue(), refreshToken: 'newer' }));
        sendJson(response, 400, { error: 'invalid_grant' });
      },
    });
    const client = await connect(server.url, issuer, { store });
    issuer.tokens.clear();
    await client.callTool('read');
    expect(grants(issuer)).toEqual(['authorization_code', 'refresh_token']);
    expect(server.seen.at(-1)).toBe('Bearer token-2');
  });

  it('are kept when they cannot be renewed for the moment', async () => {
    let isUp = true;
    const { issuer, server } = await start({
      token: (_form, response) => {
        if (isUp) issueWithRefresh(issuer, response);
        else response.writeHead(503).end('<html>');
      },
    });
    const client = await connect(server.url, issuer);
    issuer.tokens.clear();
    isUp = false;
    await expect(client.callTool('read')).rejects.toThrow(`Cannot authorize at "${issuer.url}": status 503`);
    isUp = true;
    await client.callTool('read');
    expect(grants(issuer)).toEqual(['authorization_code', 'refresh_token', 'refresh_token']);
  });

  it('keep a refresh token that is not replaced', async () => {
    const { issuer, server } = await start({
      token: (form, response) => {
        if (form.get('grant_type') === 'refresh_token') sendBearer(issuer, response);
        else issueWithRefresh(issuer, response);
      },
    });
    const client = await connect(server.url, issuer);
    for (let time = 0; time < 2; time++) {
      issuer.tokens.clear();
      await client.callTool('read');
    }
    expect(issuer.tokenRequests.map((form) => form.get('refresh_token'))).toEqual([
      null,
      'refresh-1',
      'refresh-1',
    ]);
    expect(issuer.tokenRequests[1]?.get('resource')).toBe(server.url);
  });

  it.each([
    ['nonsense', {}],
    ['no token', { resource: 'x', server: { issuer: 'https://a.example.com' }, client: { clientId: 'c' } }],
    [
      'another type',
      { accessToken: 'x', type: 'MAC', resource: 'x', server: { issuer: 'x' }, client: { clientId: 'c' } },
    ],
    [
      'no key',
      {
        accessToken: 'x',
        type: 'DPoP',
        resource: 'x',
        server: { issuer: 'x' },
        client: { clientId: 'c' },
        dpopKey: {},
      },
    ],
  ])('are not read from a store that holds %s', async (_, record) => {
    const { issuer, server } = await start();
    const store = memoryTokenStore();
    await store.set(`tokens ${server.url}`, record);
    await connect(server.url, issuer, { store });
    expect(server.seen[0]).toBeUndefined();
    expect(grants(issuer)).toEqual(['authorization_code']);
  });

  it('that are refused as soon as they come fail all requests that carry them, and no user is asked', async () => {
    const issuer: ScriptedIssuer = await ScriptedIssuer.start({
      token: (_form, response) => issueWithRefresh(issuer, response),
    });
    let isGood = true;
    const server = await protect(issuer.url, () => (isGood ? { scopes: [] } : undefined));
    const client = await connect(server.url, issuer);
    isGood = false;
    for (const outcome of await Promise.allSettled(many(client))) {
      expect(outcome).toMatchObject({
        reason: { message: /refuses the access token that .* has just issued/ },
      });
    }
    expect(grants(issuer)).toEqual(['authorization_code', 'refresh_token']);
    isGood = true;
    await client.callTool('read');
    expect(issuer.authorizations).toHaveLength(2);
  });

  it('are renewed to the end when whoever wanted that has gone', async () => {
    const refresh = gate();
    const { issuer, server } = await start({
      token: async (form, response) => {
        if (form.get('grant_type') === 'refresh_token') await refresh.pass();
        issueWithRefresh(issuer, response);
      },
    });
    const client = await connect(server.url, issuer);
    issuer.tokens.clear();
    const controller = new AbortController();
    const call = client.callTool('read', {}, { signal: controller.signal });
    await refresh.reached;
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: 'ABORTED' });
    refresh.open();
    await client.callTool('read');
    expect(grants(issuer)).toEqual(['authorization_code', 'refresh_token']);
  });

  it('are renewed in time while a user is asked for more', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const asked = gate();
    const { issuer, server } = await start({
      token: (_form, response) => issueWithRefresh(issuer, response, { expires_in: 3600 }),
    });
    const client = await connect(server.url, issuer, {
      onRedirect: async (url) => {
        if (issuer.authorizations.length > 0) await asked.pass();
        await issuer.agree(url);
      },
    });
    const write = client.callTool('write').catch((error) => httpErrorOf(error)?.status);
    await asked.reached;
    vi.setSystemTime(Date.now() + 3_590_000);
    await client.callTool('read');
    expect(grants(issuer)).toEqual(['authorization_code', 'refresh_token']);
    asked.open();
    expect(await write).toBe(403);
    await client.callTool('read');
    expect(server.seen.at(-1)).toBe('Bearer token-3');
  });

  it('that a user brings while others are renewed stay, for they may do more', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const refresh = gate();
    const brought: string[] = [];
    const { issuer, server } = await start({
      token: async (form, response) => {
        const token = issuer.issue();
        if (form.get('grant_type') === 'authorization_code') brought.push(token);
        if (form.get('grant_type') === 'refresh_token') await refresh.pass();
        sendJson(response, 200, {
          access_token: token,
          token_type: 'Bearer',
          refresh_token: 'r',
          expires_in: 3600,
        });
      },
    });
    const asked = gate();
    const client = await connect(server.url, issuer, {
      onRedirect: async (url) => {
        if (issuer.authorizations.length > 0) await asked.pass();
        await issuer.agree(url);
      },
    });
    const write = client.callTool('write').catch((error) => httpErrorOf(error)?.status);
    await asked.reached;
    vi.setSystemTime(Date.now() + 3_590_000);
    const read = client.callTool('read');
    await refresh.reached;
    asked.open();
    expect(await write).toBe(403);
    refresh.open();
    await read;
    await client.callTool('read');
    expect(brought).toHaveLength(2);
    expect(server.seen.at(-1)).toBe(`Bearer ${brought[1]}`);
  });

  it('are taken from the store when the user has signed in elsewhere', async () => {
    const store = memoryTokenStore();
    const { issuer, server } = await start();
    const authorizer = oauth({ store });
    await expect(McpClient.http(server.url, { authorizer })).rejects.toThrow(/a user has to sign in/);
    await connect(server.url, issuer, { store });
    const client = await McpClient.http(server.url, { authorizer });
    closeBehindTest(() => client.close());
    expect(grants(issuer)).toEqual(['authorization_code']);
  });

  it('that were taken from the store and are refused are renewed', async () => {
    const store = memoryTokenStore();
    const { issuer, server } = await start();
    const first = await connect(server.url, issuer, { store });
    const second = await connect(server.url, issuer, { store });
    issuer.tokens.clear();
    await second.callTool('read');
    issuer.tokens.clear();
    await first.callTool('read');
    expect(server.seen.slice(-3)).toEqual(['Bearer token-1', 'Bearer token-2', 'Bearer token-3']);
    expect(grants(issuer)).toEqual(['authorization_code', 'refresh_token', 'refresh_token']);
  });

  it('are renewed once for all who share a store in memory', async () => {
    const store = memoryTokenStore();
    const { issuer, server } = await start();
    const clients = [
      await connect(server.url, issuer, { store }),
      await connect(server.url, issuer, { store }),
    ];
    issuer.tokens.clear();
    await Promise.all(clients.flatMap(many));
    expect(grants(issuer)).toEqual(['authorization_code', 'refresh_token']);
  });

  it('that cannot be renewed any more keep their scopes for the user who signs in anew', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { issuer, server } = await start({
      token: (form, response) => {
        if (form.get('grant_type') === 'refresh_token') sendJson(response, 400, { error: 'invalid_grant' });
        else issueWithRefresh(issuer, response, { expires_in: 60 });
      },
    });
    const client = await connect(server.url, issuer);
    await client.callTool('write').catch(() => {});
    vi.setSystemTime(Date.now() + 60_000);
    issuer.tokens.clear();
    await client.callTool('read');
    expect(issuer.authorizations.map((sent) => sent.get('scope'))).toEqual([null, 'write', 'write']);
    expect(grants(issuer).filter((grant) => grant === 'refresh_token')).toHaveLength(1);
  });

  it('can still be renewed by the client that they are of when another one has tried', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const store = memoryTokenStore();
    const { issuer, server } = await start({
      metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] },
      token: (form, response) => {
        if (form.get('client_secret') !== 'secret') sendJson(response, 401, { error: 'invalid_client' });
        else issueWithRefresh(issuer, response, { expires_in: 60 });
      },
    });
    const clientRegistration = { clientId: 'given', clientSecret: 'secret' };
    await connect(server.url, issuer, { store, clientRegistration });
    vi.setSystemTime(Date.now() + 60_000);
    issuer.tokens.clear();
    await expect(McpClient.http(server.url, { authorizer: oauth({ store }) })).rejects.toThrow(
      /has to sign in/,
    );
    const client = await McpClient.http(server.url, { authorizer: oauth({ store, clientRegistration }) });
    closeBehindTest(() => client.close());
    expect(issuer.authorizations).toHaveLength(1);
  });

  it('are not what an error of the store shows', async () => {
    const { issuer, server } = await start();
    const store: TokenStore = {
      ...memoryTokenStore(),
      get: () => {
        throw new Error('the keychain is locked');
      },
    };
    await expect(connect(server.url, issuer, { store })).rejects.toThrow(/the keychain is locked/);
  });
});

describe('signing out', () => {
  const start = async (script: IssuerScript = {}) => {
    const revoked: (string | null)[] = [];
    const metadata: JsonObject = {};
    const issuer: ScriptedIssuer = await ScriptedIssuer.start({
      metadata,
      token: (_form, response) => issueWithRefresh(issuer, response),
      ...script,
      other: ({ body }, response) => {
        revoked.push(new URLSearchParams(body).get('token'));
        response.end();
      },
    });
    metadata.revocation_endpoint = `${issuer.url}/revoke`;
    const server = await protect(issuer.url, (token) =>
      issuer.tokens.has(token) ? { scopes: [] } : undefined,
    );
    return { issuer, server, revoked };
  };

  it('revokes what somebody else has renewed meanwhile', async () => {
    const store = memoryTokenStore();
    const { issuer, server, revoked } = await start();
    const authorizer = oauth({ store, onRedirect: issuer.agree });
    const client = await McpClient.http(server.url, { authorizer });
    closeBehindTest(() => client.close());
    const other = await connect(server.url, issuer, { store });
    issuer.tokens.clear();
    await other.callTool('read');
    await authorizer.logout(server.url);
    expect(revoked).toEqual(['refresh-2', 'token-2']);
  });

  it('waits for a renewal that goes on, and revokes what that brings', async () => {
    const refresh = gate();
    const { issuer, server, revoked } = await start({
      token: async (form, response) => {
        if (form.get('grant_type') === 'refresh_token') await refresh.pass();
        issueWithRefresh(issuer, response);
      },
    });
    const values = new Map<string, string>();
    const authorizer = oauth({ store: storeOver(values), onRedirect: issuer.agree });
    const client = await McpClient.http(server.url, { authorizer });
    closeBehindTest(() => client.close());
    issuer.tokens.clear();
    const call = client.callTool('read').catch((error) => error);
    await refresh.reached;
    const logout = authorizer.logout(server.url);
    refresh.open();
    await logout;
    await call;
    expect(revoked).toEqual(['refresh-2', 'token-2']);
    expect([...values.keys()].filter((key) => key.startsWith('tokens'))).toEqual([]);
  });

  it('ends an authorization that goes on', async () => {
    const { issuer, server } = await start();
    const asked = gate();
    const authorizer = oauth({ onRedirect: () => asked.pass() });
    const connecting = McpClient.http(server.url, { authorizer });
    connecting.catch(() => {});
    await asked.reached;
    await authorizer.logout(server.url);
    await expect(connecting).rejects.toMatchObject({ code: 'ABORTED', message: /the user signs out/ });
    expect(issuer.tokenRequests).toEqual([]);
  });

  it('holds for all who share the store: nobody renews what was forgotten', async () => {
    const store = memoryTokenStore();
    const { issuer, server } = await start({ metadata: {} });
    await connect(server.url, issuer, { store });
    const quiet = await McpClient.http(server.url, { authorizer: oauth({ store }) });
    closeBehindTest(() => quiet.close());
    await oauth({ store }).logout(server.url);
    issuer.tokens.clear();
    await expect(quiet.callTool('read')).rejects.toThrow(/a user has to sign in/);
    expect(grants(issuer)).toEqual(['authorization_code']);
    expect(await store.get(`tokens ${server.url}`)).toBeUndefined();
  });
});

/** A place where something waits until the test lets it pass. */
function gate() {
  let arrive = () => {};
  let open = () => {};
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const pass = () => {
    arrive();
    return opened;
  };
  return { reached, pass, open: () => open() };
}

function sendBearer(issuer: ScriptedIssuer, response: Parameters<typeof sendJson>[0]): void {
  sendJson(response, 200, { access_token: issuer.issue(), token_type: 'Bearer' });
}

function storeOver(values: Map<string, string>): TokenStore {
  return {
    get: (key) => (values.has(key) ? JSON.parse(values.get(key) ?? '') : undefined),
    set: (key, value) => void values.set(key, JSON.stringify(value)),
    delete: (key) => void values.delete(key),
  };
}
