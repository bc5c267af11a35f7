// Closes its stdout instead of answering a tool call, and runs on whatever happens to its input.
import { closeSync } from 'node:fs';
import { serve, stayAlive } from '../session-server.mjs';

stayAlive();
serve({ 'tools/call': () => closeSync(1) });
