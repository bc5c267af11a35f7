import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { conclude, openContender } from '../measure.mjs';
import { contender, LARGE_CHARS } from './contenders.mjs';

const SERVER = fileURLToPath(new URL('../server.mjs', import.meta.url));
const BATCH = 20;
/** How many sessions or streams a server holds while its memory is read. */
const HELD = 500;

const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
const STATELESS_HEADERS = {
  ...JSON_HEADERS,
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'subscriptions/listen',
};
const STATELESS_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** What a server keeps for each client that does nothing, and what a large result takes at its height. */
export async function run(options) {
  // Sessions and streams are held against a rival's: no business of the gate, which knows the floor alone.
  if (options.gate) return peaks(options);
  const idle = { title: 'memory of an idle session by HTTP', id: 'memory-session', open: openSession };
  const listening = {
    title: 'memory of a stream that listens',
    id: 'memory-stream',
    open: openStream,
    note: STREAM_NOTE,
  };
  return [await held(idle, options), await held(listening, options), ...(await peaks(options))];
}

/** From heap snapshots of a server with 500 streams. */
const STREAM_NOTE =
  'Most of it is kept by node:http for any open answer, the floor of this row: socket, parser, request and response. ' +
  'For a POST with the headers and the body that open a subscription a bare server keeps 5.1 KiB. Of the rest, a stream ' +
  'of a session has the session itself (1.1 KiB), the headers it came with, what writes to it and a timer; a ' +
  'subscription has its request, the signal that tells of its end, and the promises between its handler and its answer.';

async function held({ id, title, open, note }, { rivals }) {
  const servers = [
    ['SDK v2, session', 'sdk-v2', 'session'],
    ['mcpwire, session', 'mcpwire', 'session'],
  ];
  if (open === openStream) {
    servers.push(
      ['SDK v2, stateless', 'sdk-v2', 'stateless'],
      ['mcpwire, stateless', 'mcpwire', 'stateless'],
    );
    servers.push(['floor, a bare stream of node:http', 'floor', 'streams']);
  }
  if (rivals) servers.push(['SDK v1, session', 'sdk-v1', 'session']);
  const samples = new Map();
  for (const [name, kind, dialect] of servers) {
    samples.set(name, [{ value: (await bytesHeld(kind, dialect, open, HELD)) / 1024 }]);
  }
  const row = {
    id,
    title,
    unit: 'KiB',
    better: 'lower',
    floor: 'SDK v2, session',
    against: 'memory of SDK v2',
    note,
  };
  const names = servers.map(([name]) => ({ name }));
  return conclude({ ...row, targets: [{ of: /^mcpwire/, bound: 0.25 }] }, names, samples);
}

/** Bytes a server keeps for each of many clients, once it has served a few. */
export async function bytesHeld(kind, dialect, open, count) {
  const execArgv = ['--expose-gc'];
  const child = fork(SERVER, [kind, 'http', dialect], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    execArgv,
  });
  const dispatcher = new Agent({ bodyTimeout: 0, headersTimeout: 0 });
  try {
    const [line] = await once(child.stdout, 'data');
    const url = String(line).trim();
    await openMany(() => open(url, dispatcher, dialect), BATCH * 2);
    const before = await memoryOf(child);
    await openMany(() => open(url, dispatcher, dialect), count);
    return ((await memoryOf(child)) - before) / count;
  } finally {
    child.disconnect();
    await Promise.all([dispatcher.destroy(), once(child, 'exit')]);
  }
}

async function openMany(open, count) {
  for (let opened = 0; opened < count; opened += BATCH)
    await Promise.all(Array.from({ length: BATCH }, open));
}

async function memoryOf(child) {
  child.send({ ask: 'memory' });
  const [{ heapUsed, external }] = await once(child, 'message');
  return heapUsed + external;
}

export async function openSession(url, dispatcher) {
  const clientInfo = { name: 'bench', version: '1.0.0' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const opened = await post(url, dispatcher, JSON_HEADERS, {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params,
  });
  const headers = {
    ...JSON_HEADERS,
    'mcp-session-id': opened.headers['mcp-session-id'],
    'mcp-protocol-version': '2025-11-25',
  };
  await opened.body.dump();
  const initialized = await post(url, dispatcher, headers, {
    jsonrpc: '2.0',
    method: 'notifications/initialized',
  });
  await initialized.body.dump();
  return headers;
}

async function openStream(url, dispatcher, dialect) {
  const stream = await STREAMS[dialect](url, dispatcher);
  if (stream.statusCode !== 200)
    throw new Error(`No stream: ${stream.statusCode} ${await stream.body.text()}`);
  stream.body.on('error', () => {}).resume();
}

const STREAMS = {
  session: async (url, dispatcher) => {
    const headers = { ...(await openSession(url, dispatcher)), accept: 'text/event-stream' };
    return request(url, { dispatcher, headers });
  },
  stateless: (url, dispatcher) => post(url, dispatcher, STATELESS_HEADERS, LISTEN),
  streams: (url, dispatcher) => request(url, { dispatcher }),
};

const LISTEN = {
  jsonrpc: '2.0',
  id: 1,
  method: 'subscriptions/listen',
  params: { notifications: { toolsListChanged: true }, _meta: STATELESS_META },
};

function post(url, dispatcher, headers, message) {
  return request(url, { dispatcher, method: 'POST', headers, body: JSON.stringify(message) });
}

/** At its height, in a process that has done little else. */
async function peaks({ rounds, rivals }) {
  const rows = [];
  for (const transport of ['stdio', 'http']) {
    const kinds = rivals ? ['floor', 'mcpwire', 'sdk-v1', 'sdk-v2'] : ['floor', 'mcpwire'];
    const contenders = kinds.map((kind) => contender(transport, kind, kind, 'session'));
    const samples = new Map(contenders.map(({ name }) => [name, []]));
    for (let round = 0; round < Math.min(rounds, 3); round++) {
      for (const each of contenders) {
        const { ask, close } = await openContender(each);
        samples.get(each.name).push(await ask('peak', LARGE_CHARS));
        await close();
      }
    }
    const row = {
      id: `peak-${transport}`,
      title: `${transport === 'http' ? 'HTTP' : transport}, memory of the client at its height for a result of 8 MiB`,
      unit: 'times the payload',
      better: 'lower',
      targets: [{ of: /^mcpwire/, bound: 4, absolute: true }],
    };
    rows.push(conclude(row, contenders, samples));
  }
  return rows;
}
