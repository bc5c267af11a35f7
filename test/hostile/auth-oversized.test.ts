import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { AuthHttp, MAX_AUTH_BODY_BYTES } from '../../src/protocol/auth/http.ts';
import { McpClient, oauth } from '../../src/protocol/index.ts';
import { protect } from '../protocol/auth/protected-server.ts';
import { type IssuerScript, ScriptedIssuer, sendJson } from '../protocol/auth/scripted-issuer.ts';
import { closeBehindTest, ScriptedServer } from '../transport/http/scripted-server.ts';

const http = new AuthHttp({ ownHost: '127.0.0.1', allowPrivate: false });

describe('metadata', () => {
  it('of any size is read to its limit and no further', async () => {
    let ended = () => {};
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const server = await ScriptedServer.start((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const write = () => {
        while (!response.destroyed && response.write(' '.repeat(64 * 1024)));
      };
      response.on('drain', write).on('close', ended);
      write();
    });
    await expect(http.get(new URL(server.url))).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: `Cannot ask "${server.url}" about authorization: its answer exceeds ${MAX_AUTH_BODY_BYTES} bytes`,
    });
    await end;
  });

  it('that never comes is given up', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    closeBehindTest(async () => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const address = silent.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
      const controller = new AbortController();
      silent.once('connection', () => controller.abort(new Error('late')));
      return controller.signal;
    });
    try {
      await expect(http.get(new URL(`http://127.0.0.1:${port}/`))).rejects.toMatchObject({
        code: 'TRANSPORT_FAILED',
        message: expect.stringContaining('it did not answer within 15000 ms'),
      });
    } finally {
      timeout.mockRestore();
    }
  });
});

describe('an issuer', () => {
  it.each([
    ['a refusal', { error: `e${'x'.repeat(100_000)}` }, 400],
    ['a description', { error: 'e', error_description: '\n'.repeat(100_000) }, 400],
    ['a token', { access_token: 'x'.repeat(100_000), token_type: 'Bearer' }, 200],
    ['a token type', { access_token: 'x', token_type: 'y'.repeat(100_000) }, 200],
  ])('cannot make an error long with %s', async (_, answer, status) => {
    const issuer = await ScriptedIssuer.start({
      token: (_form, response) => sendJson(response, status, answer),
    });
    const server = await protect(issuer.url, () => undefined);
    const error = await McpClient.http(server.url, { authorizer: oauth({ onRedirect: issuer.agree }) }).catch(
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ code: 'UNAUTHORIZED' });
    expect(error.message.length).toBeLessThan(700);
  });

  it('may nest what it answers as deep as it likes', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const issuer: ScriptedIssuer = await ScriptedIssuer.start({
      token: (_form, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(`{"access_token":"${issuer.issue()}","token_type":"Bearer","other":${deep}}`);
      },
    });
    const server = await protect(issuer.url, (token) =>
      issuer.tokens.has(token) ? { scopes: [] } : undefined,
    );
    const client = await McpClient.http(server.url, { authorizer: oauth({ onRedirect: issuer.agree }) });
    await client.close();
  });

  it.each([200, 204, 304, 500, 599, 999])(
    'that answers with nothing and status %i is refused',
    async (status) => {
      const issuer = await ScriptedIssuer.start({
        token: (_form, response) => void response.writeHead(status).end(),
      });
      const server = await protect(issuer.url, () => undefined);
      const authorizer = oauth({ onRedirect: issuer.agree });
      await expect(McpClient.http(server.url, { authorizer })).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
        message: expect.stringContaining(`Cannot authorize at "${issuer.url}": status`),
      });
    },
  );
});

it.each([
  (long: string) => ({ resource: `https://a.example.com/${long.slice(0, 2000)}` }),
  (long: string) => ({ resource: `https://a.example.com/${long}` }),
  (long: string) => ({ authorization_servers: [`https://${long}.example.com`] }),
])('an address cannot make an error long', async (metadataOf) => {
  const server = await ScriptedServer.start(({ path }, response) => {
    if (!path.startsWith('/.well-known')) response.writeHead(401).end();
    else sendJson(response, 200, { resource: server.url, ...metadataOf('x'.repeat(100_000)) });
  });
  const error = await McpClient.http(server.url, { authorizer: oauth() }).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: 'UNAUTHORIZED' });
  expect(error.message.length).toBeLessThan(700);
});

it.each<[string, IssuerScript]>([
  [
    'a client id',
    { register: (_body, response) => sendJson(response, 201, { client_id: 'x'.repeat(10_000) }) },
  ],
  [
    'a client secret',
    {
      register: (_body, response) =>
        sendJson(response, 201, { client_id: 'x', client_secret: 'x'.repeat(10_000) }),
    },
  ],
  [
    'a refresh token',
    {
      token: (_form, response) =>
        sendJson(response, 200, {
          access_token: 'x',
          token_type: 'Bearer',
          refresh_token: 'x'.repeat(100_000),
        }),
    },
  ],
])('%s of any size is not kept', async (_, script) => {
  const issuer = await ScriptedIssuer.start(script);
  const server = await protect(issuer.url, () => undefined);
  const kept: JsonObject[] = [];
  const store = {
    get: () => undefined,
    set: (_key: string, value: JsonObject) => void kept.push(value),
    delete() {},
  };
  const authorizer = oauth({ store, onRedirect: issuer.agree });
  await expect(McpClient.http(server.url, { authorizer })).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
    message: expect.stringMatching(/exceed 8192 characters|more than 65536 characters/),
  });
  expect(JSON.stringify(kept).length).toBeLessThan(1000);
});

it('scopes cannot grow without end', async () => {
  const scope = Array.from({ length: 1000 }, (_, index) => `scope-number-${index}`).join(' ');
  const issuer = await ScriptedIssuer.start();
  const server = await ScriptedServer.start(({ path }, response) => {
    if (path.startsWith('/.well-known')) {
      sendJson(response, 200, { resource: server.url, authorization_servers: [issuer.url] });
    } else {
      response.writeHead(401, { 'www-authenticate': `Bearer scope="${scope.slice(0, 12_000)}"` }).end();
    }
  });
  const authorizer = oauth({ onRedirect: issuer.agree });
  await expect(McpClient.http(server.url, { authorizer })).rejects.toThrow(/more than 8192 characters/);
  expect(issuer.authorizations).toEqual([]);
});
