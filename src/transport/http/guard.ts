import { INVALID_REQUEST } from '../../jsonrpc/index.ts';
import { tooLarge } from './body.ts';
import type { HttpRequest } from './exchange.ts';
import { EVENT_STREAM_TYPE, essence, JSON_TYPE } from './media-type.ts';
import { quote, Refusal } from './refusal.ts';

/** The head of a request as the guards see it. */
export interface GuardedRequest extends HttpRequest {
  readonly path: string;
  readonly headerCount: number;
  /** Whether the request came in over the loopback interface, as far as the adapter can know. */
  readonly loopback: boolean;
}

/** What the guards hold a request against. */
export interface GuardRules {
  readonly path: string | undefined;
  readonly methods: readonly string[];
  /** Undefined for the rule of loopback connections, `'*'` for any host. */
  readonly allowedHosts: ReadonlySet<string> | '*' | undefined;
  /** Undefined for the rule of loopback and same-host origins, `'*'` for any origin. */
  readonly allowedOrigins: ReadonlySet<string> | '*' | undefined;
  readonly maxBodyBytes: number;
  readonly maxHeaders: number;
}

/** The guards of every answer, public ones included. */
export function checkEntry(request: GuardedRequest, rules: GuardRules): Refusal | undefined {
  return checkHeaderCount(request, rules) ?? checkTarget(request) ?? checkHost(request, rules);
}

/** The guards of the endpoint. */
export function checkEndpoint(request: GuardedRequest, rules: GuardRules): Refusal | undefined {
  return checkOrigin(request, rules) ?? checkPath(request, rules) ?? checkMethod(request, rules);
}

/** The guards of what is sent and of what may be sent back, before anything of the body is read. */
export function checkContent(request: GuardedRequest, rules: GuardRules): Refusal | undefined {
  return (
    checkContentType(request) ??
    checkContentEncoding(request) ??
    checkAccept(request) ??
    checkContentLength(request, rules)
  );
}

/** A server that drops surplus headers in silence may have dropped the one that a guard looks for. */
export function checkHeaderCount(request: GuardedRequest, { maxHeaders }: GuardRules): Refusal | undefined {
  return request.headerCount > maxHeaders ? refuse(431, `it has more than ${maxHeaders} headers`) : undefined;
}

/** Only a path is a target here: an absolute address would name a second host beside the Host header. */
export function checkTarget(request: GuardedRequest): Refusal | undefined {
  const { url } = request;
  return url.startsWith('/') ? undefined : refuse(400, `the request target ${quote(url)} is not a path`);
}

/**
 * Turns away a browser that a hostile name server sent here: it names the attacker's host.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-%26-endpoint
 */
export function checkHost(request: GuardedRequest, { allowedHosts }: GuardRules): Refusal | undefined {
  if (allowedHosts === '*' || (!allowedHosts && !request.loopback)) return undefined;
  const host = request.header('host')?.toLowerCase() ?? '';
  const name = hostName(host);
  if (name !== undefined) {
    const allowed = allowedHosts ? allowedHosts.has(name) || allowedHosts.has(host) : isLoopbackName(name);
    if (allowed) return undefined;
  }
  return refuse(403, `the host ${quote(host)} is not among allowedHosts`);
}

/**
 * Turns away pages of other sites. A request without an Origin header comes from no page.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-%26-endpoint
 */
export function checkOrigin(request: GuardedRequest, rules: GuardRules): Refusal | undefined {
  const origin = request.header('origin');
  if (origin === undefined || rules.allowedOrigins === '*') return undefined;
  const allowed = rules.allowedOrigins
    ? rules.allowedOrigins.has(origin.toLowerCase())
    : isLocalOrigin(origin.toLowerCase(), request, rules);
  return allowed ? undefined : refuse(403, `the origin ${quote(origin)} is not among allowedOrigins`);
}

