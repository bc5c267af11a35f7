import type { HttpAuthorizer } from '../../transport/index.ts';
import { TokenAuthorizer } from './authorizer.ts';
import { readCredentials } from './client-auth.ts';
import { assertIssuer, type ClientRegistration } from './registration.ts';
import type { Grant, GrantOptions } from './server-tokens.ts';
import { requestToken, targetParameters } from './token-request.ts';

/** The client that authorizes itself, with what is known of its authorization server. */
export interface ClientCredentialsOptions extends ClientRegistration, GrantOptions {}

/**
 * Authorizes a program on its own behalf, with its secret or its private key.
 *
 * @throws TypeError when the credentials do not go together.
 * @see https://github.com/modelcontextprotocol/ext-auth/blob/main/specification/draft/oauth-client-credentials.mdx
 */
export function clientCredentials(options: ClientCredentialsOptions): HttpAuthorizer {
  readCredentials(options, 'clientCredentials');
  const { clientId, clientSecret, privateKey } = options;
  if (clientSecret === undefined && privateKey === undefined) {
    throw new TypeError('clientCredentials needs a clientSecret or a privateKey');
  }
  let bound = options.issuer;
  const grant: Grant = {
    extension: 'io.modelcontextprotocol/oauth-client-credentials',
    issuer: options.issuer,
    obtain: async ({ site, scopes, http, dpop, signal }) => {
      const { server } = site;
      bound ??= server.issuer;
      assertIssuer(clientId, bound, server.issuer);
      const order = { http, server, client: options, dpop, signal };
      const issued = await requestToken(order, 'client_credentials', targetParameters(site.resource, scopes));
      return { issued, client: { clientId } };
    },
  };
  return new TokenAuthorizer(grant, options);
}
