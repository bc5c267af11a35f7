// Sends requests, with ids of every kind, and notifications before it answers initialize, says that its tools have
// changed as soon as it is initialized, and tells in the tool `echo` what it was answered.
import { createInterface } from 'node:readline';
import { serve, text } from '../session-server.mjs';
import { send } from '../stateless-server.mjs';

const answers = {};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, result, error } = JSON.parse(line);
  if (method === 'notifications/initialized')
    send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  if (method === undefined) answers[`${typeof id} ${id}`] = error ? error.code : result;
});

serve({
  initialize: ({ params }) => {
    send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'starting' } });
    send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    send({ jsonrpc: '2.0', id: 'ping-1', method: 'ping' });
    send({ jsonrpc: '2.0', id: 0, method: 'ping', params: {} });
    send({ jsonrpc: '2.0', id: '', method: 'roots/list' });
    send({ jsonrpc: '2.0', id: -1, method: 'no/such/method', params: { a: 1 } });
    return { protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true } } };
  },
  'tools/call': () => text(JSON.stringify(answers)),
});
