// Lists its tools in pages whose cursors go round and round.
import { serve } from '../session-server.mjs';

const NEXT = { undefined: 'a', a: 'b', b: 'c', c: 'a' };
serve({
  'tools/list': ({ params }) => {
    const { cursor } = params ?? {};
    process.stderr.write(`page ${cursor}\n`);
    return { tools: [{ name: `tool-${cursor}`, inputSchema: { type: 'object' } }], nextCursor: NEXT[cursor] };
  },
});
