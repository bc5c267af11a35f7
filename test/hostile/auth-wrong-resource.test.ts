import { expect, it } from 'vitest';
import { McpClient, oauth } from '../../src/protocol/index.ts';
import { protect } from '../protocol/auth/protected-server.ts';
import { ScriptedIssuer } from '../protocol/auth/scripted-issuer.ts';

it.each([
  (url: string) => url.replace('/mcp', '/other'),
  (url: string) => `${url}/below`,
  (url: string) => url.replace('127.0.0.1', 'localhost'),
])('metadata of another resource is no reason to ask for a token', async (resourceOf) => {
  const issuer = await ScriptedIssuer.start();
  const server = await protect(issuer.url, () => undefined, { resource: resourceOf });
  const authorizer = oauth({ onRedirect: issuer.agree });
  await expect(McpClient.http(server.url, { authorizer })).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
    message: expect.stringContaining('it is about'),
  });
  expect(issuer.asked).toEqual([]);
});
