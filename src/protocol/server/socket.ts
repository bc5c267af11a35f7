import { listenSocket, type SocketListener, type SocketListenOptions } from '../../transport/index.ts';
import { closesWith } from './closes-with.ts';
import { assertServer, type McpServer } from './server.ts';

/**
 * Serves a server on a Unix domain socket or a TCP port, to any number of clients of either dialect.
 *
 * Closing what is returned lets requests that are being answered come to an end first; the server itself stays open. Until
 * then the process stays alive. It closes with the server too.
 *
 * @throws McpError `TRANSPORT_FAILED` when it cannot listen there.
 * @throws TypeError when an option makes no sense.
 */
export async function serveSocket(server: McpServer, options: SocketListenOptions): Promise<SocketListener> {
  assertServer(server);
  return closesWith(server, await listenSocket(options, (transport) => server.connect(transport)));
}
