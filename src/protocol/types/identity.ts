import type { JsonObject } from '../../jsonrpc/index.ts';

/** Metadata that rides on most objects. Keys of the specification start with `io.modelcontextprotocol/`. */
export type Meta = JsonObject;

/** A picture for a tool, prompt, resource or implementation. Its `src` is untrusted: fetch it with care. */
export interface Icon {
  src: string;
  mimeType?: string;
  sizes?: string[];
  theme?: 'light' | 'dark';
}

/** Who a client or server says it is. Self-reported: for display and logs, never for decisions. */
export interface Implementation {
  name: string;
  version: string;
  title?: string;
  description?: string;
  websiteUrl?: string;
  icons?: Icon[];
}

/** What a client can do for a server. An open set: unknown members are kept. */
export interface ClientCapabilities {
  roots?: { listChanged?: boolean };
  sampling?: { context?: JsonObject; tools?: JsonObject };
  elicitation?: { form?: JsonObject; url?: JsonObject };
  extensions?: { [id: string]: JsonObject };
  experimental?: { [name: string]: JsonObject };
  [name: string]: unknown;
}

/** What a server offers. An open set: unknown members are kept. */
export interface ServerCapabilities {
  tools?: { listChanged?: boolean };
  prompts?: { listChanged?: boolean };
  resources?: { listChanged?: boolean; subscribe?: boolean };
  logging?: JsonObject;
  completions?: JsonObject;
  extensions?: { [id: string]: JsonObject };
  experimental?: { [name: string]: JsonObject };
  [name: string]: unknown;
}

/** The syslog severities, least severe first. */
export const LOGGING_LEVELS = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;
export type LoggingLevel = (typeof LOGGING_LEVELS)[number];

/** How long (in milliseconds) and for whom a result may be reused. */
export interface CacheHints {
  ttlMs?: number;
  cacheScope?: 'public' | 'private';
}
