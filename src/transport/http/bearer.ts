import { INVALID_REQUEST, isJsonObject, TimeoutError } from '../../jsonrpc/index.ts';
import { assertArray, kindOf, misuse, shown, timerMs } from '../../jsonrpc/option.ts';
import { BearerChallenge, type BearerError } from './challenge.ts';
import type { HttpRequest } from './exchange.ts';
import { Refusal } from './refusal.ts';

/**
 * Protects an endpoint with OAuth bearer tokens and tells clients where to get one. The token is read from the
 * Authorization header and from nowhere else.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#access-token-usage
 */
export interface BearerOptions {
  /**
   * Says whom a token stands for: what it returns is the principal. Undefined, any other falsy value, and a
   * {@link BearerChallenge} returned or thrown turn the request away. It must check that the token was issued for this
   * resource. Anything else it throws is our failure, not the client's: the answer is a 500, and `onError` hears of it.
   */
  verify(token: string, request: HttpRequest): unknown;
  /** How long `verify` may take, in milliseconds; then the answer is a 500, and `onError` hears of it. Default 30000. */
  verifyTimeoutMs?: number;
  /** Served at the well-known addresses of the resource, and named in every challenge. */
  resourceMetadata: ResourceMetadata;
  /**
   * Scopes that every request needs: named in challenges, and looked for in the principal's `scopes` (strings) or
   * `scope` (one string with spaces). A principal that has neither lacks them all. Default none.
   */
  requiredScopes?: readonly string[];
  /** The protection space named in challenges. Default none. */
  realm?: string;
}

/**
 * The metadata of a protected resource, as its clients read it.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9728.html#section-2
 */
export interface ResourceMetadata {
  /** The absolute address of the endpoint, as its clients know it. */
  resource: string;
  /** The issuers of the authorization servers; at least one. */
  authorization_servers: readonly string[];
  scopes_supported?: readonly string[];
  [member: string]: unknown;
}

const STATUS_OF: { readonly [error in BearerError]: number } = {
  invalid_request: 400,
  invalid_token: 401,
  insufficient_scope: 403,
};

