// Runs the official conformance suite against the everything server and the everything client of this folder, prints a
// summary line for each leg, and writes docs/conformance.md. `run.js server client` runs both sides.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify, stripVTControlCharacters } from 'node:util';
import { newerNode } from './tools.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SUITE_FOLDER = join(ROOT, 'node_modules/@modelcontextprotocol/conformance');
const SUITE = join(SUITE_FOLDER, 'dist/index.js');
const SCENARIO_TIMEOUT_MS = 60_000;
/** How many scenarios of a client run at once. */
const AT_ONCE = 2;

interface ScenarioResult {
  scenario: string;
  passed: number;
  failed: number;
  note: string;
}

interface Leg {
  name: string;
  results: ScenarioResult[];
}

/** An extension that this package does not have; its scenarios are reported and never counted. */
const TASKS_EXTENSION = /^tasks-/;
/** Which scenarios a client has to pass, by revision. What older clients did is listed only by the revision itself. */
const CLIENT_LEGS = {
  '2025-11-25': ['--requirements', '2025-11-25'],
  '2026-07-28': ['--requirements', '2026-07-28'],
  '2025-03-26': ['--client', '--spec-version', '2025-03-26'],
} as const;

const node = await newerNode();
const folder = await mkdtemp(join(tmpdir(), 'mcpwire-conformance-'));
const legs: Leg[] = [];
try {
  const sides = process.argv.slice(2);
  if (sides.includes('server')) legs.push(...(await runServerLegs()));
  if (sides.includes('client')) legs.push(...(await runClientLegs()));
  if (sides.includes('server') && sides.includes('client')) await writeReport(legs);
} finally {
  await rm(folder, { recursive: true, force: true });
}
for (const { name, results } of legs) {
  const counted = results.filter(({ scenario }) => !TASKS_EXTENSION.test(scenario));
  for (const { scenario, failed } of counted) if (failed > 0) console.log(`FAILED ${name} ${scenario}`);
  const passed = sum(counted.map((result) => result.passed));
  const failed = sum(counted.map((result) => result.failed));
  console.log(`${name}: ${passed} passed, ${failed} failed`);
  if (failed > 0 || passed === 0) process.exitCode = 1;
}

async function runServerLegs(): Promise<Leg[]> {
  const server = spawn(process.execPath, [join(ROOT, '.build/conformance/everything-server.js')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = await once(createInterface(server.stdout), 'line');
    const url = String(line).replace('LISTENING ', '');
    const serverLegs: Leg[] = [];
    for (const revision of ['2025-11-25', '2026-07-28']) {
      const output = await suite('server', '--url', url, '--requirements', revision);
      serverLegs.push({ name: `server@${revision}`, results: readSummary(output) });
    }
    // The suite has no requirement sets for older wires, but runs at them.
    for (const revision of ['2025-06-18', '2025-03-26']) {
      const output = await suite('server', '--url', url, '--spec-version', revision);
      serverLegs.push({ name: `server@${revision}`, results: readSummary(output) });
    }
    return serverLegs;
  } finally {
    server.kill('SIGKILL');
  }
}

async function runClientLegs(): Promise<Leg[]> {
  const command = `${process.execPath} ${join(ROOT, '.build/conformance/everything-client.js')}`;
  const clientLegs: Leg[] = [];
  for (const [revision, selection] of Object.entries(CLIENT_LEGS)) {
    const scenarios = readClientScenarios(await suite('list', ...selection));
    const results: ScenarioResult[] = [];
    const next = async (): Promise<void> => {
      for (let scenario = scenarios.shift(); scenario; scenario = scenarios.shift()) {
        // Extensions belong to no revision, and run at any.
        const output = await suite(
          'client',
          ...['--command', command, '--scenario', scenario, '--spec-version', revision, '--force'],
        );
        results.push(readResult(scenario, output));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
    results.sort((a, b) => (a.scenario < b.scenario ? -1 : 1));
    clientLegs.push({ name: `client@${revision}`, results });
  }
  return clientLegs;
}

/** What the suite prints. Its exit code says no more than that. */
async function suite(...args: string[]): Promise<string> {
  const options = { cwd: folder, timeout: 10 * SCENARIO_TIMEOUT_MS, maxBuffer: 256 * 1024 * 1024 };
  try {
    const { stdout, stderr } = await run(node, [SUITE, ...args], options);
    return stripVTControlCharacters(`${stdout}\n${stderr}`);
  } catch (error) {
    // A run with failures ends like this, its output complete.
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return stripVTControlCharacters(`${stdout}\n${stderr}`);
  }
}

function readSummary(output: string): ScenarioResult[] {
  const summary = output.slice(output.lastIndexOf('=== SUMMARY ==='));
  return [...summary.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed/gm)].map(
    ([, scenario = '', passed, failed]) => ({
      scenario,
      passed: Number(passed),
      failed: Number(failed),
      note: TASKS_EXTENSION.test(scenario) ? 'extension, not counted' : '',
    }),
  );
}

function readResult(scenario: string, output: string): ScenarioResult {
  const match = /Passed: (\d+)\/\d+, (\d+) failed, (\d+) warnings/.exec(output);
  const isComplete = match !== null && !output.includes('OVERALL: FAILED');
  if (!isComplete) console.error(output);
  const failed = Number(match?.[2] ?? 1);
  return {
    scenario,
    passed: Number(match?.[1] ?? 0),
    failed: isComplete ? failed : Math.max(1, failed),
    note: Number(match?.[3] ?? 0) > 0 ? `${match?.[3]} warnings` : '',
  };
}

/** The client scenarios of a requirement set, those included that are run and not scored. */
function readClientScenarios(listing: string): string[] {
  const [required = '', reported = ''] = listing
    .slice(listing.indexOf('Client scenarios'))
    .split('Run and reported');
  return [
    ...[...required.matchAll(/^ {2}- (\S+)(?: \[[\d-]+\])?$/gm)].map(([, name = '']) => name),
    ...[...reported.matchAll(/^ {4}- (\S+) \[client\]$/gm)].map(([, name = '']) => name),
  ];
}

async function writeReport(all: readonly Leg[]): Promise<void> {
  const sections = all.map(({ name, results }) => {
    const rows = results.map(
      ({ scenario, passed, failed, note }) => `| ${scenario} | ${passed} | ${failed} | ${note} |`,
    );
    return `## ${name}\n\n| scenario | passed | failed | |\n|---|---:|---:|---|\n${rows.join('\n')}\n`;
  });
  const { version } = JSON.parse(await readFile(join(SUITE_FOLDER, 'package.json'), 'utf8'));
  const intro = `# Conformance

Generated by \`npm run conformance\`: the official suite, \`@modelcontextprotocol/conformance\` ${version}, against
\`conformance/everything-server.ts\` and \`conformance/everything-client.ts\`. Each number counts checks. There is no
baseline of expected failures; the tasks extension, which this package does not have, is reported and not counted.
`;
  await mkdir(join(ROOT, 'docs'), { recursive: true });
  await writeFile(join(ROOT, 'docs/conformance.md'), `${[intro, ...sections].join('\n').trimEnd()}\n`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
