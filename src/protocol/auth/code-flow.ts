import { McpError, toError } from '../../jsonrpc/index.ts';
import { loadPackage } from '../../jsonrpc/load-package.ts';
import type { Site } from './discovery.ts';
import type { DpopKey } from './dpop.ts';
import type { AuthHttp } from './http.ts';
import { type LoopbackOptions, LoopbackReceiver } from './loopback.ts';
import type { ServerMetadata } from './metadata.ts';
import type { RegisteredClient } from './records.ts';
import { type ClientSources, chooseClient, forgetClient, registeredRedirects } from './registration.ts';
import { abortable } from './shared-run.ts';
import { type IssuedToken, printable, RefusedGrant, requestToken } from './token-request.ts';

/** How the user is asked, and how the answer comes back. */
export interface Interaction {
  /** Takes the user to the authorization server. */
  show(url: URL): void | Promise<void>;
  /** Where the answer arrives: on this machine, or at an address that {@link Interaction.receive} watches. */
  readonly redirect: string | LoopbackOptions;
  /** Resolves with the address that the user's browser was sent to in the end. */
  readonly receive: ((wait: RedirectWait) => Promise<string | URL>) | undefined;
  readonly timeoutMs: number;
}

/** What is waited for. */
export interface RedirectWait {
  /** The value that the address carries as `state`: it tells one authorization from another. */
  readonly state: string;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** One authorization that is to be asked for. */
export interface CodeOrder {
  readonly site: Site;
  readonly scopes: readonly string[];
  readonly http: AuthHttp;
  readonly dpop: DpopKey | undefined;
  readonly signal: AbortSignal;
}

/** Where the redirect of one authorization arrives. */
interface Receiver {
  readonly uri: string;
  receive(state: string, signal: AbortSignal): Promise<URLSearchParams>;
  close(): Promise<void>;
}

/**
 * The authorization code flow with PKCE, for one user who is asked once.
 *
 * @throws McpError `UNAUTHORIZED` when the server refuses, or answers what it must not.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-flow-steps
 */
export async function authorizeByCode(
  order: CodeOrder,
  sources: ClientSources,
  interaction: Interaction,
): Promise<{ issued: IssuedToken; client: RegisteredClient }> {
  const { site, http, dpop } = order;
  const { server, resource } = site;
  const endpoint = authorizationEndpoint(server, http);
  assertPkce(site);
  const signal = AbortSignal.any([order.signal, AbortSignal.timeout(interaction.timeoutMs)]);
  const receiver = await openReceiver(interaction, await registeredRedirects(sources, server.issuer));
  let clientId: string | undefined;
  try {
    const { credentials, record } = await chooseClient(sources, server, receiver.uri, http, signal);
    clientId = credentials.clientId;
    const oauth = await loadPackage('oauth4webapi', () => import('oauth4webapi'));
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const challenge = await oauth.calculatePKCECodeChallenge(verifier);
    const client = { client_id: clientId };
    const query = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: receiver.uri,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state,
      resource,
      ...scopeParameters(order.scopes, server),
      ...(dpop && { dpop_jkt: dpop.thumbprint }),
    };
    for (const [name, value] of Object.entries(query)) endpoint.searchParams.set(name, value);
    const received = receiver.receive(state, signal);
    const answer = await shownAndReceived(show(interaction, endpoint, server), received);
    const code = await readCode(answer, server, client, state);
    const parameters = { code, redirect_uri: receiver.uri, code_verifier: verifier, resource };
    const tokenOrder = { http, server, client: credentials, dpop, signal };
    return { issued: await requestToken(tokenOrder, 'authorization_code', parameters), client: record };
  } catch (error) {
    if (signal.aborted && !order.signal.aborted) throw late(server, interaction.timeoutMs);
    if (error instanceof RefusedGrant && error.isAboutClient && clientId !== undefined) {
      await forgetClient(sources.store, server.issuer, clientId);
    }
    throw error;
  } finally {
    await receiver.close();
  }
}

