import { openContender } from '../measure.mjs';
import { contender } from './contenders.mjs';
import { bytesHeld, openSession } from './memory.mjs';

const MEBIBYTE = 1024 * 1024;

/** How cost grows with what a peer can make large: a series each, and the exponent that fits it. */
export async function run({ rounds }) {
  return [await messageSize(rounds), await tools(), await sessions(), await callsInFlight(rounds)];
}

async function messageSize(rounds) {
  const { ask, close } = await openContender(contender('stdio', 'mcpwire', 'mcpwire', 'stateless'));
  const points = [];
  for (const size of [1, 2, 4, 8, 16]) {
    await ask('large', size * MEBIBYTE);
    points.push([size, await best(rounds, () => ask('large', size * MEBIBYTE))]);
  }
  await close();
  return series(
    { id: 'growth-size', title: 'time of a text result over stdio', unit: 'ms', of: 'MiB' },
    points,
  );
}

async function tools() {
  const points = [];
  for (const count of [250, 500, 1000, 2000, 4000]) {
    const measure = async () => {
      const each = { name: 'discovery', program: 'task', kind: 'discovery', reader: 'mcpwire' };
      const { ask, close } = await openContender(each);
      const result = await ask('discover', count);
      await close();
      return result;
    };
    points.push([count, await best(3, measure)]);
  }
  return series({ id: 'growth-tools', title: 'discovery of tools', unit: 'ms', of: 'tools' }, points);
}

async function sessions() {
  const points = [];
  for (const count of [100, 200, 400, 800]) {
    const bytes = await bytesHeld('mcpwire', 'session', openSession, count);
    points.push([count, (bytes * count) / 1024]);
  }
  return series(
    { id: 'growth-sessions', title: 'memory of idle sessions', unit: 'KiB', of: 'sessions' },
    points,
  );
}

async function callsInFlight(rounds) {
  const { ask, close } = await openContender(contender('stdio', 'mcpwire', 'mcpwire', 'stateless'));
  await ask('inFlight', 500, 64);
  const points = [];
  for (const width of [64, 128, 256, 512, 1024]) {
    const measure = async () => ({ value: (width / (await ask('inFlight', 200, width)).value) * 1000 });
    points.push([width, await best(rounds, measure)]);
  }
  await close();
  const title = 'time until all calls in flight are answered over stdio';
  return series({ id: 'growth-calls', title, unit: 'ms', of: 'calls in flight' }, points);
}

/** The least is what the work costs; what is above it is other work on the machine. */
async function best(rounds, measure) {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) least = Math.min(least, (await measure()).value);
  return least;
}

function series(row, points) {
  const value = exponent(points);
  const result = { name: 'mcpwire', floor: undefined, median: value, low: value, high: value };
  const targets = [{ of: /^mcpwire/, bound: 1.2, absolute: true }];
  return {
    ...row,
    unit: 'exponent',
    measured: row.unit,
    better: 'lower',
    results: [result],
    targets,
    points,
  };
}

/** The slope of the line through the points on logarithmic scales: 1 is linear, 2 quadratic. */
function exponent(points) {
  const logs = points.map(([x, y]) => [Math.log(x), Math.log(y)]);
  const mean = (at) => logs.reduce((sum, point) => sum + point[at], 0) / logs.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const shared = logs.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return shared / logs.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}
