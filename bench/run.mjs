// Measures mcpwire beside others: `npm run bench -- [GROUP …] [--gate] [--rounds N] [--ms N] [--no-rivals]`.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { svg } from './plot.mjs';
import { machine, markdown, printRow, verdicts } from './report.mjs';

const BENCH = fileURLToPath(new URL('.', import.meta.url));
const DOCUMENT = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url));
const PICTURES = fileURLToPath(new URL('../docs/benchmarks/', import.meta.url));
const GROUPS = ['stdio', 'in-process', 'http', 'framers', 'tools', 'start', 'memory', 'growth'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    gate: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    ms: { type: 'string' },
    'no-rivals': { type: 'boolean', default: false },
  },
});
const unknown = positionals.filter((group) => !GROUPS.includes(group));
if (unknown.length > 0) throw new Error(`There is no group ${unknown.join(', ')}: only ${GROUPS.join(', ')}`);
const groups =
  positionals.length > 0 ? positionals : GROUPS.filter((group) => group !== 'growth' || !values.gate);
const options = {
  rounds: Number(values.rounds ?? (values.gate ? 3 : 5)),
  ms: Number(values.ms ?? (values.gate ? 200 : 400)),
  rivals: !values['no-rivals'] && !values.gate,
  gate: values.gate,
};

installRivals();
console.log(`${machine()}; ${options.rounds} rounds`);
const rows = [];
for (const group of groups) {
  const { run } = await import(`./rows/${group}.mjs`);
  for (const row of await run(options)) {
    printRow(row);
    rows.push(row);
  }
}
const missed = rows.flatMap((row) => verdicts(row).filter(({ word }) => word === 'MISSED'));
if (values.gate && missed.length > 0) {
  console.error(`\n${missed.length} targets are missed by more than the spread`);
  process.exitCode = 1;
}
if (!values.gate && positionals.length === 0 && options.rivals) writeDocument();

function writeDocument() {
  writeFileSync(DOCUMENT, markdown(rows));
  mkdirSync(PICTURES, { recursive: true });
  for (const row of rows) if (row.points) writeFileSync(`${PICTURES}${row.id}.svg`, svg(row));
}

/** The rivals are installed here once, and again when their list changes. */
function installRivals() {
  const stamp = `${BENCH}node_modules/.installed`;
  const wanted = readFileSync(`${BENCH}package.json`, 'utf8');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  const args = [
    'install',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--no-package-lock',
    '--loglevel=error',
  ];
  execFileSync('npm', args, { cwd: BENCH, stdio: 'inherit', shell: process.platform === 'win32' });
  writeFileSync(stamp, wanted);
}
