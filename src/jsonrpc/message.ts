/** A JSON object as it comes off the wire: the values are not known yet. */
export type JsonObject = { [key: string]: unknown };

/**
 * A request id: a string or an integer, kept exactly as the sender wrote it (`0` and `""` are ordinary ids). Integers
 * beyond 2^53 are no ids: JavaScript would round them, and an answer would carry an id that nobody sent.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#requests
 */
export type RequestId = string | number;

/** A call that wants one response with the same id. */
export interface JsonRpcRequest {
  jsonrpc: '2.0';
  id: RequestId;
  method: string;
  params?: JsonObject;
}

/** A one-way message: it is never answered. */
export interface JsonRpcNotification {
  jsonrpc: '2.0';
  method: string;
  params?: JsonObject;
}

/** The successful response to the request with the same id. */
export interface JsonRpcResult {
  jsonrpc: '2.0';
  id: RequestId;
  result: JsonObject;
}

/** What went wrong, as JSON-RPC 2.0 section 5.1 describes it. */
export interface JsonRpcErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

/** The failed response. `id` is absent or `null` when the request could not be read. */
export interface JsonRpcErrorResponse {
  jsonrpc: '2.0';
  id?: RequestId | null;
  error: JsonRpcErrorObject;
}

export type JsonRpcResponse = JsonRpcResult | JsonRpcErrorResponse;
export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResponse;

/** What {@link classify} found a value to be. Members that the protocol does not know stay on `message`. */
export type Classified =
  | { kind: 'request'; message: JsonRpcRequest }
  | { kind: 'notification'; message: JsonRpcNotification }
  | { kind: 'result'; message: JsonRpcResult }
  | { kind: 'error'; message: JsonRpcErrorResponse }
  | { kind: 'batch'; items: readonly unknown[] }
  | { kind: 'invalid'; reason: string; id?: RequestId };

/** The JSON-RPC 2.0 error codes. */
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** Tells whether a value is a JSON object: neither `null` nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Tells whether a value may identify a request. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/**
 * Decides what a parsed JSON value is. Total: it throws for none of them. A batch (an array) is named as
 * such and not looked into: only revision 2025-03-26 allows it, and that is for the protocol to say.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#messages
 */
export function classify(value: unknown): Classified {
  if (!isJsonObject(value)) {
    return Array.isArray(value)
      ? { kind: 'batch', items: value }
      : { kind: 'invalid', reason: 'a message must be a JSON object' };
  }
  if (value.jsonrpc !== '2.0') return invalid(value, '"jsonrpc" must be "2.0"');
  // A member that is `undefined` is an absent one: JSON has no other way to write it.
  if (value.method !== undefined) return classifyCall(value);
  const hasResult = value.result !== undefined;
  const hasError = value.error !== undefined;
  if (hasResult && hasError) return invalid(value, 'a response must not have both "result" and "error"');
  if (hasResult) return classifyResult(value);
  if (hasError) return classifyError(value);
  return invalid(value, 'a message must have "method", "result" or "error"');
}

// The casts below are sound: each is made right after every required member of that message type was checked.

function classifyCall(value: JsonObject): Classified {
  if (typeof value.method !== 'string') return invalid(value, '"method" must be a string');
  if (value.params !== undefined && !isJsonObject(value.params)) {
    return invalid(value, '"params" must be an object');
  }
  if (value.result !== undefined || value.error !== undefined) {
    return invalid(value, 'a message must not have both "method" and "result" or "error"');
  }
  if (value.id === undefined)
    return { kind: 'notification', message: value as unknown as JsonRpcNotification };
  if (!isRequestId(value.id)) return invalid(value, '"id" of a request must be a string or an integer');
  return { kind: 'request', message: value as unknown as JsonRpcRequest };
}

function classifyResult(value: JsonObject): Classified {
  if (!isRequestId(value.id)) return invalid(value, '"id" of a result must be a string or an integer');
  if (!isJsonObject(value.result)) return invalid(value, '"result" must be an object');
  return { kind: 'result', message: value as unknown as JsonRpcResult };
}

function classifyError(value: JsonObject): Classified {
  const { id, error } = value;
  if (id !== undefined && id !== null && !isRequestId(id)) {
    return invalid(value, '"id" of an error must be a string, an integer or null');
  }
  if (!isJsonObject(error)) return invalid(value, '"error" must be an object');
  if (!Number.isInteger(error.code)) return invalid(value, '"error.code" must be an integer');
  if (typeof error.message !== 'string') return invalid(value, '"error.message" must be a string');
  return { kind: 'error', message: value as unknown as JsonRpcErrorResponse };
}

function invalid(value: JsonObject, reason: string): Classified {
  return isRequestId(value.id) ? { kind: 'invalid', reason, id: value.id } : { kind: 'invalid', reason };
}
