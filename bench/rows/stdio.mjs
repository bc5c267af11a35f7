import { race } from '../measure.mjs';
import { contender, LARGE_CHARS } from './contenders.mjs';

/** Calls over standard streams, client and server of one make, each a process. */
export async function run({ rounds, ms, rivals }) {
  const both = (kind) => ['session', 'stateless'].map((dialect) => contender('stdio', kind, kind, dialect));
  const contenders = [...both('floor'), ...both('mcpwire')];
  if (rivals) {
    contenders.push(contender('stdio', 'sdk-v1', 'sdk-v1', 'session'), ...both('sdk-v2'));
    contenders.push({
      ...contender('stdio', 'floor', 'tmcp', 'session'),
      name: 'tmcp, under the floor client',
    });
    contenders.push({
      ...contender('stdio', 'ai-sdk', 'floor', 'session'),
      name: '@ai-sdk/mcp, on the floor server',
    });
  }
  const rows = [
    {
      id: 'stdio-sequential',
      title: 'stdio, one call after the other, median',
      unit: 'µs',
      better: 'lower',
      work: 'sequential',
      args: [ms],
      warmUp: [[ms], [ms]],
      targets: [{ of: /^mcpwire/, bound: 1.5 }],
    },
    {
      id: 'stdio-64',
      title: 'stdio, 64 calls in flight',
      unit: 'calls/s',
      better: 'higher',
      work: 'inFlight',
      args: [ms, 64],
      warmUp: [
        [ms, 64],
        [ms, 64],
      ],
      targets: [
        { of: /^mcpwire/, bound: 0.5 },
        { of: /^mcpwire/, versus: /^SDK v2/, bound: 4 },
      ],
    },
    {
      id: 'stdio-progress',
      title: 'stdio, 5,000 progress notifications before a result',
      unit: 'notifications/s',
      better: 'higher',
      work: 'progress',
      args: [ms, 5000],
      only: ({ client }) => client !== 'ai-sdk',
      targets: [{ of: /^mcpwire/, bound: 0.5, lost: 0 }],
    },
    {
      id: 'stdio-large',
      title: 'stdio, a text result of 8 MiB',
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
