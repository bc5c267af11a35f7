// Writes 1 MiB to stderr before each reply, and waits until all of it is taken.
import { flush, serve } from '../session-server.mjs';

const noise = `${'noise '.repeat(10)}\n`.repeat(Math.ceil(2 ** 20 / 61));

serve({}, async (line) => {
  await flush(process.stderr, noise);
  await flush(process.stdout, line);
});
