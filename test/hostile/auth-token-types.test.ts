import { expect, it } from 'vitest';
import { McpClient, oauth } from '../../src/protocol/index.ts';
import { protect } from '../protocol/auth/protected-server.ts';
import { ScriptedIssuer, sendJson } from '../protocol/auth/scripted-issuer.ts';

it.each<[string, unknown]>([
  ['another type', { access_token: 'secret', token_type: 'mac' }],
  ['a type of other servers', { access_token: 'secret', token_type: 'N_A' }],
  ['a type that was not asked for', { access_token: 'secret', token_type: 'DPoP' }],
  ['a type that is no text', { access_token: 'secret', token_type: 1 }],
  ['no type', { access_token: 'secret' }],
  ['no token', { token_type: 'Bearer' }],
  ['a token that is no text', { access_token: ['secret'], token_type: 'Bearer' }],
  ['an empty token', { access_token: '', token_type: 'Bearer' }],
  ['a token that would break a header', { access_token: 'secret\r\nx: y', token_type: 'Bearer' }],
  ['a token with spaces', { access_token: 'secret secret', token_type: 'Bearer' }],
  ['a lifetime that is none', { access_token: 'secret', token_type: 'Bearer', expires_in: -1 }],
  ['a refresh token that is no text', { access_token: 'secret', token_type: 'Bearer', refresh_token: {} }],
  ['a list', [{ access_token: 'secret', token_type: 'Bearer' }]],
  ['nothing', null],
])('a token endpoint that issues %s is refused, and the token shown to nobody', async (_, answer) => {
  const issuer = await ScriptedIssuer.start({ token: (_form, response) => sendJson(response, 200, answer) });
  const server = await protect(issuer.url, () => ({ scopes: [] }));
  const authorizer = oauth({ onRedirect: issuer.agree });
  const error = await McpClient.http(server.url, { authorizer }).catch((thrown) => thrown);
  expect(error).toMatchObject({
    code: 'UNAUTHORIZED',
    message: expect.stringContaining(`Cannot authorize at "${issuer.url}"`),
  });
  expect(`${error.stack} ${error.message} ${String(error.cause)} ${JSON.stringify(error)}`).not.toContain(
    'secret',
  );
  expect(server.seen).toEqual([undefined]);
});
