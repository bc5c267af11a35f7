import { type McpServer, partsOf } from './server.ts';

/** Has what listens for a server close when the server does, if it was not closed before. */
export function closesWith<Listener extends { close(): Promise<void> }>(
  server: McpServer,
  listener: Listener,
): Listener {
  const close = listener.close.bind(listener);
  const forget = partsOf(server).onClose(close);
  listener.close = () => {
    forget();
    return close();
  };
  return listener;
}
