import type { JsonRpcErrorObject } from './message.ts';

/**
 * Every `code` an error of this package can carry. Codes are stable: they are part of the API.
 *
 * | code | meaning |
 * |---|---|
 * | `RPC_ERROR` | the peer answered with a JSON-RPC error ({@link RpcError}) |
 * | `TIMEOUT` | no answer within the deadline ({@link TimeoutError}) |
 * | `ABORTED` | the caller's signal was aborted; `cause` is the signal's reason |
 * | `CLOSED` | the connection is closed, or closed while the call was pending |
 * | `INVALID_JSON`, `INVALID_UTF8`, `LINE_TOO_LONG`, `EVENT_TOO_LONG` | bytes that are no message |
 * | `INVALID_MESSAGE` | JSON that is no JSON-RPC message |
 * | `UNKNOWN_RESPONSE` | a response that no pending request waits for |
 * | `SPAWN_FAILED`, `PROCESS_EXITED` | the server's process did not start, or ended |
 * | `TRANSPORT_FAILED` | the channel broke or refused a message |
 * | `HTTP_STATUS` | an HTTP answer that is no MCP answer |
 * | `UNAUTHORIZED` | the server refused the credentials, or asks for some |
 * | `CONNECT_FAILED` | no dialect could be agreed with the server |
 * | `UNSUPPORTED_VERSION` | the server speaks no revision that this client speaks |
 * | `INVALID_RESULT` | a result of an unknown type or shape |
 * | `INVALID_SCHEMA` | a JSON Schema that cannot be used |
 * | `PAGINATION` | a list that does not end, or repeats a cursor |
 * | `ROUNDS_EXCEEDED` | the server asked for input more often than `maxRounds` |
 * | `INPUT_REQUIRED` | the server asked for input that the client has no handler for |
 * | `NOT_SUPPORTED` | the operation does not exist here: wrong dialect, transport or capability |
 * | `HANDLER_FAILED` | a callback of the application threw |
 * | `TOOL_FAILED` | a tool came to no good end (`ToolError`) |
 * | `DUPLICATE_TOOL` | two tools of one name |
 * | `INVALID_NAME` | a tool's name that model APIs may refuse |
 * | `INVALID_CONFIG` | a file or an entry of `mcpServers` that cannot be used |
 * | `PLUGIN_FAILED` | a plugin could not connect, or its call came to no good end (`PluginError`) |
 * | `LOAD_FAILED` | a package that mcpwire depends on is not there, or was left out of a bundle |
 */
export type ErrorCode =
  | 'RPC_ERROR'
  | 'TIMEOUT'
  | 'ABORTED'
  | 'CLOSED'
  | 'INVALID_JSON'
  | 'INVALID_UTF8'
  | 'LINE_TOO_LONG'
  | 'EVENT_TOO_LONG'
  | 'INVALID_MESSAGE'
  | 'UNKNOWN_RESPONSE'
  | 'SPAWN_FAILED'
  | 'PROCESS_EXITED'
  | 'TRANSPORT_FAILED'
  | 'HTTP_STATUS'
  | 'UNAUTHORIZED'
  | 'CONNECT_FAILED'
  | 'UNSUPPORTED_VERSION'
  | 'INVALID_RESULT'
  | 'INVALID_SCHEMA'
  | 'PAGINATION'
  | 'ROUNDS_EXCEEDED'
  | 'INPUT_REQUIRED'
  | 'NOT_SUPPORTED'
  | 'HANDLER_FAILED'
  | 'TOOL_FAILED'
  | 'DUPLICATE_TOOL'
  | 'INVALID_NAME'
  | 'INVALID_CONFIG'
  | 'PLUGIN_FAILED'
  | 'LOAD_FAILED';

/** The base of every error this package throws or reports. Branch on `code`. */
export class McpError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/**
 * A JSON-RPC error: one that the peer answered with, or one that a handler throws to be sent to the peer. It is the
 * only error with a number, and the only one that travels: local failures can not be mistaken for it.
 */
export class RpcError extends McpError {
  /** The JSON-RPC error code, for example -32602. */
  readonly rpcCode: number;
  readonly data: unknown;

  constructor(rpcCode: number, message: string, data?: unknown, options?: { cause?: unknown }) {
    super('RPC_ERROR', message, options);
    this.rpcCode = rpcCode;
    this.data = data;
  }

  toJSON(): JsonRpcErrorObject {
    const { rpcCode: code, message, data } = this;
    return data === undefined ? { code, message } : { code, message, data };
  }
}

/** No answer came within the deadline. */
export class TimeoutError extends McpError {
  /** The budget that was spent, in milliseconds. */
  readonly timeoutMs: number;

  constructor(message: string, timeoutMs: number) {
    super('TIMEOUT', message);
    this.timeoutMs = timeoutMs;
  }
}

/** Returns `error` itself if it is an Error, else one whose message says what was thrown and whose `cause` is it. */
export function toError(error: unknown): Error {
  if (error instanceof Error) return error;
  // An object need not be convertible to a string.
  const isPrimitive = error === null || (typeof error !== 'object' && typeof error !== 'function');
  return new Error(isPrimitive ? String(error) : `a thrown ${typeof error}`, { cause: error });
}
