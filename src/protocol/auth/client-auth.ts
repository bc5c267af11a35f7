import type { JsonWebKey, KeyObject, webcrypto } from 'node:crypto';
import { types } from 'node:util';
import type { ClientAuth } from 'oauth4webapi';
import { McpError } from '../../jsonrpc/index.ts';
import { loadPackage } from '../../jsonrpc/load-package.ts';
import { nodeCrypto } from '../crypto.ts';
import type { ServerMetadata } from './metadata.ts';
import type { TokenAuthMethod } from './records.ts';

/** The signature algorithms for {@link ClientCredentials.privateKey}. */
export type SigningAlgorithm =
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'Ed25519';

/** A client that an authorization server knows already. */
export interface ClientCredentials {
  clientId: string;
  clientSecret?: string;
  /** The private key of the client: PEM (PKCS #8), a JWK or a key of Web Crypto. It never leaves this process. */
  privateKey?: string | JsonWebKey | webcrypto.CryptoKey;
  /** The algorithm of the key, where its kind leaves a choice. Default `RS256` for RSA, else what the curve says. */
  algorithm?: SigningAlgorithm;
  /** The id of the key at the authorization server. Default: none is sent. */
  keyId?: string;
  /**
   * How the client proves itself at the token endpoint. Default: `private_key_jwt` with a private key; with a secret
   * the first that the server supports of `client_secret_basic` and `client_secret_post`; else `none`.
   */
  authMethod?: TokenAuthMethod;
}

/** @throws TypeError when the credentials do not go together. */
export function readCredentials(credentials: ClientCredentials, option: string): ClientCredentials {
  const { clientId, clientSecret, privateKey, authMethod } = credentials;
  if (typeof clientId !== 'string' || clientId === '')
    throw new TypeError(`${option}.clientId must be a string`);
  const needsSecret = authMethod === 'client_secret_basic' || authMethod === 'client_secret_post';
  if (needsSecret && !clientSecret)
    throw new TypeError(`${option}.authMethod ${authMethod} needs a clientSecret`);
  if (authMethod === 'private_key_jwt' && privateKey === undefined) {
    throw new TypeError(`${option}.authMethod private_key_jwt needs a privateKey`);
  }
  if (privateKey !== undefined && !types.isCryptoKey(privateKey)) parseKey(privateKey, option);
  return credentials;
}

/** How a client is to prove itself at a server that may have said what it supports. */
export function chooseAuthMethod(client: ClientCredentials, server: ServerMetadata): TokenAuthMethod {
  if (client.authMethod) return client.authMethod;
  if (client.privateKey !== undefined) return 'private_key_jwt';
  if (client.clientSecret === undefined) return 'none';
  const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const method = (['client_secret_basic', 'client_secret_post', 'none'] as const).find((one) =>
    supported.includes(one),
  );
  return method ?? 'client_secret_basic';
}

/** What adds a client's proof to a request at the token endpoint. */
export async function clientAuthentication(
  client: ClientCredentials,
  server: ServerMetadata,
): Promise<ClientAuth> {
  const { clientId, clientSecret = '' } = client;
  const { ClientSecretPost, None, PrivateKeyJwt } = await loadPackage(
    'oauth4webapi',
    () => import('oauth4webapi'),
  );
  switch (chooseAuthMethod(client, server)) {
    case 'none':
      return None();
    case 'client_secret_post':
      return ClientSecretPost(clientSecret);
    case 'client_secret_basic':
      return (_server, _client, _body, headers) => {
        headers.set(
          'authorization',
          `Basic ${btoa(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`)}`,
        );
      };
    case 'private_key_jwt': {
      const key = await signingKey(client);
      return PrivateKeyJwt(client.keyId === undefined ? key : { key, kid: client.keyId });
    }
  }
}

/** The encoding of forms, which leaves more as it is than percent-encoding may: many servers do not decode. */
function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

async function signingKey({
  privateKey,
  algorithm,
  clientId,
}: ClientCredentials): Promise<webcrypto.CryptoKey> {
  if (types.isCryptoKey(privateKey)) return privateKey;
  if (privateKey === undefined) throw new McpError('UNAUTHORIZED', `Client "${clientId}" has no private key`);
  const key = parseKey(privateKey, 'credentials');
  const parameters = importParameters(key, algorithm);
  return nodeCrypto().webcrypto.subtle.importKey(
    'pkcs8',
    key.export({ type: 'pkcs8', format: 'der' }),
    parameters,
    false,
    ['sign'],
  );
}

function parseKey(privateKey: string | JsonWebKey, option: string): KeyObject {
  let key: KeyObject;
  try {
    key =
      typeof privateKey === 'string'
        ? nodeCrypto().createPrivateKey(privateKey)
        : nodeCrypto().createPrivateKey({ key: privateKey, format: 'jwk' });
  } catch {
    // What OpenSSL says of it could show parts of the key.
    throw new TypeError(`${option}.privateKey must be a private key: PEM (PKCS #8), a JWK or a CryptoKey`);
  }
  return key;
}

const CURVES: { readonly [name: string]: string } = {
  prime256v1: 'P-256',
  secp384r1: 'P-384',
  secp521r1: 'P-521',
};

function importParameters(
  { asymmetricKeyType, asymmetricKeyDetails }: KeyObject,
  algorithm: SigningAlgorithm | undefined,
) {
  switch (asymmetricKeyType) {
    case 'rsa':
    case 'rsa-pss': {
      const name =
        asymmetricKeyType === 'rsa-pss' || algorithm?.startsWith('PS') ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5';
      return { name, hash: `SHA-${algorithm?.slice(2) ?? 256}` };
    }
    case 'ec':
      return { name: 'ECDSA', namedCurve: CURVES[asymmetricKeyDetails?.namedCurve ?? ''] ?? 'P-256' };
    case 'ed25519':
      return { name: 'Ed25519' };
    default:
      throw new TypeError(`privateKey must be an RSA, EC or Ed25519 key, not ${asymmetricKeyType}`);
  }
}
