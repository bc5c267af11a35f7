import type { JsonRpcErrorResponse } from '../../jsonrpc/index.ts';

/**
 * Why a request is turned away before a handler sees it: an HTTP status, and a JSON-RPC error response without an id,
 * since what asked for it was not read.
 */
export class Refusal {
  readonly status: number;
  readonly body: JsonRpcErrorResponse;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(status: number, code: number, message: string, headers?: Readonly<Record<string, string>>) {
    this.status = status;
    this.body = { jsonrpc: '2.0', error: { code, message } };
    this.headers = headers;
  }
}

const QUOTED_CHARS = 100;

/** Quotes what a client sent, for an error message: escaped, and cut where it is long. */
export function quote(value: string): string {
  return JSON.stringify(value.length > QUOTED_CHARS ? `${value.slice(0, QUOTED_CHARS)}…` : value);
}
