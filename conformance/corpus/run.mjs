// @ts-check
// Imports real servers from npm and writes down how it went. Gigabytes: not part of the tests.
//   npm run corpus -- [--only name,name] [--max-mb N] [--keep]
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { check } from './check.mjs';
import { findNode, install } from './install.mjs';
import { renderPage } from './table.mjs';

/** @import { Entry, Outcome } from './check.mjs' */

const path = (/** @type {string} */ relative) => fileURLToPath(new URL(relative, import.meta.url));
const ROOT = path('../../.corpus');
const RESULTS = join(ROOT, 'results.json');
const PAGE = path('../../docs/compatibility.md');

const { values } = parseArgs({
  options: { only: { type: 'string' }, 'max-mb': { type: 'string' }, keep: { type: 'boolean' } },
});

/** @type {Entry[]} */
const entries = JSON.parse(readFileSync(path('servers.json'), 'utf8'));
mkdirSync(ROOT, { recursive: true });
mkdirSync(path('../../docs'), { recursive: true });
/** @type {Map<string, Outcome>} What earlier runs found is kept until a server is tried again. */
const outcomes = new Map(existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : []);

// The list is sorted by size: what is cheap to learn is learnt first.
for (const entry of choose(entries)) {
  const outcome = await tryServer(entry);
  outcomes.set(entry.name, outcome);
  const word = outcome.faults.length === 0 ? 'ok' : `FAULT ${outcome.faults.join('; ')}`;
  console.log(
    `${entry.name.padEnd(48)} ${(outcome.seen ?? '').padEnd(22)} ${String(outcome.tools ?? '').padStart(4)}  ${word}`,
  );
  writeFileSync(RESULTS, JSON.stringify([...outcomes], null, 2));
  writeFileSync(PAGE, renderPage(entries, outcomes));
  if (outcome.faults.length > 0) process.exitCode = 1;
}

/** @param {readonly Entry[]} all */
function choose(all) {
  const only = values.only?.split(',');
  const unknown = only?.filter((name) => !all.some((entry) => entry.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`Unknown servers: ${unknown.join(', ')}`);
  const maxMB = values['max-mb'] === undefined ? Number.POSITIVE_INFINITY : Number(values['max-mb']);
  if (Number.isNaN(maxMB)) throw new Error('--max-mb must be a number');
  return all.filter((entry) => (only?.includes(entry.name) ?? true) && entry.installMB <= maxMB);
}

/**
 * @param {Entry} entry
 * @returns {Promise<Outcome>}
 */
async function tryServer(entry) {
  const folder = join(ROOT, entry.name);
  try {
    await install(folder, `${entry.package}@${entry.version}`);
    return await check(entry, folder, await findNode(ROOT, Number(entry.node)));
  } catch (error) {
    return { name: entry.name, faults: [`not tried: ${error instanceof Error ? error.message : error}`] };
  } finally {
    if (!values.keep) rmSync(folder, { recursive: true, force: true });
  }
}
