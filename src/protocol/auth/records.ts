import { isJsonObject, type JsonObject } from '../../jsonrpc/index.ts';
import { parseServerMetadata, type ServerMetadata } from './metadata.ts';

/** How a client proves itself at the token endpoint, in the words of RFC 7591. */
export type TokenAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt' | 'none';

/** A client as one authorization server knows it, by its metadata document or by registration. */
export interface RegisteredClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** When the secret is of no use any more, in milliseconds since 1970. */
  readonly secretExpiresAt?: number;
  readonly authMethod?: TokenAuthMethod;
  readonly redirectUris?: readonly string[];
}

/** An access token with all that is needed to use and to renew it. */
export interface Tokens {
  readonly accessToken: string;
  readonly type: 'Bearer' | 'DPoP';
  readonly refreshToken?: string;
  /** In milliseconds since 1970. */
  readonly obtainedAt: number;
  readonly expiresAt?: number;
  /** The scopes that were asked for; none where the parameter was left out. */
  readonly requested: readonly string[];
  readonly resource: string;
  /** Where it comes from, and can be renewed. */
  readonly server: ServerMetadata;
  readonly client: RegisteredClient;
  /** The private key that it is bound to, as a JWK. */
  readonly dpopKey?: JsonObject;
}

export function tokensKey(server: string): string {
  return `tokens ${server}`;
}

export function clientKey(issuer: string): string {
  return `client ${issuer}`;
}

/** Both records are plain JSON; members that are undefined vanish on the way. */
export function encodeRecord(record: Tokens | RegisteredClient): JsonObject {
  return JSON.parse(JSON.stringify(record));
}

/** Reads a stored record; undefined when it is none, whoever wrote it. */
export function parseTokens(value: JsonObject | undefined): Tokens | undefined {
  if (!value || !isJsonObject(value.server)) return undefined;
  const { accessToken, type, refreshToken, obtainedAt, expiresAt, requested, resource, dpopKey } = value;
  const { issuer } = value.server;
  const client = isJsonObject(value.client) ? parseClient(value.client) : undefined;
  if (
    typeof accessToken !== 'string' ||
    typeof resource !== 'string' ||
    typeof issuer !== 'string' ||
    !client
  ) {
    return undefined;
  }
  if (type !== 'Bearer' && !(type === 'DPoP' && isJsonObject(dpopKey))) return undefined;
  return {
    accessToken,
    type,
    resource,
    client,
    server: parseServerMetadata(value.server, [issuer], new URL('store:')),
    requested: Array.isArray(requested) ? requested.filter((scope) => typeof scope === 'string') : [],
    obtainedAt: typeof obtainedAt === 'number' ? obtainedAt : 0,
    ...(typeof refreshToken === 'string' && { refreshToken }),
    ...(typeof expiresAt === 'number' && { expiresAt }),
    ...(isJsonObject(dpopKey) && { dpopKey }),
  };
}

export function parseClient(value: JsonObject | undefined): RegisteredClient | undefined {
  if (!value || typeof value.clientId !== 'string' || value.clientId === '') return undefined;
  const { clientId, clientSecret, secretExpiresAt, authMethod, redirectUris } = value;
  return {
    clientId,
    ...(typeof clientSecret === 'string' && { clientSecret }),
    ...(typeof secretExpiresAt === 'number' && { secretExpiresAt }),
    ...(isAuthMethod(authMethod) && { authMethod }),
    ...(Array.isArray(redirectUris) && {
      redirectUris: redirectUris.filter((uri) => typeof uri === 'string'),
    }),
  };
}

const AUTH_METHODS: readonly string[] = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
  'none',
];

export function isAuthMethod(value: unknown): value is TokenAuthMethod {
  return typeof value === 'string' && AUTH_METHODS.includes(value);
}
