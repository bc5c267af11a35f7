import { isJsonObject, type JsonObject, type JsonRpcRequest } from '../../../jsonrpc/index.ts';
import type { HttpExchange } from '../../../transport/index.ts';
import { decodeHeaderValue, nameHeaderSource } from '../../headers.ts';
import { META_PROTOCOL_VERSION } from '../../meta.ts';
import { type ParamHeader, readParamHeaders, valueAt } from '../../param-headers.ts';

/**
 * Compares the headers that mirror a request with the request itself.
 *
 * @param schemaOf The input schema of a tool, where there is such a tool.
 * @returns what does not match, in words; undefined when all does.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
 */
export function findHeaderFault(
  exchange: HttpExchange,
  { method, params = {} }: JsonRpcRequest,
  schemaOf: (tool: string) => JsonObject | undefined,
): string | undefined {
  return (
    versionFault(exchange, params) ??
    methodFault(exchange, method) ??
    nameFault(exchange, method, params) ??
    (method === 'tools/call' ? paramsFault(exchange, params, schemaOf) : undefined)
  );
}

function versionFault(exchange: HttpExchange, params: JsonObject): string | undefined {
  const header = exchange.header('mcp-protocol-version');
  if (header === undefined) return 'the MCP-Protocol-Version header is missing';
  const version = isJsonObject(params._meta) ? params._meta[META_PROTOCOL_VERSION] : undefined;
  // A body that says no version is refused for that.
  if (typeof version !== 'string' || version === header) return undefined;
  return `MCP-Protocol-Version is ${quote(header)}, the body says ${quote(version)}`;
}

function methodFault(exchange: HttpExchange, method: string): string | undefined {
  const header = exchange.header('mcp-method');
  if (header === undefined) return 'the Mcp-Method header is missing';
  return header === method ? undefined : `Mcp-Method is ${quote(header)}, the body says ${quote(method)}`;
}

function nameFault(exchange: HttpExchange, method: string, params: JsonObject): string | undefined {
  const name = nameHeaderSource(method, params);
  if (name === undefined) return undefined;
  const header = exchange.header('mcp-name');
  if (header === undefined) return 'the Mcp-Name header is missing';
  return decodeHeaderValue(header) === name
    ? undefined
    : `Mcp-Name is ${quote(header)}, the body says ${quote(name)}`;
}

function paramsFault(
  exchange: HttpExchange,
  { name, arguments: args }: JsonObject,
  schemaOf: (tool: string) => JsonObject | undefined,
): string | undefined {
  const schema = typeof name === 'string' ? schemaOf(name) : undefined;
  if (!schema) return undefined;
  for (const mirrored of mirroredBy(schema)) {
    const fault = paramFault(exchange.header(mirrored.header), mirrored, valueAt(args, mirrored.path));
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function paramFault(
  header: string | undefined,
  { header: name, type }: ParamHeader,
  value: unknown,
): string | undefined {
  const isAbsent = value === undefined || value === null;
  if (header === undefined) return isAbsent ? undefined : `the ${name} header is missing`;
  if (isAbsent) return `${name} is ${quote(header)}, the body has no such argument`;
  const text = decodeHeaderValue(header);
  if (text === undefined) return `${name} is no valid header value: ${quote(header)}`;
  const matches = type === 'integer' ? text.trim() !== '' && Number(text) === value : text === String(value);
  return matches ? undefined : `${name} is ${quote(header)}, the body says ${quote(String(value))}`;
}

/** Schemas are read once: a tool keeps its schema object as long as it keeps its contract. */
const READ = new WeakMap<JsonObject, readonly ParamHeader[]>();

function mirroredBy(schema: JsonObject): readonly ParamHeader[] {
  const known = READ.get(schema);
  if (known) return known;
  const read = readParamHeaders(schema);
  // Clients leave a tool with invalid annotations out, so nobody can be expected to mirror its arguments.
  const mirrored = typeof read === 'string' ? [] : read;
  READ.set(schema, mirrored);
  return mirrored;
}

function quote(value: string): string {
  return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value);
}
