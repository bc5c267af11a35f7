// One contender as a process of its own: a client and, where there is a wire, the server it talks to as its child. It
// does what the runner asks for, one piece of work at a time, and stays idle in between.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { largeText } from './texts.mjs';

const SERVER = fileURLToPath(new URL('server.mjs', import.meta.url));
const { client: clientKind, server: serverKind, transport, dialect, pooling } = JSON.parse(process.argv[2]);
const { openStdio, openHttp, openInProcess } = await import(`./clients/${clientKind}.mjs`);

const WORKS = { compare, sequential, inFlight, progress, large, peak };
const { client, serverPid, close } = await open();
process.on('message', async ({ work, args }) => {
  if (work === 'close') {
    await close();
    process.exit();
  }
  try {
    process.send({ value: await WORKS[work](...args) });
  } catch (error) {
    process.send({ error: error.stack ?? String(error) });
  }
});
process.once('disconnect', () => process.exit());
process.send('ready');

async function open() {
  if (transport === 'in-process') {
    const opened = await openInProcess({ dialect });
    return { client: opened, serverPid: undefined, close: () => opened.close() };
  }
  if (transport === 'http') {
    const child = fork(SERVER, [serverKind, 'http', dialect], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    const [line] = await once(child.stdout, 'data');
    const opened = await openHttp({ url: String(line).trim(), dialect, pooling });
    const end = async () => {
      child.disconnect();
      await Promise.race([opened.close(), new Promise((resolve) => setTimeout(resolve, 500))]);
    };
    return { client: opened, serverPid: child.pid, close: end };
  }
  const folder = mkdtempSync(join(tmpdir(), 'mcpwire-bench-'));
  const pidFile = join(folder, 'pid');
  const args = [...process.execArgv, SERVER, serverKind, 'stdio', dialect, pidFile];
  const opened = await openStdio({ command: process.execPath, args, dialect });
  // A client may start a server to probe it and another to talk to: the one that answers counts.
  await opened.echo('');
  const end = async () => {
    await opened.close();
    rmSync(folder, { recursive: true });
  };
  return { client: opened, serverPid: Number(readFileSync(pidFile, 'utf8')), close: end };
}

async function compare(chars) {
  const text = 'Grüße, "world"\n';
  assertText(await client.echo(text), text);
  if (chars > 0) assertText(await client.large(chars), largeText(chars));
}

function assertText(content, text) {
  if (!isDeepStrictEqual(content, [{ type: 'text', text }])) {
    throw new Error(`Another answer than expected: ${JSON.stringify(content).slice(0, 200)}`);
  }
}

/** One call after the other: how long the median one takes, in microseconds. */
async function sequential(ms) {
  const took = [];
  const cpu = startCpu();
  const end = performance.now() + ms;
  let before = performance.now();
  while (before < end) {
    await client.echo('hello');
    const now = performance.now();
    took.push(now - before);
    before = now;
  }
  took.sort((a, b) => a - b);
  return { value: took[took.length >> 1] * 1000, cpu: cpu() / took.length };
}

/** As many calls at once all the time: how many end in a second. */
async function inFlight(ms, width) {
  const cpu = startCpu();
  const start = performance.now();
  const end = start + ms;
  let calls = 0;
  const lane = async () => {
    while (performance.now() < end) {
      await client.echo('hello');
      calls++;
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return { value: (calls / (performance.now() - start)) * 1000, cpu: cpu() / calls };
}

/** How many notifications are read in a second, and how many had not come when the result did. */
async function progress(ms, steps) {
  const cpu = startCpu();
  const start = performance.now();
  let sent = 0;
  let heard = 0;
  while (performance.now() - start < ms || sent === 0) {
    let count = 0;
    await client.work(steps, () => count++);
    heard += count;
    sent += steps;
  }
  return { value: (heard / (performance.now() - start)) * 1000, cpu: cpu() / heard, lost: 1 - heard / sent };
}

/** How long a large result takes, in milliseconds. */
async function large(chars) {
  const cpu = startCpu();
  const start = performance.now();
  await client.large(chars);
  return { value: performance.now() - start, cpu: cpu() };
}

/** How much memory the process takes at most beyond what it has, as a multiple of a large result: the client's side. */
async function peak(chars) {
  for (let count = 0; count < 200; count++) await client.echo('hello');
  forgetPeak();
  const before = process.memoryUsage().rss;
  await client.large(chars);
  return { value: (process.resourceUsage().maxRSS * 1024 - before) / chars };
}

/** Loading the program may have taken more than the result does: the height counts from here on. Linux alone. */
function forgetPeak() {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // Elsewhere the height of the whole life counts, which is no less.
  }
}

/** Starts counting the processor time of both sides; returns what tells it, in microseconds. Linux alone. */
function startCpu() {
  const now = () => cpuOf(process.pid) + (serverPid === undefined ? 0 : cpuOf(serverPid));
  const before = now();
  return () => now() - before;
}

function cpuOf(pid) {
  let nanoseconds = 0;
  try {
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    }
  } catch {
    // A thread that has just ended, or no Linux: then there is no such number.
    return Number.NaN;
  }
  return nanoseconds / 1000;
}
