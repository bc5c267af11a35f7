import { McpError } from '../../jsonrpc/index.ts';
import { assertFunction, assertObject, timerMs } from '../../jsonrpc/option.ts';
import type { HttpAuthorizer } from '../../transport/index.ts';
import { TokenAuthorizer } from './authorizer.ts';
import { readCredentials } from './client-auth.ts';
import { authorizeByCode, type Interaction, type RedirectWait } from './code-flow.ts';
import type { LoopbackOptions } from './loopback.ts';
import { isSecure } from './reach.ts';
import { bindingKey, type ClientRegistration, type ClientSources, credentialsOf } from './registration.ts';
import type { Grant, GrantOptions } from './server-tokens.ts';
import { memoryTokenStore, type TokenStore } from './store.ts';
import { printable } from './token-request.ts';

export interface OAuthOptions extends GrantOptions {
  /**
   * Takes the user to this address: opens a browser, or shows it. Absent: nobody can be asked, and what needs a user
   * fails; tokens of the store are used and renewed all the same.
   */
  onRedirect?(url: URL): void | Promise<void>;
  /**
   * Where the authorization server sends the user's browser in the end: an address of the host's own, which needs
   * {@link OAuthOptions.waitForCode}, or how to listen on this machine. Default `{}`: on 127.0.0.1, at any free port.
   */
  redirect?: string | LoopbackOptions;
  /**
   * Resolves with the whole address that the browser was sent to, as soon as that has happened. For a `redirect` of the
   * host's own.
   */
  waitForCode?(wait: RedirectWait): Promise<string | URL>;
  /** Keeps tokens and registrations. Default: in memory, for this authorizer alone. */
  store?: TokenStore;
  /**
   * The https address of this client's metadata document, which is its client id wherever that is supported.
   *
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#client-id-metadata-documents
   */
  clientMetadataUrl?: string;
  /** A client that is registered already. Default: the metadata document, else the client registers itself. */
  clientRegistration?: ClientRegistration;
  /** The name that this client registers itself with, for people to see. Default `mcpwire`. */
  clientName?: string;
  /** How long the user may take, in milliseconds. Default 300000. */
  timeoutMs?: number;
}

/** Authorizes requests on behalf of a user, for as many servers as it is used with. */
export interface OAuthAuthorizer extends HttpAuthorizer {
  /**
   * Signs the user in at a server that has not asked for it: one that answers everybody, and a user with more.
   *
   * @returns false when the server does not say where users sign in, which need not mean that none can.
   * @throws McpError when the user cannot be signed in.
   */
  login(server: string | URL, options?: { signal?: AbortSignal }): Promise<boolean>;
  /**
   * Ends the authorization at a server: revokes its tokens where that can be done, and forgets them.
   *
   * @throws McpError when the tokens are forgotten but could not be revoked.
   */
  logout(server: string | URL, options?: { signal?: AbortSignal }): Promise<void>;
}

/** How long a user may take by default: 5 min. */
export const DEFAULT_LOGIN_TIMEOUT_MS = 300_000;
/** How long the end of an authorization may take where nobody gives it up. */
const LOGOUT_TIMEOUT_MS = 60_000;

/**
 * Signs a user in where a server asks for it: the authorization code flow with PKCE, renewal by refresh tokens, and more
 * scopes when an operation needs them. The time that the user takes does not count against the deadlines of requests.
 *
 * @throws TypeError when options do not go together.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
export function oauth(options: OAuthOptions = {}): OAuthAuthorizer {
  const { store = memoryTokenStore(), clientRegistration: given } = options;
  const interaction = readInteraction(options);
  const sources: ClientSources = {
    given: given && readRegistration(given),
    metadataUrl: readMetadataUrl(options.clientMetadataUrl),
    name: options.clientName ?? 'mcpwire',
    store,
  };
  const grant: Grant = {
    issuer: given?.issuer,
    obtain: async (order) => {
      if (interaction) return authorizeByCode(order, sources, interaction);
      const { site, scopes } = order;
      const what = scopes.length > 0 ? ` for "${printable(scopes.join(' '))}"` : '';
      const message = `Cannot authorize at "${site.server.issuer}": a user has to sign in${what}, and nobody can be asked here`;
      throw new McpError('UNAUTHORIZED', message);
    },
    credentials: (client) => (given?.clientId === client.clientId ? given : credentialsOf(client)),
  };
  const authorizer = new TokenAuthorizer(grant, options, store);
  return {
    authorize: (request) => authorizer.authorize(request),
    challenge: (challenge) => authorizer.challenge(challenge),
    login: (server, { signal = new AbortController().signal } = {}) =>
      authorizer.tokensFor(new URL(server).href).begin(signal),
    logout: async (server, { signal = AbortSignal.timeout(LOGOUT_TIMEOUT_MS) } = {}) => {
      if (given) await store.delete(bindingKey(given.clientId));
      await authorizer.tokensFor(new URL(server).href).end(signal);
    },
  };
}

function readInteraction(options: OAuthOptions): Interaction | undefined {
  const { redirect = {}, onRedirect, waitForCode, timeoutMs = DEFAULT_LOGIN_TIMEOUT_MS } = options;
  assertFunction('onRedirect', onRedirect);
  assertFunction('waitForCode', waitForCode);
  if (typeof redirect === 'string') {
    if (!URL.canParse(redirect)) throw new TypeError('redirect must be an address, or how to listen for one');
    if (!isRedirectAddress(new URL(redirect))) {
      throw new TypeError('redirect must be https, or http on this machine, without a fragment');
    }
    if (!waitForCode) throw new TypeError('redirect: an address of your own needs waitForCode');
  } else if (waitForCode) {
    throw new TypeError('waitForCode needs a redirect address of your own');
  }
  timerMs('timeoutMs', timeoutMs);
  assertObject('store', options.store);
  if (!onRedirect) return undefined;
  return {
    show: onRedirect.bind(options),
    redirect,
    receive: waitForCode?.bind(options),
    timeoutMs,
  };
}

/** @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations#communication-security */
function isRedirectAddress(url: URL): boolean {
  return isSecure(url) && url.hash === '';
}

/** @see https://www.ietf.org/archive/id/draft-ietf-oauth-client-id-metadata-document-00.html#section-3 */
function readMetadataUrl(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isFit = parsed?.protocol === 'https:' && parsed.pathname !== '/' && !url.includes('#');
  // Servers compare it as it is written.
  if (!isFit || parsed.username !== '' || parsed.password !== '' || parsed.href !== url) {
    throw new TypeError(
      'clientMetadataUrl must be an https address with a path, in its plain form: no fragment, credentials or dots',
    );
  }
  return url;
}

function readRegistration(registration: ClientRegistration): ClientRegistration {
  readCredentials(registration, 'clientRegistration');
  return registration;
}