export function checkPath({ path }: GuardedRequest, rules: GuardRules): Refusal | undefined {
  const served = rules.path === undefined || path === rules.path;
  return served ? undefined : refuse(404, `nothing is served at ${quote(path)}`);
}

export function checkMethod({ method }: GuardedRequest, { methods }: GuardRules): Refusal | undefined {
  return methods.includes(method) ? undefined : methodRefusal(method, methods);
}

export function methodRefusal(method: string, allowed: readonly string[]): Refusal {
  return refuse(405, `the method ${quote(method)} is not served here`, { allow: allowed.join(', ') });
}

/**
 * The client must be ready for both kinds of answer to a POST, and for a stream to a GET.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages
 */
export function checkAccept(request: GuardedRequest): Refusal | undefined {
  const { method } = request;
  if (method !== 'POST' && method !== 'GET') return undefined;
  const accept = request.header('accept');
  if (accept === 'application/json, text/event-stream') return undefined;
  const due = method === 'POST' ? [JSON_TYPE, EVENT_STREAM_TYPE] : [EVENT_STREAM_TYPE];
  if (due.every((type) => accepts(accept, type))) return undefined;
  return refuse(406, `its Accept header must list ${due.join(' and ')}`);
}

export function checkContentType(request: GuardedRequest): Refusal | undefined {
  if (request.method !== 'POST') return undefined;
  const type = request.header('content-type') ?? '';
  if (essence(type) === JSON_TYPE) return undefined;
  return refuse(415, `its content type is ${type === '' ? 'missing' : quote(type)}: it must be ${JSON_TYPE}`);
}

export function checkContentEncoding(request: GuardedRequest): Refusal | undefined {
  const encoding = request.method === 'POST' ? request.header('content-encoding') : undefined;
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return undefined;
  return refuse(415, `its content encoding is ${quote(encoding)}: it must be left as it is`, {
    'accept-encoding': 'identity',
  });
}

export function checkContentLength(request: GuardedRequest, rules: GuardRules): Refusal | undefined {
  const tooMuch = request.method === 'POST' && Number(request.header('content-length')) > rules.maxBodyBytes;
  return tooMuch ? tooLarge(rules.maxBodyBytes) : undefined;
}

/** Tells whether an Accept header lets a type through: the type itself or a wildcard, not weighted zero. */
export function accepts(accept: string | undefined, type: string): boolean {
  if (accept === undefined) return false;
  const group = `${type.slice(0, type.indexOf('/'))}/*`;
  return accept.split(',').some((range) => {
    const name = essence(range);
    if (name !== type && name !== group && name !== '*/*') return false;
    return !ZERO_WEIGHT.test(range);
  });
}

/** The host of a lower-case Host header without its port; undefined when it is not one host. */
export function hostName(host: string): string | undefined {
  return HOST.exec(host)?.[1];
}

/** Tells whether a host name, as {@link hostName} gives it, can only mean this machine. */
export function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || LOOPBACK_IPV4.test(name);
}

const ZERO_WEIGHT = /;\s*q=0(?:\.0*)?\s*(?:;|$)/i;
const HOST = /^(\[[0-9a-f:.]+\]|[^\s:,/@[\]]+)(?::\d{1,5})?$/;
const LOOPBACK_IPV4 = /^127(?:\.\d{1,3}){3}$/;
const WEB_ORIGIN = /^https?:\/\/([^/]+)$/;

function isLocalOrigin(origin: string, request: GuardedRequest, rules: GuardRules): boolean {
  const host = WEB_ORIGIN.exec(origin)?.[1];
  const name = host === undefined ? undefined : hostName(host);
  if (name === undefined) return false;
  if (isLoopbackName(name)) return true;
  // The same host proves something only where the Host header itself was held against a list.
  return rules.allowedHosts instanceof Set && host === request.header('host')?.toLowerCase();
}

function refuse(status: number, why: string, headers?: Readonly<Record<string, string>>): Refusal {
  return new Refusal(status, INVALID_REQUEST, `Cannot serve the request: ${why}`, headers);
}
