import { McpServer, serveHttp, serveStdio, toFetchHandler } from 'mcpwire';

const whole = { type: 'integer' };
const server = new McpServer({ name: 'bundled', version: '1.0.0' });
server.tool(
  {
    name: 'add',
    inputSchema: { type: 'object', properties: { a: whole, b: whole }, required: ['a', 'b'] },
    outputSchema: {
      type: 'object',
      properties: { sum: whole },
      required: ['sum'],
      unevaluatedProperties: false,
    },
  },
  ({ a, b }) => ({ structuredContent: { sum: a + b } }),
);

const [, , how] = process.argv;
if (how === 'stdio') serveStdio(server);
else if (how === 'http') serveHttp(server).then(({ url }) => console.log(url));
else answerOne();

async function answerOne() {
  const handle = toFetchHandler(server, { sessions: false, allowedHosts: '*' });
  const call = { name: 'add', arguments: { a: 2, b: 3 } };
  const request = new Request('http://example.com/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
  });
  const response = await handle(request);
  const { result } = await response.json();
  // Without a version in it, the request is of a revision that has no structured content.
  const [{ text }] = result.content;
  console.log(JSON.parse(text).sum);
  await server.close();
}
