import { expect, it, vi } from 'vitest';
import { AuthHttp } from '../../src/protocol/auth/http.ts';
import { McpClient, oauth } from '../../src/protocol/index.ts';
import { protect } from '../protocol/auth/protected-server.ts';
import { ScriptedIssuer } from '../protocol/auth/scripted-issuer.ts';
import { ScriptedServer } from '../transport/http/scripted-server.ts';

const http = new AuthHttp({ ownHost: '127.0.0.1', allowPrivate: false });

it('redirects without end are followed a few times', async () => {
  const server = await ScriptedServer.start(({ path }, response) => {
    response.writeHead(302, { location: `${path}x` }).end();
  });
  await expect(http.get(new URL(server.url))).rejects.toMatchObject({
    code: 'TRANSPORT_FAILED',
    message: expect.stringContaining('there were 5 redirects before'),
  });
  expect(server.received).toHaveLength(6);
});

it('redirects take no more time than one answer may', async () => {
  const timeouts: AbortController[] = [];
  const server = await ScriptedServer.start((_, response) => {
    if (server.received.length === 1) response.writeHead(302, { location: '/next' }).end();
    else timeouts[0]?.abort();
  });
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const controller = new AbortController();
    timeouts.push(controller);
    return controller.signal;
  });
  try {
    await expect(http.get(new URL(server.url))).rejects.toThrow(/did not answer within 15000 ms/);
  } finally {
    timeout.mockRestore();
  }
});

it('a request for a token is not sent elsewhere', async () => {
  const issuer: ScriptedIssuer = await ScriptedIssuer.start({
    token: (_form, response) => response.writeHead(307, { location: `${issuer.url}/elsewhere` }).end(),
  });
  const server = await protect(issuer.url, () => undefined);
  const authorizer = oauth({ onRedirect: issuer.agree });
  await expect(McpClient.http(server.url, { authorizer })).rejects.toThrow(/status 307/);
  expect(issuer.asked.at(-1)).toBe('POST /token');
});

it('a redirect without an address is the answer that it is', async () => {
  const server = await ScriptedServer.start((_, response) => void response.writeHead(302).end());
  expect(await http.get(new URL(server.url))).toMatchObject({ status: 302 });
});
