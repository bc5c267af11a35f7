import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';
import { vi } from 'vitest';
import { closeBehindTest } from '../../transport/http/scripted-server.ts';
import type { Principal } from './protected-server.ts';

export interface OidcServer {
  issuer: string;
  provider: Provider;
  /** What was asked of it, in order: the method and the path, or the grant of a request for a token. */
  asked: string[];
  /** Says whom a token stands for, as a guard asks. */
  verify(token: string, resource: string): Promise<Principal | undefined>;
}

const HOUR_S = 3600;

/** A real authorization server on a free port, with one account and its own pages to sign in and to consent. */
export async function startOidc(configuration: Configuration = {}): Promise<OidcServer> {
  const http = createServer();
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  // It has much to say about its defaults.
  const quiet = [vi.spyOn(console, 'info'), vi.spyOn(console, 'warn')];
  for (const spy of quiet) spy.mockImplementation(() => {});
  const provider = new Provider(issuer, {
    ttl: {
      Interaction: HOUR_S,
      Session: HOUR_S,
      Grant: 24 * HOUR_S,
      AccessToken: HOUR_S,
      ClientCredentials: HOUR_S,
      RefreshToken: 24 * HOUR_S,
    },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    scopes: ['offline_access', 'read', 'write'],
    cookies: { keys: ['a key of the tests'] },
    ...configuration,
    features: {
      registration: { enabled: true },
      revocation: { enabled: true, allowedPolicy: () => true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: 'read write',
          audience: resource,
          accessTokenTTL: HOUR_S,
          accessTokenFormat: 'opaque',
        }),
      },
      ...configuration.features,
    },
  });
  for (const spy of quiet) spy.mockRestore();
  const asked: string[] = [];
  provider.on('grant.success', ({ oidc }) => asked.push(String(oidc.params?.grant_type)));
  provider.on('grant.error', ({ oidc }, error) => asked.push(`${oidc.params?.grant_type}: ${error.message}`));
  const handle = provider.callback();
  http.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url !== '/token') asked.push(`${request.method} ${request.url?.replace(/[?].*/, '')}`);
    void handle(request, response);
  });
  closeBehindTest(async () => {
    http.closeAllConnections();
    http.close();
    await once(http, 'close');
  });
  return {
    issuer,
    provider,
    asked,
    async verify(token, resource) {
      const found =
        (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
      if (!found?.isValid || found.aud !== resource) return undefined;
      return { scopes: found.scope?.split(' ') ?? [] };
    },
  };
}
