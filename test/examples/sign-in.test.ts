import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { browse } from '../protocol/auth/browser.ts';
import { startOidc } from '../protocol/auth/oidc-server.ts';
import { protect } from '../protocol/auth/protected-server.ts';
import { closeBehindTest } from '../transport/http/scripted-server.ts';

const SIGN_IN = fileURLToPath(new URL('../../examples/sign-in.mjs', import.meta.url));

it('examples/sign-in.mjs signs in once, and lists the tools', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mcpwire-sign-in-'));
  closeBehindTest(() => rm(folder, { recursive: true }));
  const oidc = await startOidc();
  const { url } = await protect(oidc.issuer, oidc.verify, { scopesSupported: ['read'] });
  const run = async () => {
    const child = spawn(process.execPath, [SIGN_IN, url], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(child, 'close');
    const lines: string[] = [];
    for await (const line of createInterface(child.stdout)) {
      const address = /^Sign in at (.*)$/.exec(line)?.[1];
      if (address === undefined) lines.push(line);
      else {
        lines.push('asked');
        await browse(new URL(address));
      }
    }
    expect(await closed).toEqual([0, null]);
    return lines;
  };
  expect(await run()).toEqual(['asked', 'read', 'write', 'extensions']);
  expect(await run()).toEqual(['read', 'write', 'extensions']);
  expect(await readdir(folder)).toEqual(['tokens.json']);
});
