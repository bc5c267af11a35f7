// Serves, but runs on when its input ends and after every signal that can be ignored; it says on stderr which it got.
import { serve, stayAlive } from '../session-server.mjs';

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  process.on(signal, () => process.stderr.write(`ignored ${signal}\n`));
}
stayAlive();
serve();
