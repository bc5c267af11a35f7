import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { McpServer, serveHttp, toNodeHandler } from '../../src/protocol/index.ts';
import { protect } from '../protocol/auth/protected-server.ts';
import { ScriptedIssuer, sendJson } from '../protocol/auth/scripted-issuer.ts';
import { closeBehindTest } from '../transport/http/scripted-server.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcpwire-login-'));
  closeBehindTest(() => rm(folder, { recursive: true }));
});

/** Runs the command; `onAddress` is what the user does with an address that is shown. */
async function mcpwire(args: string[], onAddress?: (url: URL) => Promise<void>) {
  const env = { ...process.env, XDG_CONFIG_HOME: folder, APPDATA: folder };
  const child = spawn(process.execPath, [CLI, ...args], { env });
  const lines: string[] = [];
  createInterface(child.stderr).on('line', (line) => {
    lines.push(line);
    if (/^https?:/.test(line)) void onAddress?.(new URL(line));
  });
  const [out, [status]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return { out, err: lines.join('\n'), status };
}

async function guarded() {
  const issuer: ScriptedIssuer = await ScriptedIssuer.start({
    metadata: { token_endpoint_auth_methods_supported: ['none', 'client_secret_post'] },
    token: (_form, response) =>
      sendJson(response, 200, { access_token: issuer.issue(), token_type: 'Bearer', refresh_token: 'r' }),
  });
  const server = await protect(issuer.url, (token) =>
    issuer.tokens.has(token) ? { scopes: [] } : undefined,
  );
  return { issuer, url: server.url };
}

describe('mcpwire login', () => {
  it('shows where to sign in, and keeps what it gets for all commands and for nobody else', async () => {
    const { issuer, url } = await guarded();
    expect(await mcpwire(['login', url], issuer.agree)).toEqual({
      status: 0,
      out: `Signed in to ${url}\n`,
      err: expect.stringMatching(
        /^Sign in at this address; the command goes on when you have done so:\nhttp/,
      ),
    });
    const file = join(folder, 'mcpwire', 'tokens.json');
    expect(await readFile(file, 'utf8')).toContain('token-1');
    if (process.platform !== 'win32') expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await mcpwire(['call', 'read', url])).toEqual({ status: 0, out: 'something\n', err: '' });
    expect(issuer.authorizations).toHaveLength(1);
  });

  it('signs in anew each time, as the client that it is told to be', async () => {
    const { issuer, url } = await guarded();
    await mcpwire(['login', url], issuer.agree);
    const client = ['--client-id', 'mine', '--client-secret', 'my secret'];
    expect(await mcpwire(['login', ...client, url], issuer.agree)).toMatchObject({ status: 0 });
    expect(issuer.authorizations.map((sent) => sent.get('client_id'))).toEqual(['client-1', 'mine']);
    expect(Object.fromEntries(issuer.tokenRequests[1] ?? [])).toMatchObject({
      client_id: 'mine',
      client_secret: 'my secret',
    });
    expect(await readFile(join(folder, 'mcpwire', 'tokens.json'), 'utf8')).not.toContain('my secret');
    expect(await mcpwire(['call', 'read', ...client, url])).toMatchObject({ status: 0, err: '' });
  });

  it('says that there is nothing to sign in at', async () => {
    const listening = await serveHttp(new McpServer({ name: 'open', version: '1.0.0' }));
    closeBehindTest(() => listening.close());
    expect(await mcpwire(['login', listening.url])).toEqual({
      status: 0,
      out: `${listening.url} asks nobody to sign in\n`,
      err: '',
    });
  });

  it('signs in where a server answers everybody, but has more for those who do', async () => {
    const issuer = await ScriptedIssuer.start();
    const server = new McpServer({ name: 'half open', version: '1.0.0' });
    const handler = toNodeHandler(server);
    const seen: (string | undefined)[] = [];
    const http = createServer((request, response) => {
      if (request.url === '/.well-known/oauth-protected-resource/mcp') {
        sendJson(response, 200, {
          resource: url,
          authorization_servers: [issuer.url],
          scopes_supported: ['more'],
        });
      } else {
        seen.push(request.headers.authorization);
        void handler(request, response);
      }
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    closeBehindTest(async () => {
      await server.close();
      http.closeAllConnections();
      http.close();
    });
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
    expect(await mcpwire(['login', url], issuer.agree)).toMatchObject({
      status: 0,
      out: `Signed in to ${url}\n`,
    });
    expect(issuer.authorizations.map((sent) => sent.get('scope'))).toEqual(['more']);
    expect(seen[0]).toBeUndefined();
    expect(seen.at(-1)).toBe('Bearer token-1');
  });

  it('says that the user refused', async () => {
    const { issuer, url } = await guarded();
    const refuse = async (address: URL) => {
      const target = issuer.redirectFor(address);
      target.searchParams.delete('code');
      target.searchParams.set('error', 'access_denied');
      await fetch(target);
    };
    expect(await mcpwire(['login', url], refuse)).toMatchObject({
      status: 3,
      out: '',
      err: expect.stringContaining(
        `mcpwire: "${issuer.url}" refuses to authorize: access_denied (UNAUTHORIZED)`,
      ),
    });
  });
});

describe('mcpwire logout', () => {
  it('forgets the tokens', async () => {
    const { issuer, url } = await guarded();
    await mcpwire(['login', url], issuer.agree);
    expect(await mcpwire(['logout', url])).toEqual({ status: 0, out: `Signed out of ${url}\n`, err: '' });
    expect(await readFile(join(folder, 'mcpwire', 'tokens.json'), 'utf8')).toBe('{}\n');
    expect(await mcpwire(['logout', url])).toMatchObject({ status: 0 });
  });
});

describe('a command', () => {
  it('does not wait for a user where nobody looks, and says what would do', async () => {
    const { issuer, url } = await guarded();
    expect(await mcpwire(['tools', url])).toEqual({
      status: 3,
      out: '',
      err: `mcpwire: Cannot authorize at "${issuer.url}": a user has to sign in, and nobody can be asked here (UNAUTHORIZED)\nTry mcpwire login ${url}`,
    });
    expect(issuer.registrations).toEqual([]);
  });

  it('takes a token, which it shows to nobody', async () => {
    const { issuer, url } = await guarded();
    const token = issuer.issue();
    expect(await mcpwire(['call', 'read', '--token', token, url])).toMatchObject({ status: 0, err: '' });
    const { err, status } = await mcpwire(['tools', '--verbose', '--token', 'very-secret', url]);
    expect(status).toBe(3);
    expect(err).toContain('the token is not valid here');
    expect(err).not.toContain('very-secret');
    expect(err).not.toContain('login');
  });

  it('asks an authorization server in a private network only when it is told to', async () => {
    const { url } = await protect('https://0.0.0.0:1', () => undefined);
    expect(await mcpwire(['tools', url])).toMatchObject({
      status: 3,
      err: expect.stringContaining('private network'),
    });
    const allowed = await mcpwire(['tools', '--allow-private-addresses', url]);
    expect(allowed).toMatchObject({ status: 3, err: expect.not.stringContaining('private network') });
    expect(allowed.err).toContain('Cannot ask "https://0.0.0.0:1/.well-known/oauth-authorization-server"');
  });

  it("leaves the user's own header alone", async () => {
    const { issuer, url } = await guarded();
    await mcpwire(['login', url], issuer.agree);
    const header = `Authorization: Bearer ${issuer.issue()}`;
    expect(await mcpwire(['call', 'read', '--header', header, url])).toMatchObject({ status: 0, err: '' });
    const bad = await mcpwire(['call', 'read', '--header', 'authorization: Bearer bad', url]);
    expect(bad).toMatchObject({ status: 3 });
  });
});
