import {
  INVALID_PARAMS,
  isJsonObject,
  type JsonObject,
  type McpError,
  METHOD_NOT_FOUND,
  RpcError,
} from '../../jsonrpc/index.ts';
import { misuse, shown } from '../../jsonrpc/option.ts';
import type { Context } from './context.ts';

/** Answers one method. An {@link RpcError} that it throws travels as it is. */
export type MethodHandler = (context: Context) => object | Promise<object>;

/** What tools, prompts and resources need of the server they belong to. */
export interface FeatureHost {
  readonly pageSize: number;
  /** Hears of failures that the client is told nothing or little of. */
  report(error: McpError): void;
}

export function invalidParams(message: string, data?: unknown): RpcError {
  return new RpcError(INVALID_PARAMS, message, data);
}

export function methodNotFound(method: string): RpcError {
  return new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
}

/** @throws RpcError -32602 when the member is no string. */
export function requireString(params: JsonObject, member: string): string {
  const value = params[member];
  if (typeof value === 'string') return value;
  throw invalidParams(`"${member}" must be a string`);
}

/** @throws RpcError -32602 when the member is there and no object. */
export function optionalObject(params: JsonObject, member: string): JsonObject | undefined {
  const value = params[member];
  if (value === undefined || isJsonObject(value)) return value;
  throw invalidParams(`"${member}" must be an object`);
}

export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** @throws TypeError for what no compiler has seen, and declares nothing. */
export function assertDefinition(what: string, definition: unknown): void {
  if (!isJsonObject(definition)) misuse(`the definition of a ${what}`, 'an object', shown(definition));
}
