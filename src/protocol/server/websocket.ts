import {
  acceptWebSockets,
  type WebSocketListener,
  type WebSocketListenOptions,
} from '../../transport/index.ts';
import { closesWith } from './closes-with.ts';
import { assertServer, type McpServer } from './server.ts';

/**
 * Serves a server by WebSocket, to any number of clients of either dialect: on an HTTP server that is given, or on one of
 * its own, by default at `ws://127.0.0.1:<port>/mcp`.
 *
 * Closing what is returned lets requests that are being answered come to an end first; the server itself stays open. Until
 * then the process stays alive. It closes with the server too.
 *
 * @throws McpError `TRANSPORT_FAILED` when the address cannot be listened on.
 * @throws TypeError when an option makes no sense.
 */
export async function serveWebSocket(
  server: McpServer,
  options?: WebSocketListenOptions & { server?: never },
): Promise<WebSocketListener & { readonly url: string }>;
export async function serveWebSocket(
  server: McpServer,
  options?: WebSocketListenOptions,
): Promise<WebSocketListener>;
export async function serveWebSocket(
  server: McpServer,
  options: WebSocketListenOptions = {},
): Promise<WebSocketListener> {
  assertServer(server);
  return closesWith(
    server,
    await acceptWebSockets(options, (transport, { auth }) => server.connect(transport, { auth })),
  );
}
