import { conclude, openContender, spread } from '../measure.mjs';

const TOOLS = 1000;

/** What tools cost beyond the wire: having many of them, and checking what they return. */
export async function run(options) {
  const rows = [await discovery(options)];
  for (const side of ['server', 'import']) rows.push(await validation(side, options));
  return rows;
}

async function discovery({ rounds }) {
  const contenders = [
    { name: 'JSON.parse of the list', reader: 'floor' },
    { name: 'mcpwire', reader: 'mcpwire' },
  ].map((each) => ({ ...each, program: 'task', kind: 'discovery' }));
  const samples = new Map(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      const { ask, close } = await openContender(contender);
      samples.get(contender.name).push(await ask('discover', TOOLS));
      await close();
    }
  }
  const [{ name: floor }] = contenders;
  const { median } = spread(samples.get(floor).map(({ value }) => value));
  const row = {
    id: 'discovery',
    title: `discovery of ${TOOLS.toLocaleString('en')} tools into a registry, in a fresh process`,
    unit: 'ms',
    better: 'lower',
    floor,
    against: 'JSON.parse of the list',
    targets: [{ of: /^mcpwire/, bound: 2 * median + 20, absolute: true }],
  };
  return conclude(row, contenders, samples);
}

async function validation(side, { rounds, ms }) {
  const name =
    side === 'server' ? 'mcpwire, checked by the server' : 'mcpwire, checked by the importing client';
  const { ask, close } = await openContender({ name, program: 'task', kind: 'validation', side });
  const samples = new Map([
    ['floor', []],
    [name, []],
  ]);
  for (let round = -1; round < rounds; round++) {
    const floor = await ask('floor', ms);
    const checked = await ask('checked', ms);
    if (round < 0) continue;
    samples.get('floor').push(floor);
    samples.get(name).push(checked);
  }
  await close();
  const row = {
    id: `validation-${side}`,
    title: `a call whose output is ${name.split(', ')[1]}, beside an unchecked call and the bare compiled schema`,
    unit: 'µs',
    better: 'lower',
    floor: 'floor',
    targets: [{ of: /^mcpwire/, bound: 1.3 }],
  };
  return conclude(row, [{ name: 'floor' }, { name }], samples);
}
