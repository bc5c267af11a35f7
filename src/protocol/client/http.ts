import { isJsonObject, McpError, RpcError, TimeoutError } from '../../jsonrpc/index.ts';
import {
  type HttpAuthorizer,
  type HttpClientOptions,
  HttpClientTransport,
  httpErrorOf,
  LegacySseTransport,
} from '../../transport/index.ts';
import type { ClientCapabilities } from '../types/identity.ts';
import type { Binding } from './binding.ts';
import type { Connection } from './connection.ts';

/** What a server that has only the deprecated HTTP+SSE transport answers to a POST at its address. */
const OLDER_TRANSPORT_STATUSES: readonly number[] = [400, 404, 405];

/**
 * Reaching a server by HTTP: Streamable HTTP, and the deprecated HTTP+SSE transport for servers that have no other.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#backward-compatibility
 */
export function httpBinding(url: string | URL, options: HttpClientOptions): Binding {
  return {
    open: () => new HttpClientTransport(url, options),
    canReopen: true,
    isInconclusive,
    older: (error) => {
      const status = httpErrorOf(error)?.status;
      const refused = status !== undefined && OLDER_TRANSPORT_STATUSES.includes(status);
      return refused ? new LegacySseTransport(url, options) : undefined;
    },
    sessionOpened: (connection) => {
      const transport = streamableHttp(connection);
      if (!transport) return;
      transport.resumable = true;
      // Whether the server has such a stream is for it to say; a fault of the stream is a warning of the transport.
      connection.serverStream = transport.openStream({
        headers: connection.dialect.headers('', undefined),
        onGap: () => connection.missMessages(),
        onSessionLost: () => connection.loseSession(),
      });
    },
    sessionLoss: (error) => {
      const http = httpErrorOf(error);
      if (!http?.sessionLost) return undefined;
      return error === http || error instanceof RpcError ? 'refused' : 'broken';
    },
    neverSent: isRefusedConnection,
    forgetSession: (connection) => streamableHttp(connection)?.forgetSession(),
    farewell: async (connection) => {
      const headers = connection.dialect.headers('', undefined);
      await streamableHttp(connection)?.deleteSession({ headers });
    },
  };
}

/** The capabilities to declare with an authorizer that an extension of the protocol describes. */
export function withExtension(
  capabilities: ClientCapabilities = {},
  authorizer: HttpAuthorizer | undefined,
): ClientCapabilities {
  const extension = isJsonObject(authorizer) ? authorizer.extension : undefined;
  if (typeof extension !== 'string') return capabilities;
  return { ...capabilities, extensions: { [extension]: {}, ...capabilities.extensions } };
}

/** Only an answer tells what a server speaks: not a demand for credentials, a fault of the server or of the network. */
function isInconclusive(error: unknown): boolean {
  const status = httpErrorOf(error)?.status;
  if (status !== undefined) return status === 401 || status === 403 || status >= 500;
  return error instanceof McpError && !(error instanceof RpcError) && !(error instanceof TimeoutError);
}

/** Nothing listens there: no byte of a request can have arrived. */
function isRefusedConnection(error: unknown): boolean {
  const cause = error instanceof McpError ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}

function streamableHttp({ transport }: Connection): HttpClientTransport | undefined {
  return transport instanceof HttpClientTransport ? transport : undefined;
}
