// Takes 300 ms to leave after its input has ended, and says on stderr when a signal disturbs it.
import { serve } from '../session-server.mjs';

process.on('SIGTERM', () => process.stderr.write('disturbed by SIGTERM\n'));
process.stdin.on('end', () => setTimeout(() => process.stderr.write('left in peace\n'), 300));
serve();
