// Plays with versions as its argument says.
import { serve } from '../session-server.mjs';
import { refuse, stateless, unsupported } from '../stateless-server.mjs';

const initialized = (protocolVersion) => () => ({ protocolVersion, capabilities: { tools: {} } });
const discovered = (...supportedVersions) => ({ ...stateless['server/discover'](), supportedVersions });
let isInitialized = false;

const GAMES = {
  'initialize-unknown': { initialize: initialized('2199-01-01') },
  'initialize-stateless': { initialize: initialized('2026-07-28') },
  'initialize-number': { initialize: initialized(20251125) },
  'initialize-nothing': { initialize: () => ({}) },
  'discover-session-only': { 'server/discover': () => discovered('2025-06-18', '2024-11-05') },
  'discover-unknown': { 'server/discover': () => discovered('2199-01-01') },
  'discover-nothing': { 'server/discover': () => discovered() },
  'discover-nonsense': { 'server/discover': () => discovered(null, 7, {}, '2026-07-28') },
  // It speaks stateless until the first real request, which tells that it does not.
  'request-session-only': {
    'server/discover': () => discovered('2026-07-28'),
    initialize: ({ params }) => {
      isInitialized = true;
      return initialized(params.protocolVersion)();
    },
    'tools/list': ({ id }) =>
      isInitialized
        ? { tools: [{ name: 'late', inputSchema: { type: 'object' } }] }
        : unsupported(id, ['2025-11-25']),
  },
  'request-same-version': {
    ...stateless,
    'tools/list': ({ id }) => unsupported(id, ['2026-07-28']),
  },
  // It is too slow for the probe, and refuses initialize with the version that it wants.
  'initialize-refused': {
    'server/discover': () => undefined,
    initialize: ({ id }) => unsupported(id, ['2026-07-28']),
  },
  'initialize-refused-without-list': {
    'server/discover': () => undefined,
    initialize: ({ id }) => refuse(id, -32022, 'Unsupported protocol version'),
  },
};

serve(GAMES[process.argv[2]]);
