// Lists its tools in two pages; the cursor of the second is the empty string.
import { serve } from '../session-server.mjs';

const tool = (name) => ({ name, inputSchema: { type: 'object' } });
serve({
  'tools/list': ({ params }) =>
    params?.cursor === '' ? { tools: [tool('second')] } : { tools: [tool('first')], nextCursor: '' },
});
