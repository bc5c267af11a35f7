// Lists its tools in pages without end, each with a cursor of its own.
import { serve } from '../session-server.mjs';

let page = 0;
serve({ 'tools/list': () => ({ tools: [], nextCursor: `page ${++page}` }) });
