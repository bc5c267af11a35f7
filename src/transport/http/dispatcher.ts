import type { LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';

const PROXY_VARIABLES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'];
const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Makes the connection pool for an address. It goes through a proxy where the environment names one (HTTP_PROXY,
 * HTTPS_PROXY, NO_PROXY, in lower or upper case), but never to this machine itself.
 *
 * @param lookup Finds the addresses of hosts that are connected to without a proxy. Default: the system's way.
 */
export async function createDispatcher(url: URL, lookup?: LookupFunction): Promise<Dispatcher> {
  const { Agent, EnvHttpProxyAgent } = await import('undici');
  const options = lookup ? { connect: { lookup } } : {};
  const hasProxy = PROXY_VARIABLES.some((name) => process.env[name]);
  return hasProxy && !LOOPBACK.test(url.hostname) ? new EnvHttpProxyAgent(options) : new Agent(options);
}
