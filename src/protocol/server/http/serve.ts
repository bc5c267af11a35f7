import {
  type FetchListener,
  type HttpListening,
  type HttpListenOptions,
  type HttpServerOptions,
  listenHttp,
  type NodeListener,
  toFetchListener,
  toNodeListener,
} from '../../../transport/index.ts';
import { type McpServer, partsOf } from '../server.ts';
import { type EndpointOptions, HttpEndpoint } from './endpoint.ts';

export interface HttpHandlerOptions extends HttpServerOptions, EndpointOptions {}
export interface ServeHttpOptions extends HttpListenOptions, EndpointOptions {}

/**
 * Makes a listener for node:http, and for any framework on it, that serves clients of both dialects at one address.
 *
 * @throws TypeError when an option is out of range or cannot mean anything.
 */
export function toNodeHandler(server: McpServer, options: HttpHandlerOptions = {}): NodeListener {
  const endpoint = endpointOf(server, options);
  return toNodeListener((exchange) => endpoint.handle(exchange), withDefaults(server, options));
}

/**
 * Makes a function from a web-standard request to its response that serves clients of both dialects at one address.
 *
 * @throws TypeError when an option is out of range or cannot mean anything.
 */
export function toFetchHandler(server: McpServer, options: HttpHandlerOptions = {}): FetchListener {
  const endpoint = endpointOf(server, options);
  return toFetchListener((exchange) => endpoint.handle(exchange), withDefaults(server, options));
}

/**
 * Serves clients of both dialects by HTTP, on this machine alone unless told otherwise.
 *
 * @throws McpError `TRANSPORT_FAILED` when the address cannot be listened on.
 * @throws TypeError when an option is out of range or cannot mean anything.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
export async function serveHttp(server: McpServer, options: ServeHttpOptions = {}): Promise<HttpListening> {
  const endpoint = endpointOf(server, options);
  const listening = await listenHttp((exchange) => endpoint.handle(exchange), withDefaults(server, options));
  const { stateless } = partsOf(server);
  return {
    url: listening.url,
    port: listening.port,
    close: async () => {
      endpoint.close();
      stateless.subscriptions.end();
      // The last word of each subscription is said in the same turn; then its stream may end.
      await new Promise(setImmediate);
      await listening.close();
    },
  };
}

/** The endpoint ends with its server. */
function endpointOf(server: McpServer, options: EndpointOptions): HttpEndpoint {
  const { core, stateless, onClose } = partsOf(server);
  const endpoint = new HttpEndpoint(core, stateless, options);
  onClose(() => endpoint.close());
  return endpoint;
}

function withDefaults<Options extends HttpServerOptions>(server: McpServer, options: Options): Options {
  return { onError: partsOf(server).core.settings.onError, ...options };
}
