// @ts-check
// What a server has beside tools: prompts, resources, templates, suggestions, log messages, questions, middleware.
import { McpClient, McpServer } from 'mcpwire';

const server = new McpServer({ name: 'library', version: '1.0.0' });
const books = new Map([
  ['dune', 'A desert planet, and what it grows.'],
  ['emma', 'A matchmaker who should not.'],
]);
const titles = (/** @type {string} */ typed) => [...books.keys()].filter((title) => title.startsWith(typed));

// Runs around every request; what it throws is the answer.
server.use(async (context, next) => {
  const result = await next();
  console.log(`answered ${context.method}`);
  return result;
});

server.prompt(
  { name: 'review', description: 'Asks for a review', arguments: [{ name: 'title', required: true }] },
  ({ title }) => `Review the book "${title}".`,
  { complete: { title: titles } },
);

server.resource({ uri: 'library://catalogue', name: 'catalogue', mimeType: 'text/plain' }, () =>
  [...books.keys()].join('\n'),
);

server.resourceTemplate(
  { uriTemplate: 'library://books/{title}', name: 'book', mimeType: 'text/plain' },
  // Undefined means that there is no such resource.
  (_uri, { title }) => books.get(String(title)),
  { complete: { title: titles } },
);

server.tool({ name: 'summarize', inputSchema: { type: 'object' } }, async (_args, context) => {
  // In the stateless dialect each question has this run again from its start: what happens once stands behind them.
  const [root] = await context.listRoots();
  const answer = await context.sample({
    messages: [{ role: 'user', content: { type: 'text', text: [...books.values()].join('\n') } }],
    maxTokens: 100,
  });
  await context.log('info', { model: answer.model });
  const { content } = answer;
  const text = !Array.isArray(content) && content.type === 'text' ? content.text : 'no text';
  return `${text} (for ${root?.uri})`;
});

const client = await McpClient.inProcess(server, {
  roots: [{ uri: 'file:///home/ann', name: 'home' }],
  onSample: ({ messages }) => ({
    role: 'assistant',
    model: 'a model',
    content: { type: 'text', text: `${messages.length} message, summarized` },
  }),
  onNotification: ({ method, params }) => {
    if (method === 'notifications/message') console.log('log:', params?.level, params?.data);
  },
});
await client.setLogLevel('info');
const { messages } = await client.getPrompt('review', { title: 'dune' });
console.log(messages[0]?.content);
console.log((await client.readResource('library://books/emma')).contents);
console.log(
  await client.complete({
    ref: { type: 'ref/prompt', name: 'review' },
    argument: { name: 'title', value: 'd' },
  }),
);
console.log((await client.callTool('summarize')).content);
await client.close();
