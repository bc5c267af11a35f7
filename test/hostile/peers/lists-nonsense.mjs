// Lists values that are no tools among two that are, and a name twice.
import { serve } from '../session-server.mjs';

const inputSchema = { type: 'object' };
serve({
  'tools/list': () => ({
    tools: [
      null,
      'echo',
      [],
      { name: 7, inputSchema },
      { name: 'no-schema' },
      { name: 'bad-schema', inputSchema: true },
      { name: 'twice', description: 'first', inputSchema },
      { name: '__proto__', description: { not: 'text' }, annotations: 'none', outputSchema: 3, inputSchema },
      { name: 'twice', description: 'second', inputSchema },
    ],
  }),
});
