import type { JsonObject } from '../../jsonrpc/index.ts';
import { notNegative } from '../../jsonrpc/option.ts';
import { stableText } from '../schema/fingerprint.ts';

export interface CacheOptions {
  /** How many results are kept; the least recently used goes first. Default 500. */
  maxEntries?: number;
  /** How long a result without `ttlMs` counts as fresh, in milliseconds. Default 0: it is not kept. */
  defaultTtlMs?: number;
}

const CACHED_METHODS: readonly string[] = [
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
];

/** Which results a notification makes stale. */
const STALE_AFTER: { readonly [notification: string]: readonly string[] } = {
  'notifications/tools/list_changed': ['tools/list'],
  'notifications/prompts/list_changed': ['prompts/list'],
  'notifications/resources/list_changed': ['resources/list', 'resources/templates/list'],
};

/**
 * Keeps results for as long as the server says they are fresh. It belongs to one client, hence to one principal, so
 * private results may be kept like public ones.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
 */
export class ResultCache {
  readonly #maxEntries: number;
  readonly #defaultTtlMs: number;
  readonly #entries = new Map<string, { method: string; freshUntil: number; result: JsonObject }>();

  #generation = 0;

  /** @throws TypeError for a negative number. */
  constructor(options: CacheOptions = {}) {
    const { maxEntries = 500, defaultTtlMs = 0 } = options;
    this.#maxEntries = notNegative('cache.maxEntries', maxEntries);
    this.#defaultTtlMs = notNegative('cache.defaultTtlMs', defaultTtlMs);
  }

  /** Changes whenever something was dropped: a result that was asked for before that is not worth keeping. */
  get generation(): number {
    return this.#generation;
  }

  get(method: string, params: JsonObject | undefined): JsonObject | undefined {
    if (this.#entries.size === 0) return undefined;
    const key = keyOf(method, params);
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    if (performance.now() >= entry.freshUntil) return undefined;
    this.#entries.set(key, entry);
    return entry.result;
  }

  /** Keeps a complete result that no input went into, as long as the server says. */
  set(method: string, params: JsonObject | undefined, result: JsonObject, hint: unknown): void {
    const ttlMs = typeof hint === 'number' ? hint : this.#defaultTtlMs;
    if (!(ttlMs > 0) || !CACHED_METHODS.includes(method)) return;
    const key = keyOf(method, params);
    this.#entries.delete(key);
    this.#entries.set(key, { method, freshUntil: performance.now() + ttlMs, result });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) break;
      this.#entries.delete(oldest);
    }
  }

  /** Drops what a notification of the server makes stale. */
  onNotification(method: string, params: JsonObject | undefined): void {
    if (method === 'notifications/resources/updated') {
      this.#generation++;
      this.#entries.delete(keyOf('resources/read', { uri: params?.uri }));
      return;
    }
    const stale = Object.hasOwn(STALE_AFTER, method) ? STALE_AFTER[method] : undefined;
    if (stale) this.drop(stale);
  }

  /** Drops all results of these methods; without methods, everything. Tells whether there was any. */
  drop(methods?: readonly string[]): boolean {
    this.#generation++;
    const { size } = this.#entries;
    for (const [key, { method }] of this.#entries) {
      if (!methods || methods.includes(method)) this.#entries.delete(key);
    }
    return this.#entries.size < size;
  }
}

function keyOf(method: string, params: JsonObject | undefined): string {
  return `${method} ${params === undefined ? '' : stableText(params)}`;
}
