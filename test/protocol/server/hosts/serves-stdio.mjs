// A server on its standard streams with tools that do what servers should not: print, take their time, linger.
import { setTimeout as delay } from 'node:timers/promises';
import { McpServer, serveStdio } from '../../../../dist/protocol/index.js';

const server = new McpServer({ name: 'stdio', version: '1.0.0' });
const anything = { type: 'object' };

server.tool({ name: 'echo', inputSchema: anything }, ({ text }) => text);
server.tool({ name: 'mirror', inputSchema: anything }, (structuredContent) => ({
  content: [],
  structuredContent,
}));
server.tool({ name: 'slow', inputSchema: anything }, async ({ ms }, { signal }) => {
  await delay(ms, undefined, { signal });
  return 'done';
});
server.tool(
  { name: 'checked', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } },
  ({ text }) => text,
);
server.tool({ name: 'big', inputSchema: anything }, ({ chars }) => 'x'.repeat(chars));
server.tool({ name: 'print', inputSchema: anything }, () => {
  console.log('printed by log');
  console.info('printed by info');
  console.debug('printed by debug');
  console.table([{ printed: 'by table' }]);
  console.dir({ printed: 'by dir' });
  return 'printed';
});
server.tool({ name: 'linger', inputSchema: anything }, () => {
  setInterval(() => {}, 1000);
  return 'will not go by myself';
});
server.tool({ name: 'ask', inputSchema: anything }, async (_args, context) => {
  const { action } = await context.elicit({
    message: '?',
    requestedSchema: { type: 'object', properties: {} },
  });
  return action;
});

const stdio = serveStdio(server);
await stdio.waiting();
process.stderr.write('ended\n');
