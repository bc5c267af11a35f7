// Serves, and starts a child for each of its arguments — `plain`, `stubborn` (ignores SIGTERM), `detached` (in a session
// of its own) — which it leaves behind when its input ends. Their pids are on stderr: `plain 123`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { serve } from '../session-server.mjs';

for (const kind of process.argv.slice(2)) {
  const trap = kind === 'stubborn' ? "trap '' TERM;" : '';
  const child = spawn('/bin/sh', ['-c', `${trap} echo ready; exec sleep 300`], {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: kind === 'detached',
  });
  await once(child.stdout, 'data');
  child.stdout.destroy();
  child.unref();
  process.stderr.write(`${kind} ${child.pid}\n`);
}
serve();
