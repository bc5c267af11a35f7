import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { Socket } from 'node:net';
import { signalGroup } from './process-tree.ts';

/**
 * Reads which process groups there are (`+ 123`, `- 123`) until its input ends. The host ends it after the last one
 * is gone; when it ends earlier, the host is gone. The servers have then seen the end of their own input and get a
 * second to leave, and one more after SIGTERM.
 */
const GUARD_SCRIPT = `# mcpwire: ends the servers of a host that is gone
groups=' '
while read -r change group; do
  case $change in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for signal in 0 TERM KILL; do
  left=
  for group in $groups; do kill -$signal -$group 2>/dev/null && left=yes; done
  [ "$left" ] || exit 0
  [ $signal = KILL ] || sleep 1
done`;

// What this module holds together: the hook and the guard exist exactly while there is a group.
const groups = new Set<number>();
let guard: ChildProcess | undefined;

/**
 * Sees to it that a process group does not outlive this process, however that ends. All groups share one hook on
 * 'exit' and, on POSIX, one small `sh` that waits outside of this process for its end: that is what is left to act
 * after a crash, SIGKILL or Ctrl-C. Without `/bin/sh` the hook alone remains.
 */
export function guardGroup(group: number): void {
  if (groups.size === 0) process.on('exit', endGroups);
  groups.add(group);
  if (process.platform === 'win32') return;
  if (guard) {
    guard.stdin?.write(`+ ${group}\n`);
    return;
  }
  guard = startGuard();
  for (const each of groups) guard?.stdin?.write(`+ ${each}\n`);
}

/** To be called once the group is empty. */
export function releaseGroup(group: number): void {
  if (!groups.delete(group)) return;
  guard?.stdin?.write(`- ${group}\n`);
  if (groups.size > 0) return;
  process.off('exit', endGroups);
  guard?.stdin?.end();
  guard = undefined;
}

function endGroups(): void {
  for (const group of groups) {
    if (process.platform === 'win32') spawnSync('taskkill', ['/PID', String(group), '/T', '/F']);
    else signalGroup(group, guard ? 'SIGTERM' : 'SIGKILL');
  }
}

/** Without a guard when the system has no room for one: the servers matter more. */
function startGuard(): ChildProcess | undefined {
  try {
    return spawnGuard();
  } catch {
    return undefined;
  }
}

function spawnGuard(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', GUARD_SCRIPT], {
    // In a session of its own, or the Ctrl-C that ends the host would end it first.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
  });
  const forget = () => {
    if (guard === child) guard = undefined;
  };
  child.on('error', forget);
  child.on('exit', forget);
  child.stdin?.on('error', forget);
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return child;
}
