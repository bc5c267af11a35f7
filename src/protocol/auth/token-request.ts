import type { TokenEndpointResponse } from 'oauth4webapi';
import { McpError, toError } from '../../jsonrpc/index.ts';
import { loadPackage } from '../../jsonrpc/load-package.ts';
import { type ClientCredentials, clientAuthentication } from './client-auth.ts';
import { DPOP_ALGORITHM, type DpopKey } from './dpop.ts';
import { type AuthHttp, type AuthReply, jsonOf } from './http.ts';
import type { ServerMetadata } from './metadata.ts';

/** A request for tokens: who asks whom, over what. */
export interface TokenOrder {
  readonly http: AuthHttp;
  readonly server: ServerMetadata;
  /** Undefined: the grant itself says who asks. */
  readonly client: ClientCredentials | undefined;
  /** The key that the token is to be bound to; undefined: to none. */
  readonly dpop: DpopKey | undefined;
  /** Undefined: it is not to be broken off. */
  readonly signal: AbortSignal | undefined;
}

/** What a token endpoint issued. */
export interface IssuedToken {
  readonly token: string;
  /** In lower case. */
  readonly type: string;
  readonly refreshToken: string | undefined;
  /** In seconds. */
  readonly expiresIn: number | undefined;
  readonly issuedTokenType: unknown;
}

/** The authorization server refused, and says why in a word that OAuth defines. */
export class RefusedGrant extends McpError {
  /** For example `invalid_grant`. */
  readonly error: string;

  constructor(issuer: string, error: string, description: string | undefined) {
    const why = description === undefined ? error : `${error}: ${description}`;
    super('UNAUTHORIZED', `"${issuer}" refuses to authorize: ${why}`);
    this.error = error;
  }

  /** Whether it is the client itself that the server does not accept, or does not know any more. */
  get isAboutClient(): boolean {
    return this.error === 'invalid_client' || this.error === 'unauthorized_client';
  }
}

/** The types of what a token endpoint may issue: access tokens, or the `n_a` of a grant for another server. */
export type ExpectedType = 'access' | 'n_a';

/** The grant of RFC 7523: an assertion for a token. */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** What a token is to be good for. */
export function targetParameters(
  resource: string,
  scopes: readonly string[],
): { resource: string; scope?: string } {
  return scopes.length > 0 ? { resource, scope: scopes.join(' ') } : { resource };
}

const MAX_TOKEN_CHARS = 64 * 1024;
const ACCESS_TOKEN = /^[\x21-\x7e]+$/;

/**
 * Asks a token endpoint. A server that wants a nonce in the proof of a key is asked once more.
 *
 * @throws RefusedGrant, McpError `UNAUTHORIZED` for an answer that is of no use; no token is ever part of an error.
 */
export async function requestToken(
  order: TokenOrder,
  grantType: string,
  parameters: Record<string, string>,
  expected: ExpectedType = 'access',
): Promise<IssuedToken> {
  const { dpop, server } = order;
  if (dpop && !server.dpop_signing_alg_values_supported?.includes(DPOP_ALGORITHM)) {
    throw unusable(server, `it does not bind tokens to keys with ${DPOP_ALGORITHM}`);
  }
  const issued = await requestOnce(order, grantType, parameters);
  const wantsNonce = dpop !== undefined && issued.refused === 'use_dpop_nonce' && issued.hasNonce;
  const final = wantsNonce ? await requestOnce(order, grantType, parameters) : issued;
  if (final.refused !== undefined) throw new RefusedGrant(server.issuer, final.refused, final.description);
  return readIssued(final.response, order, expected);
}

type Answer =
  | { refused: string; description: string | undefined; hasNonce: boolean }
  | { refused?: never; response: TokenEndpointResponse };

async function requestOnce(
  order: TokenOrder,
  grantType: string,
  parameters: Record<string, string>,
): Promise<Answer> {
  const { http, server, client, dpop, signal } = order;
  const { token_endpoint: endpoint } = server;
  if (endpoint === undefined) throw unusable(server, 'its metadata names no token endpoint');
  const oauth = await loadPackage('oauth4webapi', () => import('oauth4webapi'));
  const url = new URL(endpoint);
  // The library wants an id even where none is sent.
  const oauthClient = { client_id: client?.clientId ?? 'none' };
  const authentication = client ? await clientAuthentication(client, server) : () => {};
  let hasNonce = false;
  const send = async (
    _url: string,
    { body, headers }: { body: URLSearchParams; headers: Record<string, string> },
  ) => {
    const reply = await http.post(url, body.toString(), { headers, signal });
    hasNonce = dpop?.takeNonce(url, reply.headers) ?? false;
    return toResponse(reply);
  };
  const response = await oauth.genericTokenEndpointRequest(
    server,
    oauthClient,
    authentication,
    grantType,
    parameters,
    {
      [oauth.customFetch]: send,
      // What may be asked is for AuthHttp to say.
      [oauth.allowInsecureRequests]: true,
      ...(dpop && { headers: { dpop: dpop.proof({ method: 'POST', url }) } }),
    },
  );
  try {
    const options = { recognizedTokenTypes: { n_a: () => {} } };
    return {
      response: await oauth.processGenericTokenEndpointResponse(server, oauthClient, response, options),
    };
  } catch (error) {
    const secrets = secretsOf(order, parameters);
    if (error instanceof oauth.ResponseBodyError) {
      const { error: refused, error_description: description } = error;
      return {
        refused: printable(refused, secrets),
        description: description === undefined ? undefined : printable(description, secrets),
        hasNonce,
      };
    }
    // The error of the library has the reply, tokens and all: only its words go on.
    throw unusable(server, `status ${response.status}: ${printable(toError(error).message, secrets)}`);
  }
}

