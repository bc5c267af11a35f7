import { isJsonObject, McpError } from '../../jsonrpc/index.ts';
import type { ClientCredentials } from './client-auth.ts';
import { type AuthHttp, jsonOf } from './http.ts';
import type { ServerMetadata } from './metadata.ts';
import { hostOf, reachOfHost } from './reach.ts';
import { clientKey, encodeRecord, isAuthMethod, parseClient, type RegisteredClient } from './records.ts';
import type { TokenStore } from './store.ts';
import { printable } from './token-request.ts';

/** A client that was registered beforehand, for one authorization server. */
export interface ClientRegistration extends ClientCredentials {
  /**
   * The issuer that the client is registered with: no other one is ever told of it. Default: the first one that a
   * server names.
   */
  issuer?: string;
}

/** Where a client may come from. */
export interface ClientSources {
  readonly given: ClientRegistration | undefined;
  readonly metadataUrl: string | undefined;
  readonly name: string;
  readonly store: TokenStore;
}

/** The client that is to ask, and what is to be kept of it. Given credentials are kept by whoever gave them. */
export interface ChosenClient {
  readonly credentials: ClientCredentials;
  readonly record: RegisteredClient;
}

/**
 * The client to ask with, in the specified order: the one that was given, a metadata document, dynamic registration.
 * A client is known to one authorization server only and is never shown to another one.
 *
 * @throws McpError `UNAUTHORIZED` when there is none.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration
 */
export async function chooseClient(
  sources: ClientSources,
  server: ServerMetadata,
  redirectUri: string,
  http: AuthHttp,
  signal: AbortSignal,
): Promise<ChosenClient> {
  const { given, metadataUrl, store } = sources;
  if (given) {
    await bind(given, server.issuer, store);
    return { credentials: given, record: { clientId: given.clientId } };
  }
  if (metadataUrl !== undefined && server.client_id_metadata_document_supported) {
    return { credentials: { clientId: metadataUrl, authMethod: 'none' }, record: { clientId: metadataUrl } };
  }
  const known = parseClient(await store.get(clientKey(server.issuer)));
  const record =
    known && isUsable(known, redirectUri)
      ? known
      : await register(sources, server, redirectUri, http, signal);
  return { credentials: credentialsOf(record), record };
}

/** What the record of a client proves itself with. */
export function credentialsOf({ clientId, clientSecret, authMethod }: RegisteredClient): ClientCredentials {
  return { clientId, ...(clientSecret !== undefined && { clientSecret }), ...(authMethod && { authMethod }) };
}

/** The redirect addresses that this client is registered with. */
export async function registeredRedirects(
  sources: ClientSources,
  issuer: string,
): Promise<readonly string[]> {
  return parseClient(await sources.store.get(clientKey(issuer)))?.redirectUris ?? [];
}

/** Forgets what this client is registered as: the next time it registers anew. Another client stays. */
export async function forgetClient(store: TokenStore, issuer: string, clientId: string): Promise<void> {
  const known = parseClient(await store.get(clientKey(issuer)));
  if (known?.clientId === clientId) await store.delete(clientKey(issuer));
}

/** The key under which it is kept which issuer a given client belongs to. */
export function bindingKey(clientId: string): string {
  return `issuer of ${clientId}`;
}

/** @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#authorization-server-binding */
async function bind(
  { clientId, issuer }: ClientRegistration,
  found: string,
  store: TokenStore,
): Promise<void> {
  const bound = issuer ?? (await store.get(bindingKey(clientId)))?.issuer;
  if (bound === undefined) await store.set(bindingKey(clientId), { issuer: found });
  else assertIssuer(clientId, String(bound), found);
}

/** @throws McpError `UNAUTHORIZED` when a client would be shown to an issuer that is not its own. */
export function assertIssuer(clientId: string, own: string, found: string): void {
  if (own === found) return;
  const message = `Cannot authorize at "${found}": client "${clientId}" is registered with "${own}"`;
  throw new McpError('UNAUTHORIZED', message);
}

