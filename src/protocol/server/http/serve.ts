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
import { closesWith } from '../closes-with.ts';
import { type McpServer, partsOf } from '../server.ts';
import { type EndpointOptions, HttpEndpoint } from './endpoint.ts';

/** How long closing waits for answers under way, unless `closeGraceMs` says otherwise. */
const DEFAULT_CLOSE_GRACE_MS = 3000;

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
 * Serves clients of both dialects by HTTP, on this machine alone unless told otherwise. The process stays alive until what
 * is returned, or the server, is closed.
 *
 * @throws McpError `TRANSPORT_FAILED` when the address cannot be listened on.
 * @throws TypeError when an option is out of range or cannot mean anything.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
export async function serveHttp(server: McpServer, options: ServeHttpOptions = {}): Promise<HttpListening> {
  const { core, stateless } = partsOf(server);
  const endpoint = new HttpEndpoint(core, stateless, options);
  const listening = await listenHttp((exchange) => endpoint.handle(exchange), withDefaults(server, options));
  const closeOnce = async () => {
    // The last word of each subscription is said now; then its stream ends with the others.
    stateless.subscriptions.end();
    await endpoint.drain(options.closeGraceMs ?? DEFAULT_CLOSE_GRACE_MS);
    endpoint.close();
    await listening.close();
  };
  let closing: Promise<void> | undefined;
  return closesWith(server, {
    url: listening.url,
    port: listening.port,
    close: () => {
      closing ??= closeOnce();
      return closing;
    },
  });
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
