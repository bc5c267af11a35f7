import { readdirSync, readlinkSync } from 'node:fs';

/**
 * The processes whose working folder is this one. Servers start in that of whoever starts them, so a test that runs its
 * subject in a folder of its own finds whatever is left of it, also what has lost its parent. Linux only: elsewhere none.
 */
export function processesIn(folder: string): number[] {
  if (process.platform !== 'linux') return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => workingFolder(pid) === folder).map(Number);
}

function workingFolder(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined; // It has ended meanwhile, or is not ours.
  }
}
