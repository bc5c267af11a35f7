import { expect, it } from 'vitest';
import { McpClient, memoryTokenStore, oauth } from '../../src/protocol/index.ts';
import { protect } from '../protocol/auth/protected-server.ts';
import { type IssuerScript, ScriptedIssuer, sendJson } from '../protocol/auth/scripted-issuer.ts';

it('metadata that speaks for an honest issuer is not used, and that issuer is not asked', async () => {
  const honest = await ScriptedIssuer.start();
  const attacker = await ScriptedIssuer.start({
    metadata: { issuer: honest.url, authorization_endpoint: `${honest.url}/authorize` },
  });
  const server = await protect(attacker.url, () => undefined);
  const authorizer = oauth({ onRedirect: honest.agree });
  await expect(McpClient.http(server.url, { authorizer })).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
    message: expect.stringContaining(`it is of the issuer "${honest.url}" and not of "${attacker.url}"`),
  });
  expect(honest.asked).toEqual([]);
  expect(attacker.tokenRequests).toEqual([]);
});

it('the code of an honest issuer is not carried to an attacker who sent the user there', async () => {
  const honest = await ScriptedIssuer.start();
  // The attacker's own metadata, with the honest issuer's page to sign in.
  const attacker = await ScriptedIssuer.start({
    metadata: {
      authorization_endpoint: `${honest.url}/authorize`,
      registration_endpoint: `${honest.url}/register`,
    },
  });
  const server = await protect(attacker.url, () => undefined);
  const authorizer = oauth({ onRedirect: honest.agree });
  await expect(McpClient.http(server.url, { authorizer })).rejects.toThrow(/it is of another issuer/);
  expect(attacker.tokenRequests).toEqual([]);
  expect(honest.tokenRequests).toEqual([]);
});

it('a client that one issuer registered is not shown to another one', async () => {
  const store = memoryTokenStore();
  const registering = (id: string): IssuerScript => ({
    register: (_body, response) =>
      sendJson(response, 201, { client_id: id, client_secret: `secret of ${id}` }),
  });
  const honest = await ScriptedIssuer.start(registering('honest'));
  const attacker = await ScriptedIssuer.start(registering('attacker'));
  for (const issuer of [honest, attacker]) {
    const server = await protect(issuer.url, (token) =>
      issuer.tokens.has(token) ? { scopes: [] } : undefined,
    );
    const authorizer = oauth({ store, onRedirect: issuer.agree });
    await (await McpClient.http(server.url, { authorizer })).close();
  }
  expect(honest.authorizations[0]?.get('client_id')).toBe('honest');
  expect(attacker.authorizations[0]?.get('client_id')).toBe('attacker');
  expect(JSON.stringify(attacker.received)).not.toContain('honest');
});
