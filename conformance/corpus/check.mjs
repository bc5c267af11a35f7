// @ts-check
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { McpClient, McpToolProvider, ToolRegistry } from 'mcpwire';

/** How long a server may take over each step, however slow the machine: 60 s. */
const STEP_TIMEOUT_MS = 60_000;
/** What every process of a server has in its environment, unless it takes pains to hide. */
const MARK = 'MCPWIRE_CORPUS';

/**
 * @typedef {object} Entry
 * @property {string} name
 * @property {string} package
 * @property {string} version
 * @property {number} installMB
 * @property {string} sdk
 * @property {string} node the major version it needs
 * @property {string[]} args with {dir} for the install and {scratch} for an empty folder
 * @property {Record<string, string>} [env]
 * @property {Record<string, string>} [files] written into the empty folder
 * @property {string} dialect
 * @property {string} revision
 * @property {string[]} oddities
 * @property {string[]} tools
 */

/**
 * @typedef {object} Outcome
 * @property {string} name
 * @property {string[]} faults what is not as it should be; empty when all is
 * @property {string} [seen] dialect and revision
 * @property {number} [tools]
 * @property {number} [connectMs]
 * @property {number} [closeMs]
 * @property {string[]} [warnings]
 */

/**
 * Imports a server over stdio and holds what is seen against what is known of it.
 *
 * @param {Entry} entry
 * @param {string} folder where it is installed
 * @param {string} node the program that runs it
 * @returns {Promise<Outcome>}
 */
export async function check(entry, folder, node) {
  const scratch = mkdtempSync(join(tmpdir(), 'mcpwire-corpus-'));
  const mark = randomUUID();
  /** @type {Outcome} */
  const outcome = { name: entry.name, faults: [], warnings: [] };
  try {
    await importServer(entry, specOf(entry, { folder, scratch, node, mark }), outcome);
  } catch (error) {
    outcome.faults.push(error instanceof Error ? error.message : String(error));
  }
  const left = processesMarked(mark);
  for (const pid of left) {
    outcome.faults.push(`left behind: ${commandOf(pid)}`);
    process.kill(pid, 'SIGKILL');
  }
  rmSync(scratch, { recursive: true, force: true });
  return outcome;
}

/**
 * @param {Entry} entry
 * @param {{ folder: string, scratch: string, node: string, mark: string }} places
 */
function specOf(entry, { folder, scratch, node, mark }) {
  const fill = (/** @type {string} */ text) =>
    text.replaceAll('{dir}', folder).replaceAll('{scratch}', scratch);
  for (const [name, contents] of Object.entries(entry.files ?? {}))
    writeFileSync(join(scratch, name), contents);
  const env = Object.fromEntries(Object.entries(entry.env ?? {}).map(([name, value]) => [name, fill(value)]));
  // A home of its own: what it writes there goes with the rest.
  return {
    command: node,
    args: entry.args.map(fill),
    cwd: scratch,
    env: { HOME: scratch, ...env, [MARK]: mark },
  };
}

/**
 * @param {Entry} entry
 * @param {import('mcpwire').ProcessSpec} spec
 * @param {Outcome} outcome filled in as far as it gets
 */
async function importServer(entry, spec, outcome) {
  const startedAt = performance.now();
  const client = await McpClient.stdio(spec, {
    name: entry.name,
    stderr: 'pipe',
    connectTimeoutMs: STEP_TIMEOUT_MS,
    timeoutMs: STEP_TIMEOUT_MS,
    onWarning: ({ message }) => outcome.warnings?.push(message),
  });
  try {
    outcome.connectMs = performance.now() - startedAt;
    const registry = new ToolRegistry();
    const provider = await McpToolProvider.connect(client, {
      prefix: 'corpus',
      onWarning: ({ message }) => outcome.warnings?.push(message),
    });
    provider.registerInto(registry);
    outcome.seen = `${client.dialect} ${client.protocolVersion}`;
    outcome.tools = registry.size;
    compare(entry, outcome, registry);
  } finally {
    const closedAt = performance.now();
    await client.close();
    outcome.closeMs = performance.now() - closedAt;
  }
}

/**
 * @param {Entry} entry
 * @param {Outcome} outcome
 * @param {ToolRegistry} registry
 */
function compare(entry, outcome, registry) {
  const known = `${entry.dialect} ${entry.revision}`;
  if (outcome.seen !== known) outcome.faults.push(`${known} expected`);
  const names = new Set(entry.tools.map((name) => `corpus__${name}`));
  const missing = [...names].filter((name) => !registry.has(name));
  const surplus = registry.names().filter((name) => !names.has(name));
  if (missing.length > 0) outcome.faults.push(`missing: ${missing.join(', ')}`);
  if (surplus.length > 0) outcome.faults.push(`not expected: ${surplus.join(', ')}`);
}

/**
 * Linux only: elsewhere none is found.
 *
 * @param {string} mark
 */
function processesMarked(mark) {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && environmentOf(pid).includes(`${MARK}=${mark}\0`))
    .map(Number);
}

/** @param {number} pid */
function commandOf(pid) {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
}

/** @param {string} pid */
function environmentOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return ''; // It has ended meanwhile, or is not ours.
  }
}
