// Answers server/discover as its argument says: with an error under another id, without an id, or with a code that means
// nothing, or with a result that is no discovery.
import { serve } from '../session-server.mjs';
import { refuse, send } from '../stateless-server.mjs';

const error = { code: -32601, message: 'Method not found' };
const ANSWERS = {
  'code-as-id': () => refuse(-32603, 0, 'Unknown method'),
  'string-id': (id) => refuse(String(id), -32601, 'Method not found'),
  'null-id': () => refuse(null, -32600, 'Invalid request'),
  'no-id': () => send({ jsonrpc: '2.0', error }),
  'no-jsonrpc': (id) => send({ id, error }),
  'code-zero': (id) => refuse(id, 0, 'Unknown method'),
  'code-as-string': (id) => refuse(id, '-32601', 'Method not found'),
  'no-message': (id) => send({ jsonrpc: '2.0', id, error: { code: -32601 } }),
  'error-as-string': (id) => send({ jsonrpc: '2.0', id, error: 'Method not found' }),
  'result-and-error': (id) => send({ jsonrpc: '2.0', id, result: {}, error }),
  'null-result': (id) => send({ jsonrpc: '2.0', id, result: null }),
  'empty-result': (id) => send({ jsonrpc: '2.0', id, result: {} }),
  'tool-result': (id) =>
    send({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'Unknown' }], isError: true } }),
  batch: (id) => send([{ jsonrpc: '2.0', id, error }]),
};

serve({ 'server/discover': ({ id }) => ANSWERS[process.argv[2]](id) });
