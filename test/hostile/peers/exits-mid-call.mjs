// Exits with code 7 and a few words on stderr instead of answering a tool call.
import { serve } from '../session-server.mjs';

serve({
  'tools/call': () => {
    process.stderr.write('warming up\nout of cheese\n');
    process.exit(7);
  },
});
