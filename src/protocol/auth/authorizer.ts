import type { HeaderMap, HttpAuthorizer, HttpChallenge, HttpRequestInfo } from '../../transport/index.ts';
import { type Grant, type GrantOptions, ServerTokens } from './server-tokens.ts';
import { memoryTokenStore, type TokenStore } from './store.ts';

/** An authorizer that an extension of the protocol describes: a client that uses it declares the extension. */
export interface ExtensionAuthorizer extends HttpAuthorizer {
  /** The identifier of the extension. */
  readonly extension?: string;
}

/** Gets tokens by one grant, for each server that it is used with. */
export class TokenAuthorizer implements ExtensionAuthorizer {
  readonly extension?: string;
  readonly #grant: Grant;
  readonly #options: GrantOptions;
  readonly #store: TokenStore;
  readonly #servers = new Map<string, ServerTokens>();

  /** @param store Default: a memory of its own, since such tokens can be had again at any time. */
  constructor(grant: Grant, options: GrantOptions, store: TokenStore = memoryTokenStore()) {
    this.#grant = grant;
    this.#options = options;
    this.#store = store;
    if (grant.extension !== undefined) this.extension = grant.extension;
  }

  authorize(request: HttpRequestInfo): HeaderMap | undefined | Promise<HeaderMap | undefined> {
    return this.tokensFor(request.server).authorize(request);
  }

  challenge(challenge: HttpChallenge): Promise<boolean> {
    return this.tokensFor(challenge.server).challenge(challenge);
  }

  tokensFor(server: string): ServerTokens {
    const known = this.#servers.get(server);
    if (known) return known;
    const tokens = new ServerTokens(server, this.#grant, this.#options, this.#store);
    this.#servers.set(server, tokens);
    return tokens;
  }
}
