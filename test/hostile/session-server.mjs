// The honest part of every peer: a minimal server of the session dialect with one tool, `echo`. It refuses
// `server/discover` as such servers do. A peer passes the methods it answers in its own way, and how it writes.

export const text = (value) => ({ content: [{ type: 'text', text: value }] });

const HONEST = {
  initialize: ({ params }) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'hostile', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: [{ name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }],
  }),
  'tools/call': ({ params }) => text(params.arguments?.text ?? ''),
};

/** Ends with its input. A method returns its result, or undefined when it has answered, or never will. */
export function serve(methods = {}, write = (line) => process.stdout.write(line)) {
  const handlers = { ...HONEST, ...methods };
  const send = (message) => write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  onLine(process.stdin, async (line) => {
    const request = JSON.parse(line);
    if (request.id === undefined || request.method === undefined) return;
    const { id, method } = request;
    const handler = handlers[method];
    if (!handler) {
      await send({ id, error: { code: -32601, message: `Method not found: ${method}` } });
      return;
    }
    const result = await handler(request);
    if (result) await send({ id, result });
  });
}

/** Lines end at a newline and nowhere else: `readline` cuts at U+2028 as well, from Node 24 on. */
function onLine(input, handle) {
  let rest = '';
  input.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) handle(line);
  });
}

/** Writes and waits until it has left this process. */
export function flush(stream, data) {
  return new Promise((resolve) => stream.write(data, resolve));
}

/** Keeps this process alive whatever happens to its streams. */
export function stayAlive() {
  setInterval(() => {}, 60_000);
}
