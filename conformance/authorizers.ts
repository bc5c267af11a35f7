// How the everything client authorizes itself, scenario by scenario. The suite hands over what a client is to know
// beforehand in the context of the scenario.

import {
  clientCredentials,
  enterpriseManaged,
  type HttpAuthorizer,
  type OAuthOptions,
  oauth,
  type SigningAlgorithm,
  workloadIdentity,
} from 'mcpwire';

/** What the suite tells of a scenario: only what the scenario needs is there. */
export interface AuthorizationContext {
  client_id?: string;
  client_secret?: string;
  private_key_pem?: string;
  signing_algorithm?: SigningAlgorithm;
  idp_client_id?: string;
  idp_id_token?: string;
  idp_issuer?: string;
  idp_token_endpoint?: string;
  valid_jwt?: string;
}

/** The document that the suite takes for this client's; nobody reads it. */
const CLIENT_METADATA_URL = 'https://conformance-test.local/client-metadata.json';

export function authorizerFor(scenario: string, context: AuthorizationContext): HttpAuthorizer | undefined {
  const { client_id: clientId = '', client_secret: clientSecret = '' } = context;
  switch (scenario) {
    case 'auth/client-credentials-basic':
      return clientCredentials({ clientId, clientSecret });
    case 'auth/client-credentials-jwt': {
      const { private_key_pem: privateKey = '', signing_algorithm: algorithm = 'ES256' } = context;
      return clientCredentials({ clientId, privateKey, algorithm });
    }
    case 'auth/enterprise-managed-authorization':
      return enterpriseManaged({
        clientId,
        clientSecret,
        identity: context.idp_id_token ?? '',
        identityProvider: {
          issuer: context.idp_issuer ?? '',
          tokenEndpoint: context.idp_token_endpoint ?? '',
          clientId: context.idp_client_id ?? '',
        },
      });
    case 'auth/wif-jwt-bearer':
      return workloadIdentity({ clientId, assertion: context.valid_jwt ?? '' });
    case 'auth/pre-registration':
      return signingIn({ clientRegistration: { clientId, clientSecret } });
    default:
      return scenario.startsWith('auth/') ? signingIn({ clientMetadataUrl: CLIENT_METADATA_URL }) : undefined;
  }
}

/** A user who agrees at once: the suite's authorization server has no pages, only redirects. */
function signingIn(options: Partial<OAuthOptions>): HttpAuthorizer {
  return oauth({
    onRedirect: async (url) => {
      await (await fetch(url)).text();
    },
    ...options,
  });
}
