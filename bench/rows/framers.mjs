import { race } from '../measure.mjs';

const SHAPES = {
  'small messages, chunks of 4 KiB': { messageChars: 100, count: 5000, chunkBytes: 4096 },
  'large messages, chunks of 4 KiB': { messageChars: 65_536, count: 50, chunkBytes: 4096 },
  'small messages, chunks of 1 byte': { messageChars: 100, count: 500, chunkBytes: 1 },
  'large messages, chunks of 1 byte': { messageChars: 65_536, count: 3, chunkBytes: 1 },
};
const LONG_LINE = { messageChars: 8 * 1024 * 1024, count: 1, chunkBytes: 4096 };

/** How fast bytes become messages. */
export async function run({ rounds, ms, rivals }) {
  const reader = (kind, name, more) => ({ program: 'task', kind, name, floor: 'split and parse', ...more });
  const lines = [
    reader('lines', 'split and parse', { reader: 'floor' }),
    reader('lines', 'mcpwire', { reader: 'mcpwire' }),
  ];
  if (rivals) lines.push(reader('lines', 'SDK v2', { reader: 'sdk-v2' }));
  const events = [
    reader('events', 'split and parse', { reader: 'floor' }),
    reader('events', 'mcpwire', { reader: 'mcpwire' }),
    reader('events', 'eventsource-parser', { reader: 'eventsource-parser' }),
  ];
  const rowsOf = (id, title, targets) =>
    Object.entries(SHAPES).map(([shape, of], at) => ({
      id: `${id}-${at}`,
      title: `${title}, ${shape}`,
      unit: 'MB/s',
      better: 'higher',
      work: 'frame',
      args: [ms, of],
      targets,
    }));
  const long = {
    id: 'lines-long',
    title: 'line framer, a line of 8 MiB in chunks of 4 KiB',
    unit: 'ms',
    better: 'lower',
    work: 'time',
    args: [LONG_LINE],
    targets: [{ of: /^mcpwire/, bound: 30, absolute: true }],
  };
  const versusParser = { of: /^mcpwire/, versus: /^eventsource-parser/, bound: 1 };
  const atFloor = { of: /^mcpwire/, bound: 0.8 };
  return [
    ...(await race(lines, [...rowsOf('lines', 'line framer', [atFloor]), long], { rounds })),
    ...(await race(events, rowsOf('events', 'SSE framer', [versusParser, atFloor]), { rounds })),
  ];
}
