// Answers a tool call with progress that never ends; on a cancellation it says so on stderr.
import { createInterface } from 'node:readline';
import { serve } from '../session-server.mjs';
import { send } from '../stateless-server.mjs';

let timer;
createInterface({ input: process.stdin })
  .on('line', (line) => {
    if (JSON.parse(line).method !== 'notifications/cancelled') return;
    clearInterval(timer);
    process.stderr.write('cancelled\n');
  })
  .on('close', () => clearInterval(timer));

serve({
  'tools/call': ({ params }) => {
    let progress = 0;
    timer = setInterval(() => {
      const { progressToken } = params._meta;
      send({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress: ++progress },
      });
    }, 10);
  },
});
