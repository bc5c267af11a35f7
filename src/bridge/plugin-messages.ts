import type { MessagePort } from 'node:worker_threads';
import type { JsonObject, McpError } from '../jsonrpc/index.ts';
import type { ToolDefinition } from '../protocol/index.ts';
import type { PluginConnectionOptions, PluginTarget } from './plugin-connection.ts';
import { PluginError, type PluginErrorKind } from './plugin-error.ts';

// What a plugin and its thread say to each other.

export const WORKER_NAME = 'mcpwire-mcp-worker';

/** The shared cells: how many replies were given to waiting calls, whether the thread has ended, signs of life. */
export const REPLIES = 0;
export const ENDED = 1;
export const BEATS = 2;
export const CELLS = 3;

/** How often a thread at work on a call that is waited for gives a sign of life. */
export const BEAT_MS = 200;

/** What the thread is started with. */
export interface ThreadData {
  target: PluginTarget;
  options: PluginConnectionOptions;
  cells: Int32Array;
  /** Where calls that are waited for are answered. */
  replies: MessagePort;
}

export type ToThread =
  | { type: 'call'; id: number; name: string; args: JsonObject | undefined }
  | { type: 'callSync'; name: string; args: JsonObject | undefined }
  | { type: 'cancel'; id: number }
  | { type: 'close' };

export type FromThread =
  | { type: 'open'; tools: readonly ToolDefinition[] }
  | { type: 'failed'; error: Failure }
  | { type: 'reply'; id: number; outcome: Outcome }
  | { type: 'warning'; code: McpError['code']; message: string };

export type Outcome = { text: string } | { error: Failure };

/** An error on its way from one thread to the other, which keeps no class. */
export interface Failure {
  /** Undefined for a TypeError: what was asked makes no sense. */
  kind: PluginErrorKind | undefined;
  message: string;
  schema: string | undefined;
}

export function toFailure(error: unknown): Failure {
  if (error instanceof PluginError) return { kind: error.kind, message: error.message, schema: error.schema };
  const message = error instanceof Error ? error.message : String(error);
  return { kind: error instanceof TypeError ? undefined : 'internal', message, schema: undefined };
}

export function fromFailure({ kind, message, schema }: Failure): Error {
  if (kind === undefined) return new TypeError(message);
  return new PluginError(kind, message, schema === undefined ? {} : { schema });
}