function isUsable({ secretExpiresAt, redirectUris = [] }: RegisteredClient, redirectUri: string): boolean {
  return (
    redirectUris.includes(redirectUri) && (secretExpiresAt === undefined || secretExpiresAt > Date.now())
  );
}

const MAX_CLIENT_CHARS = 8192;

/** @see https://www.rfc-editor.org/rfc/rfc7591.html#section-3 */
async function register(
  { name, store, metadataUrl }: ClientSources,
  server: ServerMetadata,
  redirectUri: string,
  http: AuthHttp,
  signal: AbortSignal,
): Promise<RegisteredClient> {
  const { registration_endpoint: endpoint, issuer } = server;
  if (endpoint === undefined) throw noClient(server, metadataUrl);
  const body = JSON.stringify(clientMetadata(name, server, redirectUri));
  const headers = { 'content-type': 'application/json' };
  const reply = await http.post(new URL(endpoint), body, { headers, signal });
  const answer = jsonOf(reply);
  if ((reply.status !== 201 && reply.status !== 200) || typeof answer?.client_id !== 'string') {
    throw refused(issuer, reply.status, answer);
  }
  const { client_id: clientId, client_secret: clientSecret, client_secret_expires_at: expires } = answer;
  // It is kept, for as many issuers as a server can name.
  if (`${clientId}${clientSecret}`.length > MAX_CLIENT_CHARS) {
    const why = `its id and secret exceed ${MAX_CLIENT_CHARS} characters`;
    throw new McpError('UNAUTHORIZED', `Cannot register this client at "${issuer}": ${why}`);
  }
  const { token_endpoint_auth_method: authMethod } = answer;
  const record: RegisteredClient = {
    clientId,
    redirectUris: [redirectUri],
    ...(typeof clientSecret === 'string' && clientSecret !== '' && { clientSecret }),
    ...(typeof expires === 'number' && expires > 0 && { secretExpiresAt: expires * 1000 }),
    ...(isAuthMethod(authMethod) && authMethod !== 'private_key_jwt' && { authMethod }),
  };
  await store.set(clientKey(issuer), encodeRecord(record));
  return record;
}

function clientMetadata(name: string, server: ServerMetadata, redirectUri: string) {
  const grants = ['authorization_code', 'refresh_token'];
  const { grant_types_supported: supported = grants } = server;
  return {
    client_name: name,
    redirect_uris: [redirectUri],
    application_type: isNative(redirectUri) ? 'native' : 'web',
    grant_types: grants.filter((grant) => grant === 'authorization_code' || supported.includes(grant)),
    response_types: ['code'],
    token_endpoint_auth_method: wantedAuthMethod(server),
  };
}

/**
 * A program that receives its redirects on the machine it runs on is a native application.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#application-type-and-redirect-uri-constraints
 */
function isNative(redirectUri: string): boolean {
  return reachOfHost(hostOf(new URL(redirectUri))) === 'loopback';
}

/** None where that is allowed: what registers itself can keep no secret that others could not have as well. */
function wantedAuthMethod({ token_endpoint_auth_methods_supported: supported }: ServerMetadata): string {
  const methods = ['none', 'client_secret_basic', 'client_secret_post'];
  return methods.find((method) => supported?.includes(method)) ?? 'client_secret_basic';
}

function noClient(
  { issuer, client_id_metadata_document_supported: takesDocuments }: ServerMetadata,
  url?: string,
) {
  const remedy =
    takesDocuments && url === undefined
      ? 'give clientMetadataUrl or clientRegistration'
      : 'give clientRegistration';
  const message = `Cannot authorize at "${issuer}": this client is not known there and cannot register itself; ${remedy}`;
  return new McpError('UNAUTHORIZED', message);
}

function refused(issuer: string, status: number, answer: unknown): McpError {
  const { error, error_description: description } = isJsonObject(answer) ? answer : {};
  const words = [error, description]
    .filter((word) => typeof word === 'string')
    .map((word) => printable(word));
  const why = [`status ${status}`, ...words].join(': ');
  return new McpError('UNAUTHORIZED', `Cannot register this client at "${issuer}": ${why}`);
}
