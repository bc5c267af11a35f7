import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Tells whether a process runs. One that has ended and was not yet reaped by its parent does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/^\) [ZX]/.test(stat.slice(stat.lastIndexOf(')')));
  } catch {
    return false;
  }
}

/** Resolves once the process is gone, of which no event tells when it is no child of ours. */
export async function gone(pid: number): Promise<void> {
  while (isRunning(pid)) await delay(20);
}
