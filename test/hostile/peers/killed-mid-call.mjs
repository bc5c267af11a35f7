// Is killed by SIGKILL instead of answering a tool call.
import { serve } from '../session-server.mjs';

serve({ 'tools/call': () => void process.kill(process.pid, 'SIGKILL') });
