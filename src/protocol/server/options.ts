import { DEFAULT_MAX_INBOUND, isJsonObject, type McpError } from '../../jsonrpc/index.ts';
import {
  assertFunction,
  assertObject,
  atLeastOne,
  kindOf,
  misuse,
  shown,
  wholeNumber,
} from '../../jsonrpc/option.ts';
import type { CacheHints, Implementation, ServerCapabilities } from '../types/identity.ts';
import { createStateSeal, type RequestStateOptions, type StateSeal } from './request-state.ts';

/** How long and by whom results may be reused; clients of the stateless dialect are told. */
export interface ServerCacheOptions extends CacheHints {
  /** For `server/discover`, where it differs. */
  discover?: CacheHints;
  /** For the list of tools, where it differs. */
  tools?: CacheHints;
  /** For the list of prompts, where it differs. */
  prompts?: CacheHints;
  /** For the list of resources, where it differs. */
  resources?: CacheHints;
  /** For the list of resource templates, where it differs. */
  resourceTemplates?: CacheHints;
  /** For reading resources that say nothing of their own, where it differs. */
  read?: CacheHints;
}

export interface ServerOptions extends Implementation {
  /** What a model should know about using this server. */
  instructions?: string;
  /** Capabilities to declare beside and instead of those that follow from what is registered. */
  capabilities?: ServerCapabilities;
  /** How many items one page of a list has. Default `Infinity`: all. */
  pageSize?: number;
  /** How long and by whom results may be reused. Default `{ ttlMs: 0, cacheScope: 'private' }`. */
  cache?: ServerCacheOptions;
  /** How state is protected that travels through the client. Default: a random key of this process. */
  requestState?: RequestStateOptions;
  /** How long a client of the session dialect may take to answer a question, in milliseconds. Default 600000. */
  inputTimeoutMs?: number;
  /** How many requests of one connection may run at once; one more is answered with an error. Default 4096. */
  maxConcurrentRequests?: number;
  /** How many subscriptions may be open in all; one more is refused. Default 10000. */
  maxSubscriptions?: number;
  /** How many subscriptions may be open on one connection; one more is refused. Default 64. */
  maxSubscriptionsPerConnection?: number;
  /** How many resources a session, or a subscription, may watch; one more is refused. Default 1024. */
  maxWatchedResources?: number;
  /** Hears of everything that failed and no caller can be told in full. Must not throw. Default: nobody hears. */
  onError?: (error: McpError) => void;
}

/** {@link ServerOptions} with every default filled in. */
export interface ServerSettings {
  readonly info: Implementation;
  readonly instructions: string | undefined;
  readonly capabilities: ServerCapabilities;
  readonly pageSize: number;
  /** By method; a method without an entry has results that must not be reused. */
  readonly cache: { readonly [method: string]: Required<CacheHints> };
  readonly seal: StateSeal;
  readonly inputTimeoutMs: number;
  readonly maxConcurrentRequests: number;
  readonly maxSubscriptions: number;
  readonly maxSubscriptionsPerConnection: number;
  readonly maxWatchedResources: number;
  readonly onError: (error: McpError) => void;
}

/** @throws TypeError when an option is missing, out of range or cannot mean anything. */
export function readServerOptions(options: ServerOptions): ServerSettings {
  if (!isJsonObject(options)) misuse('options', 'an object with name and version', kindOf(options));
  const { name, version, title, description, websiteUrl, icons } = options;
  if (typeof name !== 'string' || name === '') misuse('name', 'a string that is not empty', shown(name));
  if (typeof version !== 'string') misuse('version', 'a string', shown(version));
  assertObject('capabilities', options.capabilities);
  assertFunction('onError', options.onError);
  return {
    info: {
      name,
      version,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(websiteUrl !== undefined && { websiteUrl }),
      ...(icons !== undefined && { icons }),
    },
    instructions: options.instructions,
    capabilities: options.capabilities ?? {},
    pageSize: wholeNumber('pageSize', options.pageSize ?? Number.POSITIVE_INFINITY),
    cache: readCacheOptions(options.cache ?? {}),
    seal: createStateSeal(options.requestState ?? {}),
    inputTimeoutMs: atLeastOne('inputTimeoutMs', options.inputTimeoutMs ?? 600_000),
    maxConcurrentRequests: atLeastOne(
      'maxConcurrentRequests',
      options.maxConcurrentRequests ?? DEFAULT_MAX_INBOUND,
    ),
    maxSubscriptions: atLeastOne('maxSubscriptions', options.maxSubscriptions ?? 10_000),
    maxSubscriptionsPerConnection: atLeastOne(
      'maxSubscriptionsPerConnection',
      options.maxSubscriptionsPerConnection ?? 64,
    ),
    maxWatchedResources: atLeastOne('maxWatchedResources', options.maxWatchedResources ?? 1024),
    onError: options.onError ?? (() => {}),
  };
}

function readCacheOptions(options: ServerCacheOptions): ServerSettings['cache'] {
  assertObject('cache', options);
  const base = { ttlMs: options.ttlMs ?? 0, cacheScope: options.cacheScope ?? 'private' } as const;
  const hints = {
    'server/discover': { ...base, ...options.discover },
    'tools/list': { ...base, ...options.tools },
    'prompts/list': { ...base, ...options.prompts },
    'resources/list': { ...base, ...options.resources },
    'resources/templates/list': { ...base, ...options.resourceTemplates },
    'resources/read': { ...base, ...options.read },
  };
  for (const { ttlMs } of Object.values(hints)) {
    if (!Number.isInteger(ttlMs) || ttlMs < 0)
      misuse('cache.ttlMs', 'a whole number of milliseconds', shown(ttlMs));
  }
  return hints;
}
