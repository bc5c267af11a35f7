import { type LookupFunction, Socket } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';
import { loadPackage } from '../../jsonrpc/load-package.ts';

const PROXY_VARIABLES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'];
const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

export interface ConnectionsOptions {
  /** How many connections there may be to one origin; requests wait for one. Default: no bound. */
  connections?: number;
  /** Finds the addresses of hosts that are connected to without a proxy. Default: the system's way. */
  lookup?: LookupFunction;
}

/** A pool of connections, and its end. */
export interface Connections {
  readonly dispatcher: Dispatcher;
  /** Ends all connections at once, those that are still being made as well. */
  destroy(): Promise<void>;
}

/**
 * Makes the connection pool for an address. It goes through a proxy where the environment names one (HTTP_PROXY,
 * HTTPS_PROXY, NO_PROXY, in lower or upper case), but never to this machine itself.
 */
export async function createConnections(
  url: URL,
  { connections, lookup }: ConnectionsOptions = {},
): Promise<Connections> {
  const { Agent, EnvHttpProxyAgent, buildConnector } = await loadPackage('undici', () => import('undici'));
  const { connect, giveUp } = track(buildConnector(lookup ? { lookup } : {}));
  const hasProxy = PROXY_VARIABLES.some((name) => process.env[name]);
  const isProxied = hasProxy && !LOOPBACK.test(url.hostname);
  const options = connections === undefined ? { connect } : { connect, connections };
  const dispatcher = isProxied ? new EnvHttpProxyAgent(options) : new Agent(options);
  return {
    dispatcher,
    destroy: async () => {
      const destroyed = dispatcher.destroy();
      giveUp();
      await destroyed;
    },
  };
}

/** A pool that is destroyed forgets the sockets that are not connected yet: an address that is silent would hold them. */
function track(connector: buildConnector.connector): {
  connect: buildConnector.connector;
  giveUp: () => void;
} {
  const connecting = new Set<Socket>();
  const connect: buildConnector.connector = (options, callback) => {
    let socket: unknown;
    const onSettled: buildConnector.Callback = (...outcome) => {
      if (socket instanceof Socket) connecting.delete(socket);
      callback(...outcome);
    };
    // It returns the socket, which its type leaves out.
    socket = (connector as (...args: Parameters<typeof connect>) => unknown)(options, onSettled);
    if (socket instanceof Socket) connecting.add(socket);
  };
  const giveUp = () => {
    for (const socket of connecting) socket.destroy(new Error('The client was closed'));
  };
  return { connect, giveUp };
}
