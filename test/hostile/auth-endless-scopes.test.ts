import { expect, it } from 'vitest';
import { McpClient, oauth } from '../../src/protocol/index.ts';
import { BearerChallenge, httpErrorOf } from '../../src/transport/index.ts';
import { protect } from '../protocol/auth/protected-server.ts';
import { ScriptedIssuer } from '../protocol/auth/scripted-issuer.ts';
import { closeBehindTest } from '../transport/http/scripted-server.ts';

it('a server that always wants one more scope gets three attempts, and then the call fails', async () => {
  const issuer = await ScriptedIssuer.start();
  let wanted = 0;
  let isGreedy = false;
  const server = await protect(issuer.url, (token) => {
    if (!issuer.tokens.has(token)) return undefined;
    if (isGreedy) throw new BearerChallenge('insufficient_scope', { scopes: [`scope-${++wanted}`] });
    return { scopes: [] };
  });
  const client = await McpClient.http(server.url, { authorizer: oauth({ onRedirect: issuer.agree }) });
  closeBehindTest(() => client.close());
  isGreedy = true;
  const error = await client.callTool('read').catch((thrown) => thrown);
  expect(httpErrorOf(error)).toMatchObject({ status: 403 });
  expect(issuer.authorizations.map((sent) => sent.get('scope'))).toEqual([
    null,
    'scope-1',
    'scope-1 scope-2',
    'scope-1 scope-2 scope-3',
  ]);
});
