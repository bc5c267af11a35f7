// A server of both dialects over stdio, with tools that answer in every way there is. What they do is noted in the file
// that the first argument names.
import { appendFileSync } from 'node:fs';
import { McpServer, serveStdio } from '../../../dist/protocol/index.js';

const server = new McpServer({ name: 'tools', version: '1.0.0', pageSize: 2 });
const anything = { type: 'object' };
const [journal] = process.argv.slice(2);
const note = (line) => journal && appendFileSync(journal, `${line}\n`);

server.tool({ name: 'echo', description: 'Says it again', inputSchema: anything }, (args) =>
  JSON.stringify(args),
);
server.tool({ name: 'add', inputSchema: anything }, ({ a, b }) => String(a + b));
server.tool({ name: 'fail', inputSchema: anything }, () => {
  throw new Error('no luck');
});
server.tool({ name: 'big', inputSchema: anything }, ({ chars }) => 'x'.repeat(chars));
server.tool({ name: 'exit', inputSchema: anything }, () => process.exit(7));
server.tool({ name: 'ask', inputSchema: anything }, async (_args, context) => {
  const question = { message: '?', requestedSchema: { type: 'object', properties: {} } };
  return (await context.elicit(question)).action;
});
server.tool({ name: 'wait', inputSchema: anything }, (_args, { signal }) => {
  note('waiting');
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      note('cancelled');
      reject(signal.reason);
    });
  });
});
server.tool({ name: 'note', inputSchema: anything }, async ({ text, ms = 0 }) => {
  note(`${text} begins`);
  await new Promise((resolve) => setTimeout(resolve, ms));
  note(`${text} ends`);
  return text;
});

serveStdio(server);
