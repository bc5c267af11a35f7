import { Buffer, isUtf8 } from 'node:buffer';
import type { JsonObject } from '../jsonrpc/index.ts';

/** Which member of the params names what a request is about, for the methods that have one. */
const NAMED_BY: { readonly [method: string]: string } = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;
const VISIBLE = /^[\t\x20-\x7e]*$/;
const SENTINEL_START = '=?base64?';
const SENTINEL_END = '?=';

/**
 * The headers that mirror a request's body, for transports that have a header layer.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata
 */
export function requestHeaders(
  revision: string,
  method: string,
  params: JsonObject | undefined,
): Record<string, string> {
  const headers: Record<string, string> = { 'mcp-protocol-version': revision, 'mcp-method': method };
  const name = nameHeaderSource(method, params);
  if (name !== undefined) headers['mcp-name'] = encodeHeaderValue(name);
  return headers;
}

/** The value that `Mcp-Name` mirrors; undefined for methods without one. */
export function nameHeaderSource(method: string, params: JsonObject | undefined): string | undefined {
  const member = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const value = member === undefined ? undefined : params?.[member];
  return typeof value === 'string' ? value : undefined;
}

/**
 * Writes any string as a legal header value: as it is where that is safe, else in the Base64 sentinel form.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding
 */
export function encodeHeaderValue(value: string): string {
  if (value === '' || (PLAIN.test(value) && !isSentinel(value))) return value;
  return `${SENTINEL_START}${Buffer.from(value, 'utf8').toString('base64')}${SENTINEL_END}`;
}

function isSentinel(value: string): boolean {
  const longEnough = value.length >= SENTINEL_START.length + SENTINEL_END.length;
  return longEnough && value.startsWith(SENTINEL_START) && value.endsWith(SENTINEL_END);
}

/** Reads a header value that {@link encodeHeaderValue} wrote. Undefined when it is not a legal one. */
export function decodeHeaderValue(header: string): string | undefined {
  if (!isSentinel(header)) return VISIBLE.test(header) ? header : undefined;
  const base64 = header.slice(SENTINEL_START.length, -SENTINEL_END.length);
  const bytes = Buffer.from(base64, 'base64');
  // Decoding skips what is no Base64, so that two headers would read the same.
  return bytes.toString('base64') === base64 && isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}
