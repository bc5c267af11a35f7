import { describe, expect, it } from 'vitest';
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

function issueWithRefresh(issuer: ScriptedIssuer, response: Parameters<typeof sendJson>[0]): void {
  const refresh = `refresh-${issuer.tokenRequests.length}`;
  sendJson(response, 200, { access_token: issuer.issue(), token_type: 'Bearer', refresh_token: refresh });
}

async function connect(url: string, issuer: ScriptedIssuer, options: Partial<OAuthOptions> = {}) {
  const authorizer = oauth({ onRedirect: issuer.agree, ...options });
  const client = await McpClient.http(url, { authorizer });
  closeBehindTest(() => client.close());
  return client;
}

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
