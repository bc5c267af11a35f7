import { McpError } from '../jsonrpc/index.ts';

/**
 * Why a plugin failed.
 *
 * - `io`: the server's process could not be started
 * - `not-supported`: the server, or the way to reach it, wants something that a plugin does not do
 * - `validation`: what was given does not have the right form
 * - `internal`: discovery, the list of tools or a call failed, or was answered with what is no answer
 */
export type PluginErrorKind = 'io' | 'not-supported' | 'validation' | 'internal';

/** A plugin failed. Its `code` is `PLUGIN_FAILED`; branch on `kind`. */
export class PluginError extends McpError {
  readonly kind: PluginErrorKind;
  /** What the value should have been, where the kind is `validation`. */
  readonly schema: string | undefined;

  constructor(kind: PluginErrorKind, message: string, options: { schema?: string; cause?: unknown } = {}) {
    super('PLUGIN_FAILED', message, 'cause' in options ? { cause: options.cause } : undefined);
    this.kind = kind;
    this.schema = options.schema;
  }
}

/** What the arguments of a call should have been. */
const ARGUMENTS_SCHEMA = 'tools/call arguments';

export function invalidArguments(tool: string, fault: string, cause?: unknown): PluginError {
  const message = `Cannot call tool ${JSON.stringify(tool)} with these arguments: ${fault}`;
  return new PluginError('validation', message, { schema: ARGUMENTS_SCHEMA, cause });
}
