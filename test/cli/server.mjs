// A server for the command line's tests: one tool for each thing a tool can do.
import { serve, text } from '../hostile/session-server.mjs';

console.error(`server ${process.pid} starts`);

const object = (properties = {}) => ({ type: 'object', properties });
const TOOLS = [
  {
    name: 'echo',
    description: 'Gives back its arguments\nas JSON',
    inputSchema: {
      ...object({
        text: { type: 'string' },
        count: { type: 'integer' },
        ratio: { type: 'number' },
        flag: { type: 'boolean' },
        list: { type: 'array' },
        map: { type: 'object' },
        either: { anyOf: [{ type: 'number' }, { type: 'null' }, { type: 'string' }] },
        choice: { enum: ['a', 'b'] },
      }),
      required: ['text'],
    },
  },
  { name: 'fail', inputSchema: object() },
  { name: 'hang', inputSchema: object() },
  { name: 'refuse', inputSchema: object() },
  { name: 'big', description: 'x'.repeat(2_000_000), inputSchema: object() },
  { name: 'escape', inputSchema: object() },
];

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

const CALLS = {
  echo: ({ params }) => text(JSON.stringify(params.arguments)),
  fail: () => ({ ...text('the tool failed'), isError: true }),
  hang: () => {
    console.error('hanging');
  },
  refuse: ({ id }) => send({ id, error: { code: -32603, message: 'no such luck' } }),
  escape: () => text('\u001b[31mred'),
  big: ({ params }) => {
    const { progressToken } = params._meta ?? {};
    if (progressToken !== undefined) {
      send({
        method: 'notifications/progress',
        params: { progressToken, progress: 1, total: 2, message: 'half' },
      });
    }
    send({ method: 'notifications/message', params: { level: 'warning', data: 'big one' } });
    return text('y'.repeat(3_000_000));
  },
};

serve({
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': (request) => CALLS[request.params.name](request),
});