/** @throws McpError `HANDLER_FAILED` when the user cannot be taken there. */
async function show(interaction: Interaction, endpoint: URL, { issuer }: ServerMetadata): Promise<void> {
  try {
    await interaction.show(endpoint);
  } catch (cause) {
    if (cause instanceof McpError) throw cause;
    const message = `Cannot sign in at "${issuer}": onRedirect threw: ${toError(cause).message}`;
    throw new McpError('HANDLER_FAILED', message, { cause });
  }
}

/** The answer, as soon as it is there: whatever shows the address may last until its window is closed. */
async function shownAndReceived<T>(shown: Promise<void>, received: Promise<T>): Promise<T> {
  return Promise.race([received, shown.then(() => received)]);
}

/**
 * Checks an answer before anything in it is believed, its error included, and takes the code out of it.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-response-validation
 */
async function readCode(
  parameters: URLSearchParams,
  server: ServerMetadata,
  client: { client_id: string },
  state: string,
): Promise<string> {
  const oauth = await loadPackage('oauth4webapi', () => import('oauth4webapi'));
  const { issuer } = server;
  const issuers = parameters.getAll('iss');
  if (issuers.some((one) => one !== issuer)) throw unusable(issuer, 'it is of another issuer');
  let validated: URLSearchParams;
  try {
    validated = oauth.validateAuthResponse(server, client, parameters, state);
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError) {
      const description = error.error_description;
      throw new RefusedGrant(
        issuer,
        printable(error.error),
        description === undefined ? undefined : printable(description),
      );
    }
    throw unusable(issuer, toError(error).message);
  }
  const code = validated.get('code');
  if (!code) throw unusable(issuer, 'it has no code');
  return code;
}

/** `offline_access` is asked for only where it is on offer; OpenID Connect then wants the user to be asked. */
function scopeParameters(scopes: readonly string[], { scopes_supported: supported }: ServerMetadata) {
  if (scopes.length === 0) return {};
  const isOffline = supported?.includes('offline_access') === true;
  const asked = isOffline ? [...new Set([...scopes, 'offline_access'])] : scopes;
  return { scope: asked.join(' '), ...(isOffline && { prompt: 'consent' }) };
}

/** Where the user is sent. It is named by a server like all other addresses, and a browser is no less a way to ask. */
function authorizationEndpoint(
  { issuer, authorization_endpoint: endpoint }: ServerMetadata,
  http: AuthHttp,
): URL {
  const refuse = (why: string) => new McpError('UNAUTHORIZED', `Cannot authorize at "${issuer}": ${why}`);
  if (endpoint === undefined) throw refuse('its metadata names no authorization endpoint');
  const url = new URL(endpoint);
  if (url.hash !== '') throw refuse('its authorization endpoint has a fragment');
  http.assertMayShow(url);
  return url;
}

/**
 * The revisions that have metadata of resources refuse a server that does not say that it has PKCE; the one before them
 * could not ask.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations#authorization-code-protection
 */
function assertPkce({ server, isLegacy }: Site): void {
  const { issuer, code_challenge_methods_supported: methods } = server;
  if (methods ? methods.includes('S256') : isLegacy) return;
  throw new McpError(
    'UNAUTHORIZED',
    `Cannot authorize at "${issuer}": it does not say that it supports PKCE with S256 (code_challenge_methods_supported)`,
  );
}

async function openReceiver(
  { redirect, receive }: Interaction,
  registered: readonly string[],
): Promise<Receiver> {
  if (typeof redirect !== 'string') return LoopbackReceiver.open(redirect, registered);
  if (!receive) throw new TypeError('waitForCode must be given where redirect is an address');
  return {
    uri: redirect,
    receive: async (state, signal) => {
      const address = await abortable(receive({ state, signal }), signal);
      if (!URL.canParse(String(address), redirect))
        throw new TypeError('waitForCode must resolve with an address');
      return new URL(address, redirect).searchParams;
    },
    close: async () => {},
  };
}

function unusable(issuer: string, why: string): McpError {
  return new McpError('UNAUTHORIZED', `Cannot use the answer to the authorization at "${issuer}": ${why}`);
}

function late({ issuer }: ServerMetadata, timeoutMs: number): McpError {
  return new McpError(
    'UNAUTHORIZED',
    `Nobody answered the authorization at "${issuer}" within ${timeoutMs} ms`,
  );
}
