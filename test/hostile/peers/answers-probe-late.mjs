// Answers server/discover only after initialize, with all a server of the stateless dialect would say.
import { serve } from '../session-server.mjs';
import { send, stateless } from '../stateless-server.mjs';

let probe;
serve({
  'server/discover': (request) => {
    probe = request;
  },
  initialize: ({ params }) => {
    send({ jsonrpc: '2.0', id: probe.id, result: stateless['server/discover']() });
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} } };
  },
});
