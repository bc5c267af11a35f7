// Answers server/discover with an error, and exits.
import { flush, serve } from '../session-server.mjs';

serve({
  'server/discover': async ({ id }) => {
    const error = { code: -32600, message: 'initialize comes first' };
    await flush(process.stdout, `${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
    process.exit(1);
  },
});
