import { McpError } from '../../jsonrpc/index.ts';
import { type AuthHttp, type AuthReply, jsonOf } from './http.ts';
import { parseResourceDocument, parseServerMetadata, type ServerMetadata } from './metadata.ts';
import { shownUrl } from './reach.ts';
import type { Demand } from './www-authenticate.ts';

/** Where tokens for one MCP server come from. */
export interface Site {
  /** The identifier of the resource that tokens are asked for. */
  readonly resource: string;
  readonly scopesSupported: readonly string[] | undefined;
  readonly needsDpop: boolean;
  readonly server: ServerMetadata;
  /** Whether the server is of revision 2025-03-26, which knows no metadata of resources. */
  readonly isLegacy: boolean;
}

/** What a search for the site of a server starts from. */
export interface Search {
  readonly server: URL;
  readonly demand: Demand | undefined;
  /** The issuer to use where several are named. */
  readonly preferredIssuer: string | undefined;
  readonly signal: AbortSignal;
}

/** The revision that had authorization without metadata of resources. */
const LEGACY_REVISION = '2025-03-26';

/**
 * Finds out where tokens for a server come from: the metadata of the resource, then that of its authorization server.
 *
 * @throws McpError `UNAUTHORIZED` when what is found cannot be used, `TRANSPORT_FAILED` when a server does not answer.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
 */
export async function discoverSite(http: AuthHttp, search: Search): Promise<Site> {
  const { server, preferredIssuer, signal } = search;
  const document = await discoverResource(http, search);
  if (!document) return discoverLegacySite(http, server, signal);
  const { resource, issuers, scopes, needsDpop } = document;
  const issuer = issuers.find((one) => one === preferredIssuer) ?? issuers[0] ?? '';
  const metadata = await discoverServer(http, issuer, signal);
  return { resource, scopesSupported: scopes, needsDpop, server: metadata, isLegacy: false };
}

/**
 * Reads the metadata of an authorization server, at each of the places where it may be.
 *
 * @throws McpError as {@link discoverSite} does.
 */
export async function discoverServer(
  http: AuthHttp,
  issuer: string,
  signal: AbortSignal,
): Promise<ServerMetadata> {
  const url = new URL(issuer);
  if (url.search !== '' || url.hash !== '') {
    throw new McpError(
      'UNAUTHORIZED',
      `Cannot authorize at "${issuer}": an issuer has neither query nor fragment`,
    );
  }
  const found = await firstServer(http, serverLocations(url), [issuer], signal, {});
  if (found.server) return found.server;
  throw (
    found.fault ?? new McpError('UNAUTHORIZED', `Cannot authorize at "${issuer}": it publishes no metadata`)
  );
}

/** The metadata of the resource that a server is; undefined where it has none. */
async function discoverResource(http: AuthHttp, { server, demand, signal }: Search) {
  const named = demand?.resourceMetadata;
  if (named !== undefined) {
    if (!URL.canParse(named, server.href)) throw noMetadata(server, 'the address that it names is none');
    const reply = await http.get(new URL(named, server.href), { signal });
    const document = readOk(reply);
    if (!document) throw noMetadata(reply.url, `status ${reply.status}, and no metadata`);
    return parseResourceDocument(document, server, reply.url);
  }
  for (const location of resourceLocations(server)) {
    const reply = await http.get(location, { signal });
    const document = readOk(reply);
    if (document) return parseResourceDocument(document, server, reply.url);
    if (reply.status >= 500) throw noMetadata(reply.url, `status ${reply.status}`);
  }
  return undefined;
}

/** @see https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#server-metadata-discovery */
async function discoverLegacySite(http: AuthHttp, server: URL, signal: AbortSignal): Promise<Site> {
  const { origin } = server;
  const headers = { 'mcp-protocol-version': LEGACY_REVISION };
  // Nobody has named the issuer here: both ways to write it lead to the same place.
  const issuers = [origin, `${origin}/`];
  const { server: found, fault } = await firstServer(
    http,
    serverLocations(new URL(origin)),
    issuers,
    signal,
    headers,
  );
  if (fault) throw fault;
  const resource = origin + server.pathname.replace(/^\/$/, '');
  const site = { resource, scopesSupported: undefined, needsDpop: false, isLegacy: true };
  return { ...site, server: found ?? defaultEndpoints(origin) };
}

/** @see https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#fallbacks-for-servers-without-metadata-discovery */
function defaultEndpoints(origin: string): ServerMetadata {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
  };
}

/**
 * The first usable metadata of these places. A document of another issuer is no reason not to look further: one server
 * may answer for many issuers.
 */
async function firstServer(
  http: AuthHttp,
  locations: readonly URL[],
  issuers: readonly string[],
  signal: AbortSignal,
  headers: Record<string, string>,
): Promise<{ server?: ServerMetadata; fault?: McpError }> {
  let fault: McpError | undefined;
  for (const location of locations) {
    const reply = await http.get(location, { signal, headers });
    const document = readOk(reply);
    try {
      if (document) return { server: parseServerMetadata(document, issuers, reply.url) };
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
      fault ??= error;
    }
    if (reply.status >= 500) fault ??= noMetadata(reply.url, `status ${reply.status}`);
  }
  return fault ? { fault } : {};
}

function readOk(reply: AuthReply) {
  return reply.status === 200 ? jsonOf(reply) : undefined;
}

function resourceLocations({ origin, pathname, search }: URL): URL[] {
  const root = new URL('/.well-known/oauth-protected-resource', origin);
  if (pathname === '/') return [root];
  return [new URL(root.href + pathname.replace(/\/$/, '') + search), root];
}

function serverLocations({ origin, pathname }: URL): URL[] {
  const path = pathname.replace(/\/$/, '');
  const locations = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  return [...new Set(locations)].map((location) => new URL(location));
}

function noMetadata(url: URL, why: string): McpError {
  return new McpError('UNAUTHORIZED', `Cannot read the metadata at "${shownUrl(url)}": ${why}`);
}
