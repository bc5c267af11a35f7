import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, expect, it, vi } from 'vitest';
import { authorization } from '../../src/cli/authorization.ts';
import { parseCommandLine } from '../../src/cli/command-line.ts';
import { Output } from '../../src/cli/output.ts';
import { McpClient } from '../../src/protocol/index.ts';
import { protect } from '../protocol/auth/protected-server.ts';
import { ScriptedIssuer } from '../protocol/auth/scripted-issuer.ts';
import { closeBehindTest } from '../transport/http/scripted-server.ts';

afterEach(() => vi.unstubAllEnvs());

it('a command on a terminal shows where to sign in, and goes on when that is done', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mcpwire-terminal-'));
  closeBehindTest(() => rm(folder, { recursive: true }));
  vi.stubEnv('XDG_CONFIG_HOME', folder);
  vi.stubEnv('APPDATA', folder);
  const issuer = await ScriptedIssuer.start();
  const { url } = await protect(issuer.url, (token) =>
    issuer.tokens.has(token) ? { scopes: [] } : undefined,
  );
  const terminal = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true });
  terminal.on('data', (note: string) => {
    const address = /^http\S+$/m.exec(note)?.[0];
    if (address) void issuer.agree(new URL(address));
  });
  const command = parseCommandLine(['tools', url]);
  if (command.name !== 'tools') throw new Error('It was read as another command');
  const given = authorization(command, { output: new Output(new PassThrough(), terminal) });
  const client = await McpClient.http(url, given);
  closeBehindTest(() => client.close());
  expect(await client.callTool('read')).toMatchObject({ content: [{ text: 'something' }] });
});
