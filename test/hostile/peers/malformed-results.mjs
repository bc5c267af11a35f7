// Answers a tool call with what its argument says: none of it is a tool's result.
import { serve } from '../session-server.mjs';
import { send } from '../stateless-server.mjs';

const ANSWERS = {
  'content-as-text': { result: { content: 'text' } },
  'content-as-object': { result: { content: { type: 'text', text: 'x' } } },
  'no-result': { result: null },
  'array-result': { result: [] },
  'text-result': { result: 'done' },
  'odd-blocks': {
    result: { content: [null, 7, {}, { type: 'text' }, { type: 'image', data: 1 }, { type: '__proto__' }] },
  },
  'odd-error': { error: { code: 'E_FAIL', message: 5 } },
  'no-error': { error: null },
  'is-error-without-content': { result: { isError: true } },
  'is-error-as-text': { result: { content: [], isError: 'yes' } },
};

serve({
  'tools/call': ({ id, params }) => send({ jsonrpc: '2.0', id, ...ANSWERS[params.arguments.answer] }),
});
