// Answers every tool call under ids of its own invention before it gives the right answer, and gives that twice.
import { serve, text } from '../session-server.mjs';
import { refuse, send } from '../stateless-server.mjs';

serve({
  'tools/call': ({ id, params }) => {
    const wrong = text('an answer to something else');
    for (const other of [String(id), id + 0.5, id + 1000, -id, '', null, true, [id], { id }]) {
      send({ jsonrpc: '2.0', id: other, result: wrong });
    }
    send({ jsonrpc: '2.0', result: wrong });
    refuse(undefined, -32603, 'an error of nothing');
    const result = text(params.arguments.text);
    send({ jsonrpc: '2.0', id, result });
    send({ jsonrpc: '2.0', id, result: wrong });
  },
});
