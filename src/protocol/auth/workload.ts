import type { HttpAuthorizer } from '../../transport/index.ts';
import { TokenAuthorizer } from './authorizer.ts';
import { assertIssuer } from './registration.ts';
import type { Grant, GrantOptions } from './server-tokens.ts';
import { JWT_BEARER, requestToken, targetParameters } from './token-request.ts';

/** The authorization server that an assertion is for. */
export interface AssertionAudience {
  readonly issuer: string;
}

export interface WorkloadIdentityOptions extends GrantOptions {
  /**
   * The JWT by which the platform vouches for this program, or a function that gives one each time a token is asked
   * for. Its audience must be the authorization server.
   */
  assertion: string | ((audience: AssertionAudience) => string | Promise<string>);
  /** The id of the client, where the authorization server wants one. Default: none is sent. */
  clientId?: string;
  /** The issuer that the assertion may be shown to. Default: the first one that a server names. */
  issuer?: string;
}

/**
 * Authorizes a program by the identity that its platform gives it: an assertion is exchanged for a token, without a
 * secret and without registration. A refusal is final: there is no other way that it would try.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7523.html#section-2.1
 */
export function workloadIdentity(options: WorkloadIdentityOptions): HttpAuthorizer {
  const { assertion, clientId } = options;
  if (typeof assertion !== 'function' && (typeof assertion !== 'string' || assertion === '')) {
    throw new TypeError('assertion must be a JWT or a function that gives one');
  }
  const client = clientId === undefined ? undefined : { clientId, authMethod: 'none' as const };
  let bound = options.issuer;
  const grant: Grant = {
    issuer: options.issuer,
    obtain: async ({ site, scopes, http, dpop, signal }) => {
      const { server } = site;
      const { issuer } = server;
      bound ??= issuer;
      assertIssuer(clientId ?? 'of the workload', bound, issuer);
      const jwt = typeof assertion === 'string' ? assertion : await assertion({ issuer });
      const parameters = { assertion: jwt, ...targetParameters(site.resource, scopes) };
      const issued = await requestToken({ http, server, client, dpop, signal }, JWT_BEARER, parameters);
      return { issued, client: { clientId: clientId ?? '' } };
    },
  };
  return new TokenAuthorizer(grant, options);
}
