import type { Dispatcher } from 'undici';
import { McpError } from '../../jsonrpc/index.ts';
import { assertObject, kindOf, misuse, oneOf, positive, shown } from '../../jsonrpc/option.ts';
import { type Connections, createConnections } from './dispatcher.ts';
import { Pooling, type PoolingMode } from './pooling.ts';
import type { RedirectMode } from './redirect.ts';
import {
  type Address,
  addressOf,
  type HeaderMap,
  type HttpAuthorizer,
  type HttpRequestInfo,
  type OutgoingRequest,
  type ReplyReader,
  RoundTrip,
  type RoundTripContext,
} from './round-trip.ts';

export interface EndpointOptions {
  /**
   * Headers for every request to the server's own origin, or a function that gives them for each request. They do not
   * override those that the transport itself sets.
   */
  headers?: HeaderMap | ((request: HttpRequestInfo) => HeaderMap | Promise<HeaderMap>);
  /** The connection pool to use, with its proxy and TLS settings; it is not closed. Default: one of its own. */
  dispatcher?: Dispatcher;
  /** Whether connections are used again. Default `auto`: they are, until the server shows that it stalls on them. */
  pooling?: PoolingMode;
  /**
   * How long the server may take to begin a reply, in milliseconds. Default: no limit for requests, whose callers have
   * deadlines of their own, and 60000 for everything else. `Infinity` means no limit.
   */
  headersTimeoutMs?: number;
  /** Which redirects are followed. Default `same-origin`. With `follow`, no credentials go to another origin. */
  redirect?: RedirectMode;
  /**
   * How many requests may wait for their response at once, each on a connection of its own; more are sent when others
   * are answered, while their deadlines run. A subscription counts as long as it is open. Default 512.
   */
  maxConcurrentRequests?: number;
  /** What gives and renews credentials. Default: none. */
  authorizer?: HttpAuthorizer;
}

const DEFAULT_MAX_CONCURRENT_REQUESTS = 512;
/** Connections for what is no request: an answer must get through while all requests wait for it. */
const SPARE_CONNECTIONS = 64;
/** What the transport sets itself, and what would break the framing of HTTP. */
const RESERVED: readonly string[] = [
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
];
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * The address of a server: sends requests to it with the headers, credentials, redirects and connections that its
 * options ask for. It knows nothing of what they carry.
 */
export class Endpoint implements RoundTripContext {
  readonly address: Address;
  /** The address without its query, which may hold a secret: for error messages. */
  readonly name: string;
  readonly origin: string;
  readonly pooling: Pooling;
  readonly redirect: RedirectMode;
  readonly authorizer: HttpAuthorizer | undefined;
  readonly headersTimeoutMs: number | undefined;
  readonly maxConcurrentRequests: number;
  readonly #headers: NonNullable<EndpointOptions['headers']>;
  #dispatcher: Dispatcher | undefined;
  /** Absent where the dispatcher was given. */
  #connections: Connections | undefined;

  /** @throws TypeError when the address or an option is of no use. */
  constructor(url: string | URL, options: EndpointOptions) {
    const parsed = parseUrl(url);
    const { headers = {}, pooling = 'auto', redirect = 'same-origin', headersTimeoutMs } = options;
    const { maxConcurrentRequests = DEFAULT_MAX_CONCURRENT_REQUESTS } = options;
    oneOf('pooling', pooling, ['auto', true, false]);
    oneOf('redirect', redirect, ['same-origin', 'error', 'follow']);
    if (headersTimeoutMs !== undefined) positive('headersTimeoutMs', headersTimeoutMs, 'milliseconds');
    if (!(Number.isInteger(maxConcurrentRequests) && maxConcurrentRequests > 0)) {
      misuse('maxConcurrentRequests', 'a positive integer', shown(maxConcurrentRequests));
    }
    readAuthorizer(options.authorizer);
    this.maxConcurrentRequests = maxConcurrentRequests;
    this.address = addressOf(parsed);
    this.origin = parsed.origin;
    this.name = parsed.origin + parsed.pathname;
    this.pooling = new Pooling(pooling);
    this.redirect = redirect;
    this.authorizer = options.authorizer;
    this.headersTimeoutMs = headersTimeoutMs === Number.POSITIVE_INFINITY ? 0 : headersTimeoutMs;
    this.#headers = typeof headers === 'function' ? headers : readHeaders(headers);
    this.#dispatcher = options.dispatcher;
  }

