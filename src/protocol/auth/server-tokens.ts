import type { Dispatcher } from 'undici';
import { McpError } from '../../jsonrpc/index.ts';
import type { HeaderMap, HttpChallenge, HttpRequestInfo } from '../../transport/index.ts';
import type { ClientCredentials } from './client-auth.ts';
import { discoverSite, type Site } from './discovery.ts';
import { DPOP_ALGORITHM, DpopKey } from './dpop.ts';
import { AuthHttp } from './http.ts';
import { hostOf, shownUrl } from './reach.ts';
import {
  clientKey,
  encodeRecord,
  parseTokens,
  type RegisteredClient,
  type Tokens,
  tokensKey,
} from './records.ts';
import { forgetClient } from './registration.ts';
import { coversScopes, selectScopes } from './scopes.ts';
import { abortable, SharedRun } from './shared-run.ts';
import type { TokenStore } from './store.ts';
import { type IssuedToken, printable, RefusedGrant, requestToken, revokeToken } from './token-request.ts';
import { type Demand, readDemand } from './www-authenticate.ts';

/** What a token is to be got for. */
export interface GrantOrder {
  readonly site: Site;
  readonly scopes: readonly string[];
  readonly http: AuthHttp;
  readonly dpop: DpopKey | undefined;
  readonly signal: AbortSignal;
}

/** A way to get an access token. */
export interface Grant {
  /** The identifier of the extension that describes it. */
  readonly extension?: string;
  /** The issuer to use where a server names several. */
  readonly issuer: string | undefined;
  obtain(order: GrantOrder): Promise<{ issued: IssuedToken; client: RegisteredClient }>;
  /**
   * What a client, as it was recorded, proves itself with when it renews or revokes a token. Absent: the grant takes no
   * person's time, and is simply repeated.
   */
  credentials?(client: RegisteredClient): ClientCredentials;
}

/** What is the same for all grants. */
export interface GrantOptions {
  /**
   * Scopes to ask for, beside those that the server demands. Default: those that the server names in its challenge, else
   * those in its metadata, else none.
   */
  scopes?: readonly string[];
  /**
   * Whether tokens are bound to a key that only this client has (DPoP). Default: where the server asks for it and its
   * authorization server can. `true` insists, `false` never does it.
   */
  dpop?: boolean;
  /**
   * Whether what servers name as theirs may be in a private network or on this machine. Default false: only the MCP
   * server's own host, and this machine where the MCP server is on it.
   */
  allowPrivateAddresses?: boolean;
  /**
   * The connections to authorization servers, with their proxy and TLS settings; not closed. It then finds the
   * addresses of hosts, unguarded. Default: one connection for each request.
   */
  dispatcher?: Dispatcher;
}

/** The tokens in use, with what is known of them in this process only. */
interface Held {
  readonly tokens: Tokens;
  readonly dpop: DpopKey | undefined;
  /** When they came, in the milliseconds of `performance.now()`; long ago for those that were found in the store. */
  readonly since: number;
  /** When to try again to renew them early, in the same milliseconds. */
  retryAt: number;
}

/** How long before their end tokens are renewed at most, and how long a failed attempt is not repeated. */
const RENEWAL_MARGIN_MS = 30_000;
const RENEWAL_PAUSE_MS = 30_000;
const LONGEST_LIFETIME_S = 10 * 365 * 24 * 60 * 60;
/** Refusals that no repetition of the same request changes. */
const FINAL_REFUSALS: readonly string[] = [
  'invalid_grant',
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_request',
  'invalid_scope',
  'invalid_target',
];

/** The tokens for one MCP server: sent along, renewed once for all who wait, and asked for anew when they are refused. */
export class ServerTokens {
  readonly #server: URL;
  readonly #grant: Grant;
  readonly #options: GrantOptions;
  readonly #store: TokenStore;
  readonly #http: AuthHttp;
  readonly #key: string;
  readonly #run = new SharedRun();
  #held: Held | undefined;
  #refreshing: Promise<boolean> | undefined;
  /** Tokens that were refused as soon as they had come: every request that carried them is to hear that. */
  #refused: { authorization: string; error: McpError } | undefined;
  #loading: Promise<void> | undefined;
  #isLoaded = false;

  constructor(server: string, grant: Grant, options: GrantOptions, store: TokenStore) {
    this.#server = new URL(server);
    this.#grant = grant;
    this.#options = options;
    this.#store = store;
    this.#key = tokensKey(this.#server.href);
    const { allowPrivateAddresses: allowPrivate = false, dispatcher } = options;
    this.#http = new AuthHttp({ ownHost: hostOf(this.#server), allowPrivate }, dispatcher);
  }

