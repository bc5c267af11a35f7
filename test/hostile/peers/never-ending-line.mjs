// Answers a tool call with a line that never ends, as fast as it is read, until its input ends.
import { flush, serve } from '../session-server.mjs';

process.stdin.on('end', () => process.exit(0));
serve({
  'tools/call': async () => {
    const piece = 'x'.repeat(64 * 1024);
    for (;;) await flush(process.stdout, piece);
  },
});
