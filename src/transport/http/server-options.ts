import type { McpError } from '../../jsonrpc/index.ts';
import { assertFunction, atLeastOne, kindOf, misuse, shown } from '../../jsonrpc/option.ts';
import { type BearerGuard, type BearerOptions, createBearerGuard } from './bearer.ts';
import type { StreamLimits } from './event-stream.ts';
import type { GuardRules } from './guard.ts';

/** What every HTTP listener takes, whatever it listens with. */
export interface HttpServerOptions {
  /** The only path that is served; elsewhere the answer is a 404. Default: any, the host's router having chosen. */
  path?: string;
  /** The methods that are served; others get a 405. Default GET, POST and DELETE. */
  methods?: readonly HttpMethod[];
  /**
   * The values of the Host header that are served, with or without a port (without: any port); others get a 403.
   * `'*'` means any. Default: over a loopback connection `localhost`, `127.*.*.*` and `[::1]`, which is what keeps web
   * pages out of a server on this machine; over other connections any. A listener for web-standard requests cannot
   * see its connection: without a list it takes any.
   */
  allowedHosts?: readonly string[] | '*';
  /**
   * The origins of web pages that are served, such as `https://app.example.com`; a request that names another one,
   * `null` included, gets a 403. `'*'` means any. A request without an Origin header comes from no page and passes.
   * Default: `http` and `https` origins on a loopback host, and, where `allowedHosts` is a list, the origin of the very
   * host that was asked. Cross-origin headers are not sent: that is for the host's framework to do.
   */
  allowedOrigins?: readonly string[] | '*';
  /** The largest body, in bytes; a larger one gets a 413 and is not kept. Default 4194304 (4 MiB). */
  maxBodyBytes?: number;
  /** How deep the JSON of a body may nest; a deeper one gets a 400. Default 256 levels. */
  maxDepth?: number;
  /** How many headers a request may have; one with more gets a 431. Default 100. */
  maxHeaders?: number;
  /** Lets in only requests with a good bearer token. Default: all. */
  auth?: BearerOptions;
  /**
   * How often a stream sends a comment, in milliseconds; `Infinity` means never. A client that takes nothing of any
   * answer for four times as long is cut off, where the connection can tell. Default 15000.
   */
  keepAliveMs?: number;
  /**
   * How much a stream's reader may leave unread before it is cut off, in bytes. The newest event does not count, so one
   * of any size passes. Default 16777216 (16 MiB).
   */
  maxBufferedBytes?: number;
  /** Hears of handlers that failed and of streams that were cut off. Never throws. Default: nobody does. */
  onError?: (error: McpError) => void;
}

/** The methods that an MCP endpoint can have a use for. */
export type HttpMethod = 'GET' | 'POST' | 'DELETE';

/** {@link HttpServerOptions} with every default filled in. */
export interface HttpServerSettings extends GuardRules, StreamLimits {
  readonly maxDepth: number;
  readonly auth: BearerGuard | undefined;
  readonly onError: (error: McpError) => void;
  /** The exchanges whose streams are open, so that closing can end them. */
  readonly streaming: Set<{ hangUp(): void }>;
}

/** How many keep-alive comments a reader may miss. */
const STALLED_KEEP_ALIVES = 4;
/** The timer that finds a stalled reader can take no more. */
const LONGEST_KEEP_ALIVE_MS = Math.floor((2 ** 31 - 1) / STALLED_KEEP_ALIVES);

/** @throws TypeError when an option is out of range or cannot mean anything. */
export function readServerOptions(options: HttpServerOptions): HttpServerSettings {
  const { keepAliveMs = 15_000 } = options;
  if (!(atLeastOne('keepAliveMs', keepAliveMs) <= LONGEST_KEEP_ALIVE_MS || keepAliveMs === Infinity)) {
    misuse('keepAliveMs', `from 1 to ${LONGEST_KEEP_ALIVE_MS} milliseconds, or Infinity`, shown(keepAliveMs));
  }
  assertFunction('onError', options.onError);
  return {
    path: options.path === undefined ? undefined : readPath(options.path),
    methods: readMethods(options.methods),
    allowedHosts: readList('allowedHosts', options.allowedHosts, readHost),
    allowedOrigins: readList('allowedOrigins', options.allowedOrigins, readOrigin),
    maxBodyBytes: atLeastOne('maxBodyBytes', options.maxBodyBytes ?? 4 * 1024 * 1024),
    maxDepth: atLeastOne('maxDepth', options.maxDepth ?? 256),
    maxHeaders: atLeastOne('maxHeaders', options.maxHeaders ?? 100),
    auth: options.auth === undefined ? undefined : createBearerGuard(options.auth),
    keepAliveMs,
    stallMs: keepAliveMs * STALLED_KEEP_ALIVES,
    maxBufferedBytes: atLeastOne('maxBufferedBytes', options.maxBufferedBytes ?? 16 * 1024 * 1024),
    onError: options.onError ?? (() => {}),
    streaming: new Set(),
  };
}

function readPath(path: string): string {
  if (typeof path === 'string' && /^\/[^?#\s]*$/.test(path)) return path;
  return misuse('path', 'a path that starts with "/" and has no query', shown(path));
}

const METHODS: readonly HttpMethod[] = ['GET', 'POST', 'DELETE'];

function readMethods(methods: readonly HttpMethod[] = METHODS): readonly HttpMethod[] {
  if (Array.isArray(methods) && methods.every((method) => METHODS.includes(method))) return methods;
  return misuse('methods', 'an array of "GET", "POST" and "DELETE"', kindOf(methods));
}

function readList(
  option: string,
  list: readonly string[] | '*' | undefined,
  read: (entry: string) => string,
): ReadonlySet<string> | '*' | undefined {
  if (list === undefined || list === '*') return list;
  if (Array.isArray(list) && list.every((entry) => typeof entry === 'string')) return new Set(list.map(read));
  return misuse(option, 'an array of strings, or "*"', shown(list));
}

function readHost(entry: string): string {
  const host = entry.toLowerCase();
  if (!URL.canParse(`http://${host}`) || /[/@?#]/.test(host)) {
    throw new TypeError(`allowedHosts must hold hosts such as "example.com" or "[::1]:8080": "${entry}"`);
  }
  return host;
}

function readOrigin(entry: string): string {
  const origin = entry.toLowerCase();
  // Any page can make its origin null, so allowing it would allow all.
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]+$/.test(origin)) {
    throw new TypeError(`allowedOrigins must hold origins such as "https://app.example.com": "${entry}"`);
  }
  return origin;
}
