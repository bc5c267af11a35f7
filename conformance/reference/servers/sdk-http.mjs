// The official SDKs over HTTP: version 1 at /v1 with sessions that can be resumed, version 2 at /v2 for both dialects.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import { McpServer as ServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  acceptedContent,
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  McpServer as ServerV2,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

const sessions = new Map();
const counts = { initialize: 0, work: 0 };
const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

function createV1() {
  const server = new ServerV1({ name: 'sdk-v1', version: '1.0.0' });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, (args) => text(args.text));
  server.registerTool('counts', { inputSchema: {} }, () => text(JSON.stringify(counts)));
  server.registerTool(
    'work',
    { inputSchema: { steps: z.number() } },
    async ({ steps }, { _meta, sendNotification }) => {
      counts.work++;
      for (let progress = 1; progress <= steps; progress++) {
        await sendNotification({
          method: 'notifications/progress',
          params: { progressToken: _meta.progressToken, progress, total: steps },
        });
        await pause();
      }
      return text('done');
    },
  );
  return server;
}

async function serveV1(request, response, body) {
  const id = request.headers['mcp-session-id'];
  let transport = sessions.get(id);
  if (!transport) {
    if (id !== undefined) return response.writeHead(404).end();
    if (body?.method !== 'initialize') return response.writeHead(400).end();
    counts.initialize++;
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new InMemoryEventStore(),
      onsessioninitialized: (given) => sessions.set(given, transport),
    });
    await createV1().connect(transport);
  }
  return transport.handleRequest(request, response, body);
}

function createV2() {
  const server = new ServerV2(
    { name: 'sdk-v2', version: '2.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  const none = fromJsonSchema({ type: 'object', properties: {} });
  const echo = fromJsonSchema({
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
  });
  server.registerTool('echo', { inputSchema: echo }, (args) => text(args.text));
  server.registerTool('greet', { inputSchema: none }, (_args, { mcpReq }) => {
    const names = ['first', 'last'];
    const answers = names.map((name) => acceptedContent(mcpReq.inputResponses, name));
    if (answers.every(Boolean)) return text(answers.map(({ name }) => name).join(' '));
    const ask = (message) =>
      inputRequired.elicit({
        message,
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
      });
    return inputRequired({
      inputRequests: Object.fromEntries(names.map((name) => [name, ask(name)])),
      requestState: 'asked',
    });
  });
  return server;
}

const serveV2 = toNodeHandler(createMcpHandler(createV2));

const http = createServer(async (request, response) => {
  if (request.url !== '/v1') return serveV2(request, response);
  let body = '';
  for await (const chunk of request) body += chunk;
  return serveV1(request, response, body === '' ? undefined : JSON.parse(body));
});
http.listen(Number(process.env.PORT), '127.0.0.1', () => console.error(`listening on ${process.env.PORT}`));
