// Does not answer server/discover, and says on stderr which methods it gets.
import { serve } from '../session-server.mjs';

process.stdin.on('data', (chunk) => {
  for (const [, method] of String(chunk).matchAll(/"method":"([^"]*)"/g))
    process.stderr.write(`got ${method}\n`);
});
serve({ 'server/discover': () => undefined });