/** What was sent and could come back in the words of a refusal. */
function secretsOf({ client }: TokenOrder, parameters: Record<string, string>): string[] {
  const values = [...SECRET_PARAMETERS.map((name) => parameters[name]), client?.clientSecret];
  return values.filter((value) => value !== undefined);
}

const SECRET_PARAMETERS = ['code', 'code_verifier', 'refresh_token', 'assertion', 'subject_token'];

/** The reply as the library reads it, without what could mislead it. */
function toResponse(reply: AuthReply): Response {
  const body = jsonOf(reply);
  const status = Math.min(reply.status, LAST_STATUS);
  if (!body || BODILESS_STATUSES.includes(status)) return new Response(null, { status });
  // Some servers refuse with status 200.
  const isRefusal = status === 200 && typeof body.error === 'string' && body.access_token === undefined;
  // Nobody here reads the ID token, and a fault in it is no reason to refuse the access token.
  const { id_token: _, ...rest } = body;
  // No member that is read is an object, and one may be too deep to be written.
  const flat = Object.entries(rest).map(([name, value]) => [name, typeof value === 'object' ? null : value]);
  const headers = { 'content-type': 'application/json' };
  const text = JSON.stringify(Object.fromEntries(flat));
  return new Response(text, { status: isRefusal ? 400 : status, headers });
}

/** What a Response can be made of. */
const LAST_STATUS = 599;
const BODILESS_STATUSES: readonly number[] = [204, 205, 304];

function readIssued(
  response: TokenEndpointResponse,
  { server, dpop }: TokenOrder,
  expected: ExpectedType,
): IssuedToken {
  const {
    access_token: token,
    token_type: type,
    refresh_token: refreshToken,
    expires_in: expiresIn,
  } = response;
  const wanted = expected === 'n_a' ? 'n_a' : dpop ? 'dpop' : 'bearer';
  if (type !== wanted)
    throw unusable(server, `it issued a token of type "${printable(type)}" and not "${wanted}"`);
  if (token.length > MAX_TOKEN_CHARS || !ACCESS_TOKEN.test(token)) {
    throw unusable(server, 'it issued a token that cannot be sent in a header');
  }
  if (refreshToken !== undefined && refreshToken.length > MAX_TOKEN_CHARS) {
    throw unusable(server, `it issued a refresh token of more than ${MAX_TOKEN_CHARS} characters`);
  }
  return { token, type, refreshToken, expiresIn, issuedTokenType: response.issued_token_type };
}

/**
 * Text of a server for an error message: short, and without what could take over a terminal.
 *
 * @param secrets What must not be part of it, even where the server says it.
 */
export function printable(text: string, secrets: readonly string[] = []): string {
  let plain = text;
  // Shorter ones are words that a server may use.
  for (const secret of secrets) if (secret.length >= MIN_SECRET_CHARS) plain = plain.replaceAll(secret, '…');
  plain = plain.replace(/[^\x20-\x7e\u00a0-\uffff]/g, ' ');
  return plain.length > 200 ? `${plain.slice(0, 200)}…` : plain;
}

const MIN_SECRET_CHARS = 8;

function unusable({ issuer }: ServerMetadata, why: string): McpError {
  return new McpError('UNAUTHORIZED', `Cannot authorize at "${issuer}": ${why}`);
}

/**
 * Tells the authorization server that a token is not wanted any more, where it has a way to.
 *
 * @throws McpError when it does not confirm that.
 * @see https://www.rfc-editor.org/rfc/rfc7009.html
 */
export async function revokeToken(order: TokenOrder, token: string, kind: string): Promise<void> {
  const { http, server, client, signal } = order;
  const { revocation_endpoint: endpoint } = server;
  if (endpoint === undefined || !client) return;
  const body = new URLSearchParams({ token, token_type_hint: kind });
  const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' });
  const authentication = await clientAuthentication(client, server);
  await authentication(server, { client_id: client.clientId }, body, headers);
  const sent = { headers: Object.fromEntries(headers), signal };
  const { status } = await http.post(new URL(endpoint), body.toString(), sent);
  if (status !== 200) throw unusable(server, `it did not revoke a token: status ${status}`);
}
