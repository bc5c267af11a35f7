// Answers a tool call with `arguments.size` characters and exits as soon as they have left it.
import { flush, serve, text } from '../session-server.mjs';

serve({
  'tools/call': async ({ id, params }) => {
    const result = text('x'.repeat(params.arguments.size));
    await flush(process.stdout, `${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
    process.exit(0);
  },
});
