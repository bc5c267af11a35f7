import dns from 'node:dns';
import { isIPv6 } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { AuthHttp } from '../../src/protocol/auth/http.ts';
import { McpClient, oauth } from '../../src/protocol/index.ts';
import { protect } from '../protocol/auth/protected-server.ts';
import { ScriptedIssuer, sendJson } from '../protocol/auth/scripted-issuer.ts';
import { ScriptedServer } from '../transport/http/scripted-server.ts';

const PRIVATE = [
  'https://10.0.0.1',
  'https://169.254.169.254/latest',
  'https://[fd00::1]',
  'https://192.168.1.1:8443',
];

describe('an address in a private network', () => {
  it.each(PRIVATE)('is not asked because a server names it for its metadata: %s', async (address) => {
    const server = await ScriptedServer.start((_, response) => {
      response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${address}"` }).end();
    });
    const authorizer = oauth({ onRedirect: () => {} });
    await expect(McpClient.http(server.url, { authorizer })).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('it is in a private network; set allowPrivateAddresses'),
    });
  });

  it.each(PRIVATE)('is not asked because a server names it as its issuer: %s', async (address) => {
    const server = await protect(address, () => undefined);
    const authorizer = oauth({ onRedirect: () => {} });
    await expect(McpClient.http(server.url, { authorizer })).rejects.toThrow(/it is in a private network/);
  });

  it.each(['token_endpoint', 'registration_endpoint'])(
    'is not asked as the %s of an issuer',
    async (endpoint) => {
      const metadata: JsonObject = { [endpoint]: 'https://10.0.0.1/x' };
      const issuer = await ScriptedIssuer.start({ metadata });
      const server = await protect(issuer.url, () => undefined);
      const authorizer = oauth({ onRedirect: issuer.agree });
      await expect(McpClient.http(server.url, { authorizer })).rejects.toThrow(/it is in a private network/);
    },
  );

  it.each([
    'https://10.0.0.1/x',
    'https://[::ffff:10.0.0.1]/',
    'https://example.com/',
    'http://localhost:1/',
  ])('is not asked because of a redirect: %s', async (location) => {
    const server = await ScriptedServer.start((_, response) => response.writeHead(302, { location }).end());
    const http = new AuthHttp({ ownHost: '127.0.0.1', allowPrivate: false });
    await expect(http.get(new URL(server.url))).rejects.toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringMatching(/another origin is not followed/),
    });
  });

  it.each([[['10.0.0.1']], [['8.8.8.8', 'fd00::1']], [['127.0.0.1']]])(
    'is not asked under a name that leads there: %j',
    async (addresses) => {
      const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
      const lookup = vi.spyOn(dns, 'lookup').mockImplementation(
        // Sound: it is called with options.
        ((_host: string, _options: object, callback: (error: null, addresses: object[]) => void) =>
          callback(null, found)) as typeof dns.lookup,
      );
      try {
        const http = new AuthHttp({ ownHost: 'mcp.example.com', allowPrivate: false });
        await expect(http.get(new URL('https://auth.example.com/'))).rejects.toMatchObject({
          code: 'TRANSPORT_FAILED',
          message: expect.stringMatching(/it is (this machine|in a private network)/),
        });
      } finally {
        lookup.mockRestore();
      }
    },
  );
});

it('this machine is not asked on behalf of a server elsewhere', async () => {
  const http = new AuthHttp({ ownHost: 'mcp.example.com', allowPrivate: false });
  const server = await ScriptedServer.start((_, response) => sendJson(response, 200, {}));
  await expect(http.get(new URL(server.url))).rejects.toThrow(
    /it is this machine; set allowPrivateAddresses/,
  );
  expect(server.received).toEqual([]);
});
