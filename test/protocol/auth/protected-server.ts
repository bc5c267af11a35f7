import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer, toNodeHandler } from '../../../src/protocol/index.ts';
import { BearerChallenge, type BearerOptions } from '../../../src/transport/index.ts';
import { closeBehindTest } from '../../transport/http/scripted-server.ts';

/** Whom a token stands for. */
export interface Principal {
  scopes: readonly string[];
}

export interface ProtectedServer {
  url: string;
  origin: string;
  /** The Authorization header of every request, in order. */
  seen: (string | undefined)[];
}

/**
 * Our own server behind our own guard: "read" is a tool for everybody with a token, "write" needs the scope of that
 * name, and "extensions" says what the client declares. What it looks like from outside is known only when it listens.
 */
export async function protect(
  issuer: string,
  verify: (token: string, resource: string) => Principal | undefined | Promise<Principal | undefined>,
  options: Partial<BearerOptions> & {
    scopesSupported?: string[];
    issuers?: string[];
    resource?: (url: string) => string;
  } = {},
): Promise<ProtectedServer> {
  const http = createServer();
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const url = `${origin}/mcp`;
  const server = new McpServer({ name: 'guarded', version: '1.0.0' });
  server.tool({ name: 'read', inputSchema: { type: 'object' } }, () => 'something');
  server.tool({ name: 'write', inputSchema: { type: 'object' } }, () => 'written');
  server.tool({ name: 'extensions', inputSchema: { type: 'object' } }, (_args, { client }) => {
    return JSON.stringify(client.capabilities.extensions);
  });
  const { scopesSupported, issuers = [issuer], resource, ...guard } = options;
  const handler = toNodeHandler(server, {
    auth: {
      verify: async (token, request) => {
        const principal = await verify(token, url);
        const isAllowed = request.header('mcp-name') !== 'write' || principal?.scopes.includes('write');
        return isAllowed ? principal : new BearerChallenge('insufficient_scope', { scopes: ['write'] });
      },
      resourceMetadata: {
        resource: resource?.(url) ?? url,
        authorization_servers: issuers,
        ...(scopesSupported && { scopes_supported: scopesSupported }),
      },
      ...guard,
    },
  });
  const seen: (string | undefined)[] = [];
  http.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/mcp') seen.push(request.headers.authorization);
    void handler(request, response);
  });
  closeBehindTest(async () => {
    await server.close();
    http.closeAllConnections();
    http.close();
    await once(http, 'close');
  });
  return { url, origin, seen };
}
