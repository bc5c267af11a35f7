// Speaks the stateless dialect, and answers tool calls with a result of a type that nobody knows.
import { serve, text } from '../session-server.mjs';
import { stateless } from '../stateless-server.mjs';

serve({ ...stateless, 'tools/call': () => ({ resultType: 'task', ...text('not to be read') }) });
