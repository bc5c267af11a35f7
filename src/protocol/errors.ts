import { isJsonObject, RpcError } from '../jsonrpc/index.ts';

/** @see https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes */
export const HEADER_MISMATCH = -32020;
export const MISSING_REQUIRED_CLIENT_CAPABILITY = -32021;
export const UNSUPPORTED_PROTOCOL_VERSION = -32022;
/** Resource not found, in 2025-11-25 and earlier; -32602 since. */
export const RESOURCE_NOT_FOUND = -32002;

const MODERN_CODES: readonly number[] = [
  HEADER_MISMATCH,
  MISSING_REQUIRED_CLIENT_CAPABILITY,
  UNSUPPORTED_PROTOCOL_VERSION,
];

/** Tells whether an error can only come from a server of the stateless dialect. */
export function isModernError(error: unknown): error is RpcError {
  return error instanceof RpcError && MODERN_CODES.includes(error.rpcCode);
}

/** The versions that an UnsupportedProtocolVersion error lists; empty when it lists none. */
export function supportedVersions(error: RpcError): unknown[] {
  return isJsonObject(error.data) && Array.isArray(error.data.supported) ? error.data.supported : [];
}
