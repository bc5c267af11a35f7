import { McpError } from '../../jsonrpc/index.ts';
import type { HttpAuthorizer } from '../../transport/index.ts';
import { TokenAuthorizer } from './authorizer.ts';
import { type ClientCredentials, readCredentials } from './client-auth.ts';
import { discoverServer } from './discovery.ts';
import { AuthHttp } from './http.ts';
import type { ServerMetadata } from './metadata.ts';
import { hostOf, isSecure } from './reach.ts';
import { assertIssuer, type ClientRegistration } from './registration.ts';
import type { Grant, GrantOptions, GrantOrder } from './server-tokens.ts';
import { JWT_BEARER, requestToken, targetParameters } from './token-request.ts';

/** The identity provider of an organization, and this client as it knows it. */
export interface IdentityProvider extends ClientCredentials {
  /** Its issuer identifier. Its metadata is read where no `tokenEndpoint` is given. */
  issuer: string;
  /** Where it exchanges tokens. Default: what its metadata says. */
  tokenEndpoint?: string;
}

export interface EnterpriseOptions extends ClientRegistration, GrantOptions {
  /** Who decides which servers the user may use. */
  identityProvider: IdentityProvider;
  /**
   * What the identity provider said of the user when they signed in to this client, or a function that gives it each
   * time a token is asked for: an OpenID Connect ID token, or a SAML 2 assertion.
   */
  identity: string | (() => string | Promise<string>);
  /** What `identity` is. Default `id_token`. */
  identityType?: 'id_token' | 'saml2';
}

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';
const ID_JAG = `${TOKEN_TYPE}id-jag`;

/**
 * Authorizes a user whose organization decides about it: the identity provider exchanges the user's identity for a grant
 * (ID-JAG), and the server's authorization server exchanges that for a token. The user is not asked.
 *
 * @throws TypeError when the options do not go together.
 * @see https://github.com/modelcontextprotocol/ext-auth/blob/main/specification/draft/enterprise-managed-authorization.mdx
 */
export function enterpriseManaged(options: EnterpriseOptions): HttpAuthorizer {
  readCredentials(options, 'enterpriseManaged');
  readCredentials(options.identityProvider, 'identityProvider');
  const { clientId, identityProvider } = options;
  const { issuer, tokenEndpoint } = identityProvider;
  for (const [name, address] of Object.entries({ issuer, tokenEndpoint })) {
    if (address === undefined || (URL.canParse(address) && isSecure(new URL(address)))) continue;
    throw new TypeError(`identityProvider.${name} must be an https address, or http on this machine`);
  }
  let bound = options.issuer;
  const grant: Grant = {
    extension: 'io.modelcontextprotocol/enterprise-managed-authorization',
    issuer: options.issuer,
    obtain: async (order) => {
      const { site, http, dpop, signal } = order;
      const { server } = site;
      bound ??= server.issuer;
      assertIssuer(clientId, bound, server.issuer);
      const assertion = await exchangeIdentity(options, order);
      const parameters = { assertion, ...targetParameters(site.resource, order.scopes) };
      const issued = await requestToken(
        { http, server, client: options, dpop, signal },
        JWT_BEARER,
        parameters,
      );
      return { issued, client: { clientId } };
    },
  };
  return new TokenAuthorizer(grant, options);
}

/** @see https://www.rfc-editor.org/rfc/rfc8693.html */
async function exchangeIdentity(options: EnterpriseOptions, order: GrantOrder): Promise<string> {
  const { identity, identityType = 'id_token', identityProvider } = options;
  const { site, scopes, signal } = order;
  const { issuer, tokenEndpoint } = identityProvider;
  const { allowPrivateAddresses: allowPrivate = false, dispatcher } = options;
  // The organization chose it, wherever it is.
  const http = new AuthHttp({ ownHost: hostOf(new URL(tokenEndpoint ?? issuer)), allowPrivate }, dispatcher);
  const server: ServerMetadata =
    tokenEndpoint === undefined
      ? await discoverServer(http, issuer, signal)
      : { issuer, token_endpoint: tokenEndpoint };
  const parameters = {
    requested_token_type: ID_JAG,
    audience: site.server.issuer,
    subject_token: typeof identity === 'string' ? identity : await identity(),
    subject_token_type: TOKEN_TYPE + identityType,
    ...targetParameters(site.resource, scopes),
  };
  const exchange = { http, server, client: identityProvider, dpop: undefined, signal };
  const { token, issuedTokenType } = await requestToken(exchange, TOKEN_EXCHANGE, parameters, 'n_a');
  if (issuedTokenType === ID_JAG) return token;
  throw new McpError(
    'UNAUTHORIZED',
    `Cannot authorize at "${issuer}": what it issued is no identity assertion grant`,
  );
}
