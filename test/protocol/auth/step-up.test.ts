import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DialectName, McpClient, McpServer, oauth, serveHttp } from '../../../src/protocol/index.ts';
import { BearerChallenge, type HttpError } from '../../../src/transport/index.ts';
import { ScriptedIssuer } from './scripted-issuer.ts';

/** What handlers are given as `context.auth`. */
interface Principal {
  sub: string;
  scopes: readonly string[];
}

const OBJECT = { type: 'object' } as const;
const cleanups: (() => Promise<void>)[] = [];
let issuer: ScriptedIssuer;
let server: McpServer;
let calls: string[];

beforeEach(async () => {
  calls = [];
  issuer = await ScriptedIssuer.start();
  server = new McpServer({ name: 'files', version: '1.0.0' });
  server.tool({ name: 'write', inputSchema: OBJECT }, (_args, { auth }) => {
    demand('files:write', auth);
    calls.push('write');
    return 'written';
  });
  server.tool({ name: 'late', inputSchema: OBJECT }, async (_args, context) => {
    await context.progress(1);
    demand('files:write', context.auth);
    return 'written';
  });
});
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function demand(scope: string, auth: unknown): void {
  // Sound: nobody gets in here but by the guard below.
  const principal = auth as Principal | undefined;
  if (!principal?.scopes.includes(scope))
    throw new BearerChallenge('insufficient_scope', { scopes: [scope] });
}

/** Our server behind our guard; a token has the scopes that were asked for when the user last agreed. */
async function serve(): Promise<string> {
  const granted = new Map<string, string[]>();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const listening = await serveHttp(server, {
    port,
    auth: {
      verify: (token): Principal | undefined => {
        if (!issuer.tokens.has(token)) return undefined;
        const scopes = granted.get(token) ?? issuer.authorizations.at(-1)?.get('scope')?.split(' ') ?? [];
        granted.set(token, scopes);
        return { sub: 'ann', scopes };
      },
      resourceMetadata: { resource: url, authorization_servers: [issuer.url] },
    },
  });
  cleanups.push(() => listening.close());
  return url;
}

async function freePort(): Promise<number> {
  const listening = await serveHttp(new McpServer({ name: 'free', version: '1.0.0' }));
  await listening.close();
  return listening.port;
}

async function connect(url: string, dialect: DialectName): Promise<McpClient> {
  const authorizer = oauth({ onRedirect: issuer.agree });
  const client = await McpClient.http(url, { authorizer, dialect });
  cleanups.push(() => client.close());
  return client;
}

const scopes = () => issuer.authorizations.map((asked) => asked.get('scope'));

describe.each(['stateless', 'session'] as const)('a challenge in the %s dialect', (dialect) => {
  it('that a tool throws has our client ask the user for the scopes and call again', async () => {
    const client = await connect(await serve(), dialect);
    expect(await client.callTool('write')).toMatchObject({ content: [{ text: 'written' }] });
    expect(scopes()).toEqual([null, 'files:write']);
    expect(calls).toEqual(['write']);
  });

  it('that middleware throws does so too', async () => {
    server.use((context, next) => {
      if (context.method === 'tools/call') demand('files:write', context.auth);
      return next();
    });
    const client = await connect(await serve(), dialect);
    expect(await client.callTool('write')).toMatchObject({ content: [{ text: 'written' }] });
    expect(scopes()).toEqual([null, 'files:write']);
  });

  it('leaves as a 403 that names the scopes, and the request in its body', async () => {
    const url = await serve();
    const token = issuer.issue();
    const statuses: (string | number | null)[] = [];
    const client = await McpClient.http(url, {
      dialect,
      authorizer: {
        authorize: () => ({ authorization: `Bearer ${token}` }),
        challenge: ({ status, headers }) => {
          statuses.push(status, String(headers['www-authenticate']));
          return false;
        },
      },
    });
    cleanups.push(() => client.close());
    const error = await client.callTool('write').catch((thrown: HttpError) => thrown);
    expect(statuses).toEqual([
      403,
      expect.stringMatching(/^Bearer error="insufficient_scope", scope="files:write", resource_metadata="/),
    ]);
    expect(error).toMatchObject({
      code: 'UNAUTHORIZED',
      status: 403,
      bodyPreview: expect.stringMatching(/"id":\d/),
      cause: { rpcCode: -32600, data: { error: 'insufficient_scope', scopes: ['files:write'] } },
    });
  });

  it('behind the beginning of the answer is an error of the request', async () => {
    const client = await connect(await serve(), dialect);
    await expect(client.callTool('late', {}, { onProgress: () => {} })).rejects.toMatchObject({
      rpcCode: -32600,
      message: 'Cannot serve the request: it needs the scopes files:write',
      data: { error: 'insufficient_scope', scopes: ['files:write'] },
    });
  });

  it('of a server without a guard, or on a channel, is an error of the request', async () => {
    const refused = { rpcCode: -32600, data: { error: 'insufficient_scope', scopes: ['files:write'] } };
    const listening = await serveHttp(server);
    cleanups.push(() => listening.close());
    const byHttp = await McpClient.http(listening.url, { dialect });
    const inProcess = await McpClient.inProcess(server, { dialect });
    cleanups.push(
      () => byHttp.close(),
      () => inProcess.close(),
    );
    await expect(byHttp.callTool('write')).rejects.toMatchObject(refused);
    await expect(inProcess.callTool('write')).rejects.toMatchObject(refused);
  });

  it('of the guard itself is UNAUTHORIZED for a client that cannot sign in', async () => {
    await expect(McpClient.http(await serve(), { dialect })).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      status: 401,
      cause: { code: 'RPC_ERROR', message: 'Cannot serve the request: it carries no bearer token' },
    });
  });
});
