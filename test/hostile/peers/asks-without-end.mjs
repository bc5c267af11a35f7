// Speaks the stateless dialect, and answers every tool call with a question, or, with the argument "state", with nothing
// but a state to come back with.
import { serve } from '../session-server.mjs';
import { stateless } from '../stateless-server.mjs';

let rounds = 0;
const question = {
  method: 'elicitation/create',
  params: { message: 'More?', requestedSchema: { type: 'object', properties: {} } },
};
serve({
  ...stateless,
  'tools/call': () => {
    process.stderr.write(`round ${++rounds}\n`);
    return process.argv[2] === 'state'
      ? { resultType: 'input_required', requestState: `round ${rounds}` }
      : { resultType: 'input_required', inputRequests: { more: question } };
  },
});
