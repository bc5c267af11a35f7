// Declares every list there is, and knows none of them.
import { serve } from '../session-server.mjs';
import { refuse } from '../stateless-server.mjs';

const unknown = ({ id, method }) => refuse(id, -32601, `Method not found: ${method}`);
serve({
  initialize: ({ params }) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true } },
    serverInfo: { name: 'hostile', version: '1.0.0' },
  }),
  'tools/list': unknown,
  'prompts/list': unknown,
  'resources/list': unknown,
  'resources/templates/list': unknown,
});