/** {@link BearerOptions} made ready, with the places where the metadata is found. */
export interface BearerGuard {
  readonly verify: BearerOptions['verify'];
  readonly verifyTimeoutMs: number;
  readonly requiredScopes: readonly string[];
  readonly realm: string | undefined;
  readonly metadata: ResourceMetadata;
  readonly metadataUrl: string;
  /** At the root, and under it at the path of the resource. */
  readonly metadataPaths: readonly string[];
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** @throws TypeError when the options name no resource or no authorization server, or a time that is none. */
export function createBearerGuard(options: BearerOptions): BearerGuard {
  if (!isJsonObject(options)) misuse('auth', 'an object with verify and resourceMetadata', kindOf(options));
  const { resourceMetadata: metadata, requiredScopes = [], realm, verifyTimeoutMs = 30_000 } = options;
  if (typeof options.verify !== 'function') misuse('auth.verify', 'a function', kindOf(options.verify));
  if (!isJsonObject(metadata)) {
    misuse('auth.resourceMetadata', 'an object with resource and authorization_servers', kindOf(metadata));
  }
  const { resource: address, authorization_servers: issuers } = metadata;
  if (typeof address !== 'string' || !URL.canParse(address)) {
    misuse('auth.resourceMetadata.resource', 'an absolute URL', shown(address));
  }
  if (!Array.isArray(issuers) || issuers.length === 0) {
    const given = Array.isArray(issuers) ? 'an empty one' : kindOf(issuers);
    misuse('auth.resourceMetadata.authorization_servers', 'an array of at least one issuer', given);
  }
  assertArray('auth.requiredScopes', requiredScopes);
  timerMs('auth.verifyTimeoutMs', verifyTimeoutMs);
  const resource = new URL(address);
  const path = resource.pathname === '/' ? '' : resource.pathname;
  return {
    verify: (token, request) => options.verify(token, request),
    verifyTimeoutMs,
    requiredScopes,
    realm,
    metadata,
    metadataUrl: `${resource.origin}${WELL_KNOWN}${path}${resource.search}`,
    metadataPaths: [WELL_KNOWN, WELL_KNOWN + path],
  };
}

/** The principal of a request, or the {@link Refusal} of one without a good token. */
export async function authorize(request: HttpRequest, guard: BearerGuard): Promise<unknown> {
  const authorization = request.header('authorization');
  if (authorization === undefined || !BEARER.test(authorization)) return challengeRefusal(undefined, guard);
  const token = BEARER_TOKEN.exec(authorization)?.[1];
  const principal = token === undefined ? NO_TOKEN : await verified(token, request, guard);
  if (principal instanceof BearerChallenge) return challengeRefusal(principal, guard);
  if (!principal) return challengeRefusal(INVALID_TOKEN, guard);
  if (!hasScopes(principal, guard.requiredScopes)) return challengeRefusal(INSUFFICIENT_SCOPE, guard);
  return principal;
}

/**
 * The answer that carries a challenge. Without one the request came without a token, and RFC 6750 section 3.1 wants
 * no error code for that.
 */
export function challengeRefusal(challenge: BearerChallenge | undefined, guard: BearerGuard): Refusal {
  const scopes = challenge?.scopes ?? guard.requiredScopes;
  const parameters = [
    parameter('realm', guard.realm),
    parameter('error', challenge?.error),
    parameter('error_description', challenge?.description),
    parameter('scope', scopes.length > 0 ? scopes.join(' ') : undefined),
    parameter('resource_metadata', guard.metadataUrl),
  ];
  const status = challenge ? STATUS_OF[challenge.error] : 401;
  const why = challenge ? (challenge.description ?? challenge.error) : 'it carries no bearer token';
  return new Refusal(status, INVALID_REQUEST, `Cannot serve the request: ${why}`, {
    'www-authenticate': `Bearer ${parameters.filter((text) => text !== '').join(', ')}`,
  });
}

const NO_TOKEN = new BearerChallenge('invalid_request', {
  description: 'its Authorization header holds no token',
});
const INVALID_TOKEN = new BearerChallenge('invalid_token', { description: 'the token is not valid here' });
const INSUFFICIENT_SCOPE = new BearerChallenge('insufficient_scope', {
  description: 'the token lacks scopes',
});
const BEARER = /^bearer(?: |$)/i;
const BEARER_TOKEN = /^bearer +([\w\-.~+/]+=*)$/i;
const UNQUOTABLE = /[^\x20-\x7e]/g;

async function verified(token: string, request: HttpRequest, guard: BearerGuard): Promise<unknown> {
  try {
    const verdict = guard.verify(token, request);
    return verdict instanceof Promise ? await inTime(verdict, guard.verifyTimeoutMs) : await verdict;
  } catch (thrown) {
    if (thrown instanceof BearerChallenge) return thrown;
    throw thrown;
  }
}

/** @throws TimeoutError when the verdict does not come. */
async function inTime(verdict: Promise<unknown>, timeoutMs: number): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `auth.verify gave no verdict within ${timeoutMs} ms; raise verifyTimeoutMs to wait longer`;
    timer = setTimeout(() => reject(new TimeoutError(message, timeoutMs)), timeoutMs);
  });
  try {
    return await Promise.race([verdict, late]);
  } finally {
    clearTimeout(timer);
  }
}

function hasScopes(principal: unknown, required: readonly string[]): boolean {
  if (required.length === 0) return true;
  if (typeof principal !== 'object' || principal === null) return false;
  const granted =
    'scopes' in principal && Array.isArray(principal.scopes)
      ? principal.scopes
      : 'scope' in principal && typeof principal.scope === 'string'
        ? principal.scope.split(' ')
        : [];
  return required.every((scope) => granted.includes(scope));
}

function parameter(name: string, value: string | undefined): string {
  if (value === undefined) return '';
  return `${name}="${value.replace(UNQUOTABLE, ' ').replace(/["\\]/g, '\\$&')}"`;
}
