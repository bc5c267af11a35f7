import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';

/** A process that runs (a zombie does not). Two entries with the same `pid` and `started` are the same process. */
export interface ProcessEntry {
  pid: number;
  parent: number;
  group: number;
  started: string;
}

const LIST_TIMEOUT_MS = 500;

/**
 * Lists what runs on this machine. Empty where that cannot be known: on Windows, or without both `/proc` and `ps`.
 * Never rejects.
 */
export async function listProcesses(): Promise<ProcessEntry[]> {
  switch (process.platform) {
    case 'win32':
      return [];
    case 'linux':
    case 'android':
      return readProc();
    default:
      return runPs();
  }
}

/** All that descend from `pid` by the chain of parents, whatever group or session they moved to. */
export function descendantsOf(pid: number, processes: readonly ProcessEntry[]): ProcessEntry[] {
  const family = new Set([pid]);
  const found: ProcessEntry[] = [];
  // A child may be listed before its parent, so the list is gone through until nothing is added.
  for (let before = 0; before !== family.size; ) {
    before = family.size;
    for (const entry of processes) {
      if (!family.has(entry.parent) || family.has(entry.pid)) continue;
      family.add(entry.pid);
      found.push(entry);
    }
  }
  return found;
}

/** Signals every member of a process group. False when there is none, or none that we may signal. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  return signalProcess(-group, signal);
}

/** Signals one process. False when it is gone, or is not ours to signal. */
export function signalProcess(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    // ESRCH or EPERM: there is nothing more that could be done to it.
    return false;
  }
}

async function readProc(): Promise<ProcessEntry[]> {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name));
  const entries = await Promise.all(pids.map(readStat));
  return entries.filter((entry) => entry !== undefined);
}

async function readStat(pid: string): Promise<ProcessEntry | undefined> {
  // It may end while the list is read.
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // The second field, the program's name in parentheses, may hold anything; after it come state, parent, group, …
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state = '', parent, group] = fields;
  if ('ZX'.includes(state)) return undefined;
  return { pid: Number(pid), parent: Number(parent), group: Number(group), started: fields[19] ?? '' };
}

function runPs(): Promise<ProcessEntry[]> {
  const columns = ['-o', 'pid=', '-o', 'ppid=', '-o', 'pgid=', '-o', 'stat=', '-o', 'lstart='];
  return new Promise((resolve) => {
    execFile('ps', ['-A', ...columns], { timeout: LIST_TIMEOUT_MS }, (error, output) => {
      // A partial list is as good as none: the group is still signalled as a whole.
      resolve(error ? [] : output.split('\n').flatMap(parsePsLine));
    });
  });
}

function parsePsLine(line: string): ProcessEntry[] {
  const [pid, parent, group, state = 'Z', ...started] = line.trim().split(/\s+/);
  if (state.startsWith('Z')) return [];
  return [{ pid: Number(pid), parent: Number(parent), group: Number(group), started: started.join(' ') }];
}
