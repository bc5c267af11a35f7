// Speaks the stateless dialect, and sends requests all the same. The tool `echo` tells what it was answered.
import { createInterface } from 'node:readline';
import { serve, text } from '../session-server.mjs';
import { send, stateless } from '../stateless-server.mjs';

const answers = [];
createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.method === undefined) answers.push(message);
});
serve({
  ...stateless,
  'tools/list': () => {
    for (const method of ['ping', 'roots/list', 'sampling/createMessage'])
      send({ jsonrpc: '2.0', id: method, method });
    return { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] };
  },
  'tools/call': () => text(JSON.stringify(answers)),
});
