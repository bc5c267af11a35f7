import {
  acceptWebSockets,
  type WebSocketListener,
  type WebSocketListenOptions,
} from '../../transport/index.ts';
import type { McpServer } from './server.ts';

/**
 * Serves a server by WebSocket, to any number of clients of either dialect: on an HTTP server that is given, or on one of
 * its own, by default at `ws://127.0.0.1:<port>/mcp`.
 *
 * Closing what is returned lets requests that are being answered come to an end first; the server itself stays open.
 *
 * @throws McpError `TRANSPORT_FAILED` when the address cannot be listened on.
 * @throws TypeError when an option makes no sense.
 */
export function serveWebSocket(
  server: McpServer,
  options: WebSocketListenOptions = {},
): Promise<WebSocketListener> {
  return acceptWebSockets(options, (transport, { auth }) => server.connect(transport, { auth }));
}
