// Answers a tool call, then closes its stdin and runs on.
import { closeSync } from 'node:fs';
import { serve, stayAlive, text } from '../session-server.mjs';

stayAlive();
serve({
  'tools/call': () => {
    process.stdin.destroy();
    closeSync(0);
    return text('closed');
  },
});
