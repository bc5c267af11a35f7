import { type JsonObject, McpError } from '../../jsonrpc/index.ts';
import { shownUrl } from './reach.ts';
import { parseScopes } from './www-authenticate.ts';

/** What a protected resource says of itself, as far as it is used here. */
export interface ResourceDocument {
  /** The identifier that tokens for it are asked for with. */
  readonly resource: string;
  /** The issuers of its authorization servers; at least one. */
  readonly issuers: readonly string[];
  readonly scopes: readonly string[] | undefined;
  /** Whether it takes only tokens that are bound to a key. */
  readonly needsDpop: boolean;
}

/** What an authorization server says of itself, as far as it is used here, in the words of RFC 8414. */
export type ServerMetadata = {
  issuer: string;
} & { [name in (typeof ENDPOINTS)[number]]?: string } & { [name in (typeof LISTS)[number]]?: string[] } & {
  [name in (typeof FLAGS)[number]]?: boolean;
};

/**
 * Reads the metadata of a protected resource, for a server that must be covered by it.
 *
 * @throws McpError `UNAUTHORIZED`.
 * @see https://www.rfc-editor.org/rfc/rfc9728.html#section-3.3
 */
export function parseResourceDocument(document: JsonObject, server: URL, from: URL): ResourceDocument {
  const { resource } = document;
  if (!isAddress(resource)) throw unusable(from, 'it names no resource');
  if (!covers(new URL(resource), server)) {
    throw unusable(from, `it is about "${shownUrl(new URL(resource))}" and not about "${shownUrl(server)}"`);
  }
  const issuers = strings(document.authorization_servers)?.filter(isAddress);
  if (!issuers?.length) throw unusable(from, 'it names no authorization server');
  return {
    resource,
    issuers,
    scopes: scopesOf(document),
    needsDpop: document.dpop_bound_access_tokens_required === true,
  };
}

/** Whether a resource is the server's address or stands above it. */
function covers(resource: URL, server: URL): boolean {
  const path = resource.pathname.replace(/\/$/, '');
  const isAbove = server.pathname === path || server.pathname.startsWith(`${path}/`);
  const isSameQuery = resource.search === '' || resource.search === server.search;
  return resource.origin === server.origin && isAbove && isSameQuery && resource.hash === '';
}

/**
 * Reads the metadata of an authorization server: only what is used here, and only where it is of the right type.
 *
 * @throws McpError `UNAUTHORIZED` when it is not the metadata of one of these issuers, compared as they are written.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery
 */
export function parseServerMetadata(
  document: JsonObject,
  issuers: readonly string[],
  from: URL,
): ServerMetadata {
  const { issuer } = document;
  if (typeof issuer !== 'string') throw unusable(from, 'it names no issuer');
  if (!issuers.includes(issuer)) {
    throw unusable(from, `it is of the issuer "${shown(issuer)}" and not of "${shown(issuers[0] ?? '')}"`);
  }
  const metadata: ServerMetadata = { issuer };
  for (const name of ENDPOINTS) {
    const endpoint = document[name];
    if (isAddress(endpoint)) metadata[name] = endpoint;
  }
  for (const name of LISTS) {
    const list = strings(document[name]);
    if (list) metadata[name] = list;
  }
  for (const name of FLAGS) if (document[name] === true) metadata[name] = true;
  return metadata;
}

const ENDPOINTS = [
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
] as const;
const LISTS = [
  'scopes_supported',
  'grant_types_supported',
  'token_endpoint_auth_methods_supported',
  'code_challenge_methods_supported',
  'dpop_signing_alg_values_supported',
] as const;
const FLAGS = [
  'client_id_metadata_document_supported',
  'authorization_response_iss_parameter_supported',
] as const;

const ADDRESS = /^https?:[\x21-\x7e]{1,2048}$/i;

/** An address of HTTP as it may be written; longer ones and other characters have no use but to confuse. */
function isAddress(value: unknown): value is string {
  return typeof value === 'string' && ADDRESS.test(value) && URL.canParse(value);
}

function strings(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : undefined;
}

function scopesOf(document: JsonObject): string[] | undefined {
  const scopes = strings(document.scopes_supported);
  return scopes && parseScopes(scopes.join(' '));
}

function unusable(from: URL, why: string): McpError {
  return new McpError('UNAUTHORIZED', `Cannot use the metadata at "${shownUrl(from)}": ${why}`);
}

function shown(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