  /** Loads what sends requests. It connects to nothing yet. */
  async open(): Promise<void> {
    if (this.#dispatcher) return;
    const connections = this.maxConcurrentRequests + SPARE_CONNECTIONS;
    this.#connections = await createConnections(new URL(this.address.href), { connections });
    this.#dispatcher = this.#connections.dispatcher;
  }

  /** Sends a request; whatever becomes of it, the reader hears. */
  send(request: OutgoingRequest, reader: ReplyReader): RoundTrip {
    const roundTrip = new RoundTrip(this, request, reader);
    roundTrip.start();
    return roundTrip;
  }

  /** Ends its own connections and with them all that runs over them. */
  async close(): Promise<void> {
    await this.#connections?.destroy();
  }

  headersFor(
    request: OutgoingRequest,
    address: Address,
  ): Record<string, string> | Promise<Record<string, string>> {
    const isOwn = address.origin === this.origin;
    if (isOwn && (this.authorizer || typeof this.#headers === 'function')) {
      return this.#askForHeaders(request, address);
    }
    const given = isOwn && typeof this.#headers !== 'function' ? this.#headers : undefined;
    return mergeHeaders(given, undefined, request, address);
  }

  dispatch(
    request: OutgoingRequest,
    address: Address,
    headers: Record<string, string>,
    handler: Dispatcher.DispatchHandler,
  ): void {
    if (!this.#dispatcher) throw new McpError('CLOSED', `Cannot send to "${this.name}": it is not started`);
    const options: Dispatcher.DispatchOptions = {
      origin: address.origin,
      path: address.path,
      method: request.method,
      headers,
      headersTimeout: this.headersTimeoutMs ?? request.headersTimeoutMs,
      bodyTimeout: request.bodyTimeoutMs,
    };
    if (request.body !== undefined) options.body = request.body;
    if (this.pooling.fresh) options.reset = true;
    this.#dispatcher.dispatch(options, handler);
  }

  async #askForHeaders(request: OutgoingRequest, address: Address): Promise<Record<string, string>> {
    const info: HttpRequestInfo = {
      method: request.method,
      url: address.href,
      server: this.address.href,
    };
    const given =
      typeof this.#headers === 'function' ? readHeaders(await this.#headers(info)) : this.#headers;
    const credentials = await this.authorizer?.authorize(info);
    return mergeHeaders(given, credentials, request, address);
  }
}

/**
 * The later ones override: what the user gives, credentials, what was handed down, and what the transport needs. Without
 * a word about encodings a server may choose any.
 */
function mergeHeaders(
  given: HeaderMap | undefined,
  credentials: HeaderMap | undefined,
  { headers, framing, session }: OutgoingRequest,
  { origin }: Address,
): Record<string, string> {
  const own = session?.origin === origin ? session.headers : undefined;
  return { 'accept-encoding': 'identity', ...given, ...credentials, ...headers, ...framing, ...own };
}

function parseUrl(url: string | URL): URL {
  if (!URL.canParse(String(url)))
    throw new TypeError(`url must be an absolute address: ${JSON.stringify(url)}`);
  const parsed = new URL(url);
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    throw new TypeError(`url must begin with http: or https:, not ${parsed.protocol}`);
  }
  if (parsed.username || parsed.password) {
    throw new TypeError('url must hold no credentials: give an authorization header instead');
  }
  return parsed;
}

/** @throws TypeError for what cannot give credentials. What it is instead may be one, and stays out of the message. */
function readAuthorizer(authorizer: HttpAuthorizer | undefined): void {
  if (authorizer === undefined) return;
  if (typeof authorizer?.authorize === 'function') return;
  misuse('authorizer', 'an authorizer, such as bearer(token) or oauth(…) gives', kindOf(authorizer));
}

/** The user's headers with names in lower case, without those that the transport sets. */
function readHeaders(headers: HeaderMap): HeaderMap {
  assertObject('headers', headers);
  const read: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) throw new TypeError(`headers: ${JSON.stringify(name)} is no header name`);
    // The value may be a secret and stays out of the message.
    if (typeof value !== 'string' || !HEADER_VALUE.test(value)) {
      throw new TypeError(`headers: the value of "${name}" is no header value`);
    }
    const lowerCase = name.toLowerCase();
    if (!RESERVED.includes(lowerCase)) read[lowerCase] = value;
  }
  return read;
}