  /** The headers that authorize a request; none where there are no tokens yet. */
  authorize(request: HttpRequestInfo): HeaderMap | undefined | Promise<HeaderMap | undefined> {
    if (!this.#isLoaded) return this.#load().then(() => this.#authorize(request));
    return this.#authorize(request);
  }

  /**
   * Answers a refusal: renews the tokens, or asks for others.
   *
   * @returns whether there is something new to repeat the request with.
   * @throws McpError when there are no other tokens to be had.
   */
  async challenge(challenge: HttpChallenge): Promise<boolean> {
    const { method, status, authorization, headers, url, signal } = challenge;
    // A session that ends is not worth asking a person.
    if (method === 'DELETE') return false;
    const demand = readDemand(headers);
    const isStepUp = demand.error === 'insufficient_scope';
    if (status === 403 && !isStepUp) return false;
    await this.#load();
    const hasNonce = this.#held?.dpop?.takeNonce(new URL(url), headers) ?? false;
    if (hasNonce && demand.error === 'use_dpop_nonce') return true;
    // Twice: the run that is joined may be one that only found out that the tokens are of no use.
    for (let round = 0; round < 2; round++) {
      if (this.#refused && this.#refused.authorization === authorization) throw this.#refused.error;
      const held = this.#held;
      if (held && authorizationOf(held.tokens) !== authorization) return true;
      // What was asked for before and is refused all the same is not asked for again.
      if (isStepUp && held && coversScopes(held.tokens.requested, demand.scopes ?? [])) return false;
      if (!isStepUp && held && held.since > challenge.since)
        throw await this.#refuseFresh(held.tokens, demand);
      await this.#run.join(signal, (runSignal) => this.#answer(demand, isStepUp, runSignal));
    }
    return this.#held !== undefined && authorizationOf(this.#held.tokens) !== authorization;
  }

  /**
   * Gets tokens that the server has not asked for.
   *
   * @returns whether it says where they come from.
   * @throws McpError when there are none to be had.
   */
  async begin(signal: AbortSignal): Promise<boolean> {
    await this.#load();
    const search = { server: this.#server, demand: undefined, preferredIssuer: this.#grant.issuer, signal };
    const site = await discoverSite(this.#http, search);
    // A server of that revision does not say it; one that needs no authorization looks the same.
    if (site.isLegacy) return false;
    await this.#run.join(signal, (runSignal) => this.#ask(site, readDemand({}), [], runSignal));
    return true;
  }

  /**
   * Revokes the tokens where the authorization server can, and forgets them and the client that was registered for them.
   * An authorization that goes on is given up.
   *
   * @throws McpError when they are forgotten but could not be revoked.
   */
  async end(signal: AbortSignal): Promise<void> {
    const where = shownUrl(this.#server);
    this.#run.stop(
      new McpError('ABORTED', `The authorization for "${where}" was given up: the user signs out`),
    );
    // What a refresh brings is to be revoked, not what it was asked with.
    const refreshed = this.#refreshing?.catch(() => {});
    if (refreshed) await abortable(refreshed, signal);
    const held = await this.#alone(() => this.#take());
    if (!held) return;
    const { server, client, refreshToken, accessToken } = held.tokens;
    await this.#store.delete(clientKey(server.issuer));
    const order = {
      http: this.#http,
      server,
      client: this.#grant.credentials?.(client),
      dpop: undefined,
      signal,
    };
    // Without its refresh token an access token ends by itself; some servers revoke both at once.
    if (refreshToken !== undefined) await revokeToken(order, refreshToken, 'refresh_token');
    await revokeToken(order, accessToken, 'access_token');
  }

  #authorize(request: HttpRequestInfo): HeaderMap | undefined | Promise<HeaderMap | undefined> {
    const held = this.#held;
    if (!held) return undefined;
    if (!this.#isDue(held)) return headersFor(held, request);
    return this.#renewEarly(held).then(() => this.#held && headersFor(this.#held, request));
  }

  #isDue({ tokens, retryAt }: Held): boolean {
    const { expiresAt, obtainedAt, refreshToken } = tokens;
    if (expiresAt === undefined || (this.#grant.credentials && refreshToken === undefined)) return false;
    const margin = Math.min(RENEWAL_MARGIN_MS, (expiresAt - obtainedAt) / 4);
    return Date.now() >= expiresAt - margin && performance.now() >= retryAt;
  }

  /** Renews tokens that still work: that this fails is an error only when they do not work any more. */
  async #renewEarly(held: Held): Promise<void> {
    const { tokens, dpop } = held;
    try {
      // Not in the run, which may be one that waits for a user.
      if (tokens.refreshToken !== undefined) await this.#refresh();
      else await this.#run.join(undefined, (signal) => this.#repeat(tokens, dpop, signal));
    } catch (error) {
      if (Date.now() >= (tokens.expiresAt ?? 0)) throw error;
    } finally {
      held.retryAt = performance.now() + RENEWAL_PAUSE_MS;
    }
  }

  /** Gets tokens once more where that takes no person's time. */
  #repeat(
    { resource, server, requested }: Tokens,
    dpop: DpopKey | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const site = { resource, server, scopesSupported: undefined, needsDpop: false, isLegacy: false };
    return this.#obtain(site, requested, dpop, signal);
  }

  /** Finds out anew where tokens come from: that may be what has changed. */
  async #answer(demand: Demand, isStepUp: boolean, signal: AbortSignal): Promise<void> {
    const before = this.#held;
    // One that nobody waits for any more goes on all the same.
    if (this.#refreshing) await abortable(this.#refreshing, signal);
    // Somebody else who shares the store may have been faster, and the user may have signed in there.
    if (this.#held !== before || (await this.#adopt(before))) return;
    const held = this.#held?.tokens;
    const preferredIssuer = this.#grant.issuer ?? held?.server.issuer;
    const site = await discoverSite(this.#http, { server: this.#server, demand, preferredIssuer, signal });
    const isSame = held?.server.issuer === site.server.issuer && held.resource === site.resource;
    if (!isStepUp && isSame && held.refreshToken !== undefined) {
      if (await abortable(this.#refresh(), signal)) return;
    }
    await this.#ask(site, demand, isSame ? held.requested : [], signal);
  }

  /** Asks for tokens that may do what the server demands, and what those before could. */
  async #ask(site: Site, demand: Demand, previous: readonly string[], signal: AbortSignal): Promise<void> {
    const { scopes: wanted } = this.#options;
    const scopes = selectScopes({
      wanted,
      demanded: demand.scopes,
      supported: site.scopesSupported,
      previous,
    });
    await this.#obtain(site, scopes, await this.#dpopKey(site, demand), signal);
  }

  async #obtain(
    site: Site,
    scopes: readonly string[],
    dpop: DpopKey | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { issued, client } = await this.#grant.obtain({ site, scopes, http: this.#http, dpop, signal });
    const { resource, server } = site;
    await this.#keep(issued, { resource, server, client, requested: scopes }, dpop);
  }

  /**
   * Renews the tokens once for all who ask meanwhile. It is never broken off: a refresh token is often good for one use,
   * and whoever does not hear the answer has lost both.
   *
   * @returns false when the refresh token is of no use any more.
   */
  #refresh(): Promise<boolean> {
    if (!this.#refreshing) {
      this.#refreshing = this.#alone(() => this.#refreshAlone()).finally(() => {
        this.#refreshing = undefined;
      });
      // Whoever waits for it may have gone.
      this.#refreshing.catch(() => {});
    }
    return this.#refreshing;
  }

  async #refreshAlone(): Promise<boolean> {
    if (await this.#adopt(this.#held)) return true;
    const held = this.#held;
    const refreshToken = held?.tokens.refreshToken;
    if (!held || refreshToken === undefined) return false;
    const { tokens, dpop } = held;
    const { server, client, resource } = tokens;
    const credentials = this.#grant.credentials?.(client);
    const order = { http: this.#http, server, client: credentials, dpop, signal: undefined };
    const parameters = { refresh_token: refreshToken, resource };
    try {
      const issued = await requestToken(order, 'refresh_token', parameters);
      // Tokens that a user has brought meanwhile may do more.
      if (this.#held === held) {
        await this.#keep({ ...issued, refreshToken: issued.refreshToken ?? refreshToken }, tokens, dpop);
      }
      return true;
    } catch (error) {
      if (!(error instanceof RefusedGrant) || !FINAL_REFUSALS.includes(error.error)) throw error;
      if (await this.#adopt(held)) return true;
      // The refresh token itself was not looked at: whoever knows the client better may still use it.
      if (error.isAboutClient) await forgetClient(this.#store, server.issuer, client.clientId);
      else if (this.#held === held) await this.#dropRefreshToken(held);
      return false;
    }
  }

  /** Keeps the rest: the access token may work for a while, and its scopes are those to ask for next. */
  async #dropRefreshToken(held: Held): Promise<void> {
    const { refreshToken: _, ...tokens } = held.tokens;
    this.#held = { ...held, tokens };
    await this.#store.set(this.#key, encodeRecord(tokens));
  }

  /**
   * Takes over what somebody else who shares the store has done meanwhile: other tokens, or that the user signed out.
   *
   * @returns whether there are others that are good.
   */
  async #adopt(before: Held | undefined): Promise<boolean> {
    const stored = parseTokens(await this.#store.get(this.#key));
    if (stored?.accessToken === before?.tokens.accessToken) return false;
    this.#held = stored && this.#hold(stored);
    return this.#held !== undefined && !this.#isDue(this.#held);
  }

  async #keep(
    issued: IssuedToken,
    context: Pick<Tokens, 'resource' | 'server' | 'client' | 'requested'>,
    dpop: DpopKey | undefined,
  ): Promise<void> {
    const { resource, server, client, requested } = context;
    const obtainedAt = Date.now();
    const { token, refreshToken, expiresIn = 0 } = issued;
    const tokens: Tokens = {
      ...{
        accessToken: token,
        type: dpop ? 'DPoP' : 'Bearer',
        obtainedAt,
        resource,
        server,
        client,
        requested,
      },
      ...(refreshToken !== undefined && this.#grant.credentials && { refreshToken }),
      // A lifetime of nothing says nothing.
      ...(expiresIn > 0 && { expiresAt: obtainedAt + Math.min(expiresIn, LONGEST_LIFETIME_S) * 1000 }),
      ...(dpop && { dpopKey: dpop.toJwk() }),
    };
    this.#held = { tokens, dpop, since: performance.now(), retryAt: 0 };
    await this.#store.set(this.#key, encodeRecord(tokens));
  }

  async #take(): Promise<Held | undefined> {
    // Somebody else who shares the store may have renewed them.
    await this.#read();
    const held = this.#held;
    this.#held = undefined;
    await this.#store.delete(this.#key);
    return held;
  }

  /** Runs work that nobody else who shares the store does at the same time. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#store.lock ? this.#store.lock(this.#key, work) : work();
  }

  #load(): Promise<void> {
    if (this.#isLoaded) return Promise.resolve();
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #read(): Promise<void> {
    const stored = parseTokens(await this.#store.get(this.#key));
    this.#held = stored && this.#hold(stored);
    this.#isLoaded = true;
  }

  /** Tokens out of the store: they may have been there for long, and be bound in another way than is wanted now. */
  #hold(tokens: Tokens): Held | undefined {
    const isBound = tokens.type === 'DPoP';
    const { dpop: wanted = isBound } = this.#options;
    const dpop = tokens.dpopKey && DpopKey.fromJwk(tokens.dpopKey);
    if (wanted !== isBound || (isBound && !dpop)) return undefined;
    return { tokens, dpop, since: Number.NEGATIVE_INFINITY, retryAt: 0 };
  }

  async #dpopKey(
    { needsDpop, server }: Site,
    { takesDpop, takesBearer }: Demand,
  ): Promise<DpopKey | undefined> {
    const { dpop: wanted } = this.#options;
    const canBind = server.dpop_signing_alg_values_supported?.includes(DPOP_ALGORITHM) === true;
    const isAsked = needsDpop || (takesDpop && (canBind || !takesBearer));
    if (!(wanted ?? isAsked)) return undefined;
    return this.#held?.dpop ?? DpopKey.generate();
  }

  /** Forgets tokens that do not work, but not what somebody else has put in their place. */
  async #refuseFresh(tokens: Tokens, { error, description }: Demand): Promise<McpError> {
    const where = shownUrl(this.#server);
    const words = [error, description].filter((word) => word !== undefined);
    const why = words.map((word) => `: ${printable(word, [tokens.accessToken])}`).join('');
    const message = `"${where}" refuses the access token that "${tokens.server.issuer}" has just issued${why}`;
    this.#refused = { authorization: authorizationOf(tokens), error: new McpError('UNAUTHORIZED', message) };
    this.#held = undefined;
    const stored = parseTokens(await this.#store.get(this.#key));
    if (stored?.accessToken === tokens.accessToken) await this.#store.delete(this.#key);
    return this.#refused.error;
  }
}

function headersFor({ tokens, dpop }: Held, { method, url }: HttpRequestInfo): HeaderMap {
  const authorization = authorizationOf(tokens);
  if (!dpop) return { authorization };
  return { authorization, dpop: dpop.proof({ method, url: new URL(url), accessToken: tokens.accessToken }) };
}

function authorizationOf({ type, accessToken }: Tokens): string {
  return `${type} ${accessToken}`;
}
