import { race } from '../measure.mjs';
import { contender, LARGE_CHARS, poolingContender } from './contenders.mjs';

/** Calls by HTTP: both ends of one make, servers under a bare client, clients on a bare server, ways of pooling. */
export async function run(options) {
  return [
    ...(await bothEnds(options)),
    ...(await servers(options)),
    ...(await clients(options)),
    ...(await pooling(options)),
  ];
}

const DIALECTS = ['session', 'stateless'];
const FLOORS = DIALECTS.map((dialect) => contender('http', 'floor', 'floor', dialect));

function inFlight(ms, more) {
  const args = [ms, 64];
  return { unit: 'requests/s', better: 'higher', work: 'inFlight', args, warmUp: [args, args], ...more };
}

function bothEnds({ rounds, ms, rivals }) {
  const both = (kind) => DIALECTS.map((dialect) => contender('http', kind, kind, dialect));
  const contenders = [...FLOORS, ...both('mcpwire')];
  if (rivals) contenders.push(contender('http', 'sdk-v1', 'sdk-v1', 'session'), ...both('sdk-v2'));
  const rows = [
    {
      id: 'http-sequential',
      title: 'HTTP, one call after the other, median',
      unit: 'µs',
      better: 'lower',
      work: 'sequential',
      args: [ms],
      warmUp: [[ms], [ms]],
      targets: [{ of: /^mcpwire/, bound: 1.6 }],
    },
    inFlight(ms, {
      id: 'http-64',
      title: 'HTTP, 64 calls in flight',
      targets: [
        { of: /^mcpwire/, bound: 0.6 },
        { of: /^mcpwire/, versus: /^SDK v2/, bound: 4.5 },
      ],
    }),
    {
      id: 'http-large',
      title: 'HTTP, a text result of 8 MiB',
      unit: 'ms',
      better: 'lower',
      work: 'large',
      args: [LARGE_CHARS],
      warmUp: [[LARGE_CHARS], [LARGE_CHARS]],
      targets: [{ of: /^mcpwire/, bound: 1.2 }],
    },
  ];
  return race(contenders, rows, { rounds, compare: LARGE_CHARS });
}

function servers({ rounds, ms, rivals }) {
  const of = (server, dialects = DIALECTS) =>
    dialects.map((dialect) => contender('http', 'floor', server, dialect));
  const contenders = [...FLOORS, ...of('mcpwire')];
  if (rivals) {
    contenders.push(
      ...of('sdk-v1', ['session']),
      ...of('sdk-v2'),
      ...of('tmcp'),
      ...of('mcp-lite', ['session']),
    );
  }
  const row = inFlight(ms, {
    id: 'http-server',
    title: 'HTTP server under the bare client, 64 in flight',
    targets: [
      { of: /^mcpwire/, bound: 0.8 },
      { of: /^mcpwire/, versus: /^SDK v2/, bound: 4 },
    ],
  });
  return race(contenders, [row], { rounds });
}

function clients({ rounds, ms, rivals }) {
  const of = (client, dialects = DIALECTS) =>
    dialects.map((dialect) => contender('http', client, 'floor', dialect));
  const contenders = [...FLOORS, ...of('mcpwire')];
  if (rivals) contenders.push(...of('sdk-v1', ['session']), ...of('sdk-v2'), ...of('ai-sdk', ['session']));
  const row = inFlight(ms, {
    id: 'http-client',
    title: 'HTTP client on the bare server, 64 in flight',
    targets: [
      { of: /^mcpwire/, bound: 0.7 },
      { of: /^mcpwire/, versus: /^SDK v2/, bound: 4 },
    ],
  });
  return race(contenders, [row], { rounds });
}

/** What `pooling: 'auto'` finds out by itself, against who was told: on a server that stalls used connections, and on one that does not. */
async function pooling({ rounds, ms }) {
  const on = (server, floor, bound) => {
    const contenders = ['auto', true, false].map((mode) => poolingContender(server, mode, floor));
    const row = {
      id: `http-pooling-${server}`,
      title: `HTTP, one call after the other on a server that ${server === 'stalling' ? 'stalls used connections' : 'does not stall'}, median`,
      unit: 'µs',
      better: 'lower',
      against: `same with ${floor ? 'used' : 'fresh'} connections`,
      work: 'sequential',
      args: [ms],
      // Time to notice what the server does.
      warmUp: [[ms * 3]],
      targets: [{ of: /auto/, bound }],
    };
    return race(contenders, [row], { rounds });
  };
  return [...(await on('stalling', false, 2)), ...(await on('floor', true, 1.1))];
}
