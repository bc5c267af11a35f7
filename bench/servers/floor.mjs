// The floor: the least code that does a server's work, written for the tools of the benchmarks alone.
import { createServer } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { largeText } from '../texts.mjs';

const INFO = { name: 'bench', version: '1.0.0' };
const RESULT_META = { 'io.modelcontextprotocol/serverInfo': INFO };
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

function resultOf(method, params) {
  switch (method) {
    case 'tools/call':
      return { content: [{ type: 'text', text: textOf(params) }] };
    case 'initialize': {
      const { protocolVersion } = params;
      return { protocolVersion, capabilities: { tools: {} }, serverInfo: INFO };
    }
    case 'server/discover':
      return {
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        ttlMs: 0,
        cacheScope: 'private',
      };
    case 'tools/list': {
      const names = ['echo', 'work', 'large'];
      const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
      return { tools, ttlMs: 0, cacheScope: 'private' };
    }
    default:
      return {};
  }
}

function textOf({ name, arguments: args }) {
  if (name === 'echo') return args.text;
  return name === 'large' ? largeText(args.chars) : `${args.steps} steps`;
}

/** The answer to a request, as text. */
export function answer({ id, method, params }) {
  const result = resultOf(method, params);
  if (params?._meta?.[VERSION_KEY] !== undefined) {
    result.resultType = 'complete';
    result._meta = RESULT_META;
  }
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

function progress({ params }) {
  let lines = '';
  const { steps } = params.arguments;
  const { progressToken } = params._meta;
  for (let step = 1; step <= steps; step++) {
    const message = {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken, progress: step, total: steps },
    };
    lines += `${JSON.stringify(message)}\n`;
  }
  return lines;
}

export function serveStdio() {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  process.stdin.on('data', (chunk) => {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = lines.pop();
    let output = '';
    for (const line of lines) {
      const message = JSON.parse(line);
      if (message.id === undefined) continue;
      if (message.params?.name === 'work') output += progress(message);
      output += `${answer(message)}\n`;
    }
    if (output !== '') process.stdout.write(output);
  });
}

export function httpListener() {
  return (request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405).end();
      return;
    }
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const message = JSON.parse(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
      if (message.id === undefined) {
        response.writeHead(202).end();
        return;
      }
      const body = answer(message);
      const length = Buffer.byteLength(body);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': length }).end(body);
    });
  };
}

export function listen(listener) {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
}

/** Holds streams open where that is all that is asked for. */
export function serveHttp(dialect) {
  listen(dialect === 'streams' ? holdStream : httpListener());
}

function holdStream(_request, response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
}
