import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { browse } from '../protocol/auth/browser.ts';
import { type OidcServer, startOidc } from '../protocol/auth/oidc-server.ts';
import { protect } from '../protocol/auth/protected-server.ts';
import { closeBehindTest } from '../transport/http/scripted-server.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcpwire-oidc-'));
  closeBehindTest(() => rm(folder, { recursive: true }));
});

/** Runs the command as a user who does what the pages of the authorization server ask for. */
async function mcpwire(...args: string[]) {
  const env = { ...process.env, XDG_CONFIG_HOME: folder, APPDATA: folder };
  const child = spawn(process.execPath, [CLI, ...args], { env });
  const lines: string[] = [];
  createInterface(child.stderr).on('line', (line) => {
    lines.push(line);
    if (/^https?:/.test(line)) void browse(new URL(line));
  });
  const [out, [status]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return { out, err: lines.join('\n'), status };
}

async function guarded(configuration: Parameters<typeof startOidc>[0] = {}) {
  const oidc = await startOidc(configuration);
  const server = await protect(oidc.issuer, oidc.verify, { scopesSupported: ['read'] });
  return { oidc, url: server.url, seen: server.seen };
}

const grants = ({ asked }: OidcServer) => asked.filter((entry) => !entry.includes('/'));

/** Takes the access token back, as its end would: the refresh token stays good. */
async function endAccess(oidc: OidcServer, seen: readonly (string | undefined)[]): Promise<void> {
  const token = await oidc.provider.AccessToken.find(seen.at(-1)?.replace('Bearer ', '') ?? '');
  await token?.destroy();
}

describe('the command, with a real authorization server,', () => {
  it('signs in once for all commands, and renews once for all that run at the same time', async () => {
    const { oidc, url, seen } = await guarded();
    expect(await mcpwire('login', url)).toMatchObject({ status: 0, out: `Signed in to ${url}\n` });
    for (const what of ['discover', 'tools', 'resources', 'prompts']) {
      expect(await mcpwire(what, url)).toMatchObject({ status: 0, err: '' });
    }
    expect(grants(oidc)).toEqual(['authorization_code']);
    for (const times of [1, 2]) {
      await endAccess(oidc, seen);
      const outcomes = await Promise.all(Array.from({ length: 4 }, () => mcpwire('call', 'read', url)));
      for (const outcome of outcomes) expect(outcome).toEqual({ status: 0, out: 'something\n', err: '' });
      expect(grants(oidc)).toEqual(['authorization_code', ...Array(times).fill('refresh_token')]);
    }
  }, 60_000);

  it('says which scopes are missing, and asks for them when it is told to', async () => {
    const { oidc, url } = await guarded();
    await mcpwire('login', url);
    expect(await mcpwire('call', 'write', url)).toEqual({
      status: 4,
      out: '',
      err: `mcpwire: Cannot authorize at "${oidc.issuer}": a user has to sign in for "read write", and nobody can be asked here (UNAUTHORIZED)\nTry mcpwire login ${url}`,
    });
    expect(await mcpwire('call', 'read', url)).toMatchObject({ status: 0 });
    expect(await mcpwire('login', '--scope', 'read', '--scope', 'write', url)).toMatchObject({ status: 0 });
    expect(await mcpwire('call', 'write', url)).toEqual({ status: 0, out: 'written\n', err: '' });
  }, 60_000);

  it('signs out there too', async () => {
    const { oidc, url, seen } = await guarded();
    await mcpwire('login', url);
    const token = seen.at(-1)?.replace('Bearer ', '') ?? '';
    expect(await oidc.verify(token, url)).toBeDefined();
    expect(await mcpwire('logout', url)).toMatchObject({ status: 0, out: `Signed out of ${url}\n`, err: '' });
    expect(await oidc.verify(token, url)).toBeUndefined();
    expect(await mcpwire('tools', url)).toMatchObject({
      status: 3,
      err: expect.stringMatching(/Try mcpwire login/),
    });
  }, 60_000);

  it('is the registered client that it is told to be, for every command, and shows nothing secret', async () => {
    const secret = 'the secret of the client';
    const { oidc, url, seen } = await guarded({
      clients: [
        {
          client_id: 'registered',
          client_secret: secret,
          application_type: 'native',
          redirect_uris: ['http://127.0.0.1/callback'],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'client_secret_basic',
        },
      ],
    });
    const client = ['--client-id', 'registered', '--client-secret', secret, '--verbose'];
    const outcomes = [await mcpwire('login', ...client, url)];
    await endAccess(oidc, seen);
    outcomes.push(await mcpwire('call', 'read', ...client, url));
    await endAccess(oidc, seen);
    // Whoever is not that client cannot renew, and takes nothing away.
    expect(await mcpwire('call', 'read', url)).toMatchObject({ status: 3 });
    outcomes.push(
      await mcpwire('tools', '--json', ...client, url),
      await mcpwire('discover', ...client, url),
    );
    const file = await readFile(join(folder, 'mcpwire', 'tokens.json'), 'utf8');
    outcomes.push(await mcpwire('logout', ...client, url));
    for (const { status } of outcomes) expect(status).toBe(0);
    expect(oidc.asked).not.toContain('POST /reg');
    const shown = outcomes.map(({ out, err }) => out + err).join('\n');
    const tokens = seen.map((authorization) => authorization?.replace('Bearer ', ''));
    for (const hidden of [secret, ...tokens.filter((token) => token !== undefined)])
      expect(shown).not.toContain(hidden);
    expect(shown).not.toContain(JSON.parse(file)[`tokens ${url}`].refreshToken);
    expect(file).not.toContain(secret);
  }, 60_000);
});
