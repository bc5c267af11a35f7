// Exits with code 1 on server/discover, and with code 2 on initialize.
import { serve } from '../session-server.mjs';

const exit = (code, word) => () => {
  process.stderr.write(`${word}\n`);
  process.exit(code);
};
serve({ 'server/discover': exit(1, 'no discovery here'), initialize: exit(2, 'no initialize either') });
