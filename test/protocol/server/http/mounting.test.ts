import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { afterEach, describe, expect, it } from 'vitest';
import {
  bearer,
  type HttpHandlerOptions,
  McpClient,
  McpServer,
  toFetchHandler,
  toNodeHandler,
} from '../../../../src/protocol/index.ts';

// What docs/serving.md shows, as it stands there, behind a guard.

const METADATA = '/.well-known/oauth-protected-resource';
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function files(): McpServer {
  const server = new McpServer({ name: 'files', version: '1.0.0' });
  server.tool({ name: 'count', inputSchema: { type: 'object' } }, async (_args, context) => {
    await context.progress(1);
    return 'counted';
  });
  cleanups.push(() => server.close());
  return server;
}

function guarded(port: number): HttpHandlerOptions {
  const resource = `http://127.0.0.1:${port}/mcp`;
  return {
    auth: {
      verify: (token) => token === 'good' && { sub: 'ann' },
      resourceMetadata: { resource, authorization_servers: ['https://auth.example.com'] },
    },
  };
}

async function listening(http: Server): Promise<number> {
  if (!http.listening) {
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
  }
  cleanups.push(() => {
    http.close();
    http.closeAllConnections();
  });
  return (http.address() as AddressInfo).port;
}

async function webRequest(request: IncomingMessage): Promise<Request> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return new Request(`http://${request.headers.host}${request.url}`, {
    method: request.method ?? 'GET',
    // Sound: no header that a client of ours sends comes twice.
    headers: request.headers as Record<string, string>,
    ...(body !== '' && { body }),
  });
}

const MOUNTS: { [framework: string]: () => Promise<number> } = {
  express: async () => {
    const app = express();
    const port = await listening(createServer(app));
    const handler = toNodeHandler(files(), guarded(port));
    app.use(['/mcp', METADATA], handler);
    return port;
  },
  'express, behind its parser of JSON,': async () => {
    const app = express();
    const port = await listening(createServer(app));
    const handler = toNodeHandler(files(), guarded(port));
    app.use(express.json({ limit: '4mb' }));
    app.use(['/mcp', METADATA], handler);
    return port;
  },
  fastify: async () => {
    const app = fastify();
    let handler: ReturnType<typeof toNodeHandler> | undefined;
    for (const path of ['/mcp', METADATA, `${METADATA}/*`]) {
      app.all(path, (request, reply) => {
        reply.hijack();
        handler?.(Object.assign(request.raw, { body: request.body }), reply.raw);
      });
    }
    await app.listen({ port: 0, host: '127.0.0.1' });
    const port = await listening(app.server);
    handler = toNodeHandler(files(), guarded(port));
    return port;
  },
  'the web standard, by way of hono,': async () => {
    const app = new Hono();
    const port = await listening(createServer((request, response) => void answer(request, response)));
    const handler = toFetchHandler(files(), { ...guarded(port), allowedHosts: ['127.0.0.1'] });
    app.all('/mcp', (context) => handler(context.req.raw));
    app.get(`${METADATA}/*`, (context) => handler(context.req.raw));
    const answer = async (request: IncomingMessage, response: ServerResponse) => {
      const reply = await app.fetch(await webRequest(request));
      response.writeHead(reply.status, Object.fromEntries(reply.headers));
      for await (const chunk of reply.body ?? []) response.write(chunk);
      response.end();
    };
    return port;
  },
};

describe.each(Object.keys(MOUNTS))('a handler mounted in %s', (framework) => {
  it.each(['stateless', 'session'] as const)(
    'serves the %s dialect and its own metadata',
    async (dialect) => {
      const port = (await MOUNTS[framework]?.()) ?? 0;
      const url = `http://127.0.0.1:${port}/mcp`;
      const refused = await McpClient.http(url, { dialect }).catch((error) => error);
      expect(refused).toMatchObject({ code: 'UNAUTHORIZED', status: 401 });
      const [, metadataUrl = ''] =
        /resource_metadata="([^"]+)"/.exec(refused.headers['www-authenticate']) ?? [];
      expect(await (await fetch(metadataUrl)).json()).toMatchObject({ resource: url });
      const client = await McpClient.http(url, { dialect, authorizer: bearer('good') });
      cleanups.push(() => client.close());
      const progress: number[] = [];
      const counted = await client.callTool(
        'count',
        {},
        { onProgress: (step) => progress.push(step.progress) },
      );
      expect(counted).toMatchObject({ content: [{ text: 'counted' }] });
      expect(progress).toEqual([1]);
    },
  );
});
