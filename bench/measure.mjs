// Contenders side by side: each is a process of its own, and they take turns, so that whatever else the machine does
// falls on all of them alike.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const OPEN_MS = 30_000;
const WORK_MS = 60_000;

/**
 * Opens contenders, compares what they answer, and measures each row by turns.
 *
 * A contender is `{ name, client, server, transport, dialect, floor }`, `floor` the name of the one it is a ratio to.
 */
export async function race(contenders, rows, { rounds, compare = 0 }) {
  const open = [];
  try {
    for (const contender of contenders) open.push(await openContender(contender));
    for (const { ask } of open) await ask('compare', compare);
    const results = [];
    for (const row of rows) results.push(await raceRow(open, row, rounds));
    return results;
  } finally {
    await Promise.all(open.map(({ close }) => close()));
  }
}

async function raceRow(open, row, rounds) {
  const taking = open.filter(({ contender }) => row.only?.(contender) ?? true);
  const samples = new Map(taking.map(({ contender }) => [contender.name, []]));
  for (const { ask } of taking) for (const args of row.warmUp ?? [row.args]) await ask(row.work, ...args);
  for (let round = 0; round < rounds; round++) {
    // Every other round runs backwards: who comes first changes.
    for (const { contender, ask } of round % 2 === 0 ? taking : taking.toReversed()) {
      samples.get(contender.name).push(await ask(row.work, ...row.args));
    }
  }
  return conclude(
    row,
    taking.map(({ contender }) => contender),
    samples,
  );
}

/** Medians, and the ratios to the floor of the same round with their quartiles. */
export function conclude(row, contenders, samples) {
  const results = contenders.map(({ name, floor = row.floor }) => {
    const own = samples.get(name);
    const base = samples.get(floor);
    const result = { name, floor, ...spread(own.map(({ value }) => value)) };
    if (own.some(({ lost }) => lost > 0)) result.lost = median(own.map(({ lost }) => lost));
    if (own.every(({ cpuMs }) => cpuMs !== undefined)) result.cpuMs = median(own.map(({ cpuMs }) => cpuMs));
    if (!base) return result;
    const ratio = spread(own.map(({ value }, round) => value / base[round].value));
    ratio.median = result.median / median(base.map(({ value }) => value));
    result.ratio = ratio;
    const cpu = median(own.map((sample) => sample.cpu ?? Number.NaN));
    const baseCpu = median(base.map((sample) => sample.cpu ?? Number.NaN));
    if (cpu > 0 && baseCpu > 0) result.cpuRatio = row.better === 'higher' ? baseCpu / cpu : cpu / baseCpu;
    return result;
  });
  return { ...row, results };
}

export async function openContender(contender) {
  const program = fileURLToPath(new URL(`${contender.program ?? 'contender'}.mjs`, import.meta.url));
  const child = fork(program, [JSON.stringify(contender)]);
  const ask = async (work, ...args) => {
    child.send({ work, args });
    const { value, error } = await reply(child, contender, work, WORK_MS);
    if (error !== undefined) throw new Error(`"${contender.name}" cannot do "${work}": ${error}`);
    return value;
  };
  const close = async () => {
    if (child.exitCode !== null || !child.connected) return;
    const exited = once(child, 'exit');
    child.send({ work: 'close' });
    const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
    await exited;
    clearTimeout(timer);
  };
  await reply(child, contender, 'open', OPEN_MS);
  return { contender, ask, close };
}

async function reply(child, { name }, work, ms) {
  const over = new AbortController();
  const { signal } = over;
  try {
    const [message] = await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(() => fail(`"${name}" ended on "${work}"`)),
      once(AbortSignal.timeout(ms), 'abort', { signal }).then(() =>
        fail(`"${name}" took more than ${ms} ms for "${work}"`),
      ),
    ]);
    return message;
  } finally {
    over.abort();
  }
}

function fail(message) {
  throw new Error(message);
}

export function median(values) {
  return quantile(values, 0.5);
}

/** Median and quartiles. */
export function spread(values) {
  return { median: median(values), low: quantile(values, 0.25), high: quantile(values, 0.75) };
}

function quantile(values, at) {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * at;
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}
