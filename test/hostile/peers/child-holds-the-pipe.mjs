// Exits with code 0 instead of answering a tool call, and leaves a child in a session of its own that holds its stdout
// and stderr open. The child's pid is on stderr: `child 123`.
import { spawn } from 'node:child_process';
import { flush, serve } from '../session-server.mjs';

serve({
  'tools/call': async () => {
    const child = spawn('sleep', ['300'], { stdio: ['ignore', 'inherit', 'inherit'], detached: true });
    await flush(process.stderr, `child ${child.pid}\n`);
    process.exit(0);
  },
});
