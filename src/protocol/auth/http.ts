import type { LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import { isJsonObject, type JsonObject, McpError, toError } from '../../jsonrpc/index.ts';
import { createConnections } from '../../transport/http/dispatcher.ts';
import { isRedirect, redirectTarget } from '../../transport/http/redirect.ts';
import type { HeaderMap, ReplyHeaders } from '../../transport/index.ts';
import {
  assertMayAsk,
  isWithinReach,
  outOfReach,
  type ReachPolicy,
  reachOfAddress,
  shownUrl,
} from './reach.ts';

/** How long one request to an authorization server may take, with its redirects: 15 s. */
export const AUTH_TIMEOUT_MS = 15_000;
/** The largest document that is read from an authorization server: 256 KiB. */
export const MAX_AUTH_BODY_BYTES = 256 * 1024;

export interface AuthReply {
  /** What answered, behind all redirects. */
  readonly url: URL;
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly body: Buffer;
}

export interface AuthRequest {
  readonly headers?: HeaderMap;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks the servers that take part in authorization. Their addresses come from other servers, so each is looked at
 * before it is asked, behind its redirects and its host name too; bodies and times are bounded.
 */
export class AuthHttp {
  readonly #policy: ReachPolicy;
  readonly #dispatcher: Dispatcher | undefined;

  /** @param dispatcher Used for all requests and not closed. Default: a connection of its own for each. */
  constructor(policy: ReachPolicy, dispatcher?: Dispatcher) {
    this.#policy = policy;
    this.#dispatcher = dispatcher;
  }

  /** Says that a user may be sent to an address. @throws McpError `UNAUTHORIZED`, as for those that are asked. */
  assertMayShow(url: URL): void {
    assertMayAsk(url, this.#policy);
  }

  /**
   * Reads a document. Redirects are followed within the origin.
   *
   * @throws McpError `TRANSPORT_FAILED` when there is no answer that could be read, `UNAUTHORIZED` when the address must
   *   not be asked, `ABORTED`.
   */
  async get(url: URL, request: AuthRequest = {}): Promise<AuthReply> {
    let target = url;
    const timeout = AbortSignal.timeout(AUTH_TIMEOUT_MS);
    for (let count = 0; ; count++) {
      const reply = await this.#ask('GET', target, request, undefined, timeout);
      const { location } = reply.headers;
      if (!isRedirect(reply.status) || typeof location !== 'string') return reply;
      const redirect = { status: reply.status, method: 'GET', from: target.href, location, count };
      const next = redirectTarget(redirect, 'same-origin');
      if (typeof next === 'string') {
        const to = JSON.stringify(location.replace(/[?#].*$/s, '').slice(0, 200));
        throw failed(url, `it redirects to ${to}: ${next.replace(/;.*$/, '')}`);
      }
      target = next;
    }
  }

  /** Sends a form or a document. No redirect is followed. Throws as {@link AuthHttp.get} does. */
  post(url: URL, body: string, request: AuthRequest = {}): Promise<AuthReply> {
    return this.#ask('POST', url, request, body, AbortSignal.timeout(AUTH_TIMEOUT_MS));
  }

  async #ask(
    method: 'GET' | 'POST',
    url: URL,
    { headers, signal }: AuthRequest,
    body: string | undefined,
    timeout: AbortSignal,
  ): Promise<AuthReply> {
    assertMayAsk(url, this.#policy);
    signal?.throwIfAborted();
    const { dispatcher, destroy } = this.#dispatcher
      ? { dispatcher: this.#dispatcher, destroy: async () => {} }
      : await createConnections(url, { lookup: guardedLookup(this.#policy) });
    try {
      const {
        statusCode,
        headers: replyHeaders,
        body: stream,
      } = await dispatcher.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: { accept: 'application/json', ...headers },
        body: body ?? null,
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
      return { url, status: statusCode, headers: replyHeaders, body: await readBounded(stream, url) };
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof McpError) throw error;
      if (timeout.aborted) throw failed(url, `it did not answer within ${AUTH_TIMEOUT_MS} ms`);
      throw failed(url, reasonOf(error));
    } finally {
      await destroy();
    }
  }
}

/** The JSON object that a reply holds; undefined where it holds something else. */
export function jsonOf({ body }: AuthReply): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isJsonObject(value) ? value : undefined;
  } catch {
    // An error page, or a page for people that a server has for every address.
    return undefined;
  }
}

async function readBounded(stream: AsyncIterable<Buffer>, url: URL): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > MAX_AUTH_BODY_BYTES) throw failed(url, `its answer exceeds ${MAX_AUTH_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Looks at the addresses that are about to be connected to, so that a name cannot lead elsewhere in between. */
function guardedLookup(policy: ReachPolicy): LookupFunction {
  return (hostname, options, callback) => {
    process.getBuiltinModule('node:dns').lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) {
        callback(error, []);
        return;
      }
      const reaches = addresses.map(({ address }) => reachOfAddress(address));
      const beyond = reaches.find((reach) => !isWithinReach(hostname, reach, policy));
      const [first] = addresses;
      if (beyond !== undefined) callback(new Error(outOfReach(beyond)), []);
      else if (options.all || !first) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function failed(url: URL, why: string): McpError {
  return new McpError('TRANSPORT_FAILED', `Cannot ask "${shownUrl(url)}" about authorization: ${why}`);
}

/** A connection that was tried at several addresses fails with all their errors and no message of its own. */
function reasonOf(thrown: unknown): string {
  const error = toError(thrown);
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map((one) => toError(one).message).join('; ');
  }
  return error.message;
}
