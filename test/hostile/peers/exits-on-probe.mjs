// Exits with code 1 and a word on stderr when anything but initialize comes first.
import { serve } from '../session-server.mjs';

serve({
  'server/discover': () => {
    process.stderr.write('expected initialize\n');
    process.exit(1);
  },
});
