// A registry of our own, served by the adapter to whoever comes: over stdio, or by HTTP when a port is given.
import { createTool, McpServerAdapter, ToolRegistry } from 'mcpwire';

const registry = new ToolRegistry();

function tool(name, properties, call, more = {}) {
  const inputSchema = { type: 'object', properties, required: Object.keys(properties) };
  registry.register(createTool({ name, inputSchema, call, ...more }));
}

tool('echo', { text: { type: 'string' } }, ({ text }) => text, {
  description: 'Says it again',
  isReadOnly: true,
});

tool(
  'add',
  { a: { type: 'number' }, b: { type: 'number' } },
  ({ a, b }) => ({ content: JSON.stringify({ sum: a + b }), displayHint: 'json' }),
  {
    title: 'Add',
    outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
  },
);

tool('parts', {}, () => ({
  content: [
    { type: 'text', text: 'before' },
    { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
    { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
  ],
}));

tool('fail', {}, () => {
  throw new Error('this tool always fails');
});

// A client may lose progress that comes in one chunk with the result: it says when it has heard all.
let finish = () => {};
tool('work', { steps: { type: 'integer' } }, async ({ steps }, { onProgress }) => {
  const finished = new Promise((resolve) => {
    finish = resolve;
  });
  for (let step = 1; step <= steps; step++) onProgress?.({ progress: step, total: steps });
  await finished;
  return `${steps} steps`;
});
tool('finish', {}, () => {
  finish();
  return 'finished';
});

tool('wait', {}, (_args, { signal, onProgress }) => {
  onProgress?.({ progress: 1 });
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      registry.register(createTool({ name: 'was_cancelled', call: () => 'yes' }));
      reject(signal.reason);
    });
  });
});

registry.register({ ...registry.get('echo'), name: 'unusable', inputSchema: { type: 'string' } });

const adapter = new McpServerAdapter({
  registry,
  name: 'adapter',
  version: '1.0.0',
  instructions: 'For tests',
});
const [port] = process.argv.slice(2);
if (port === undefined) {
  adapter.serveStdio();
} else {
  const { url } = await adapter.serveHttp({ port: Number(port) });
  console.log(url);
}
