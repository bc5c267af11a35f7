import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { loadPackage } from '../jsonrpc/load-package.ts';
import type { ProcessExit } from './process-error.ts';
import { guardGroup, releaseGroup } from './process-guard.ts';
import {
  descendantsOf,
  listProcesses,
  type ProcessEntry,
  signalGroup,
  signalProcess,
} from './process-tree.ts';
import { createDeferred, resolvesWithin } from './wait.ts';

/** How often processes that are no children of ours are looked at while they are waited for. */
const POLL_MS = 40;

/** A running child with its standard streams, and the way to end it and all it started. */
export class ServerProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable | null;
  readonly #exited = createDeferred<ProcessExit>();
  #exit: ProcessExit | undefined;
  #signalled = false;

  constructor(child: ChildProcess) {
    const { pid, stdin, stdout, stderr } = child;
    if (pid === undefined || !stdin || !stdout) throw new TypeError('the child must run and have pipes');
    this.pid = pid;
    this.stdin = stdin;
    this.stdout = stdout;
    this.stderr = stderr;
    const onExit = (code: number | null, signal: NodeJS.Signals | null) => {
      this.#exit = { code, signal };
      this.#exited.resolve(this.#exit);
    };
    child.on('exit', onExit);
    // After the start: a signal that could not be sent, or a Windows shell that did not find the command.
    child.on('error', () => {
      if (child.exitCode !== null) onExit(child.exitCode, null);
    });
    guardGroup(pid);
  }

  /** How it ended by itself; undefined while it runs, and when it had to be signalled. */
  get ownExit(): ProcessExit | undefined {
    return this.#signalled ? undefined : this.#exit;
  }

  exitsWithin(ms: number): Promise<boolean> {
    return resolvesWithin(this.#exited.promise, ms);
  }

  /**
   * Ends the process and its descendants within `graceMs`: first the end of its input alone, for half of that time;
   * then SIGTERM to all that is left, for a third; then SIGKILL. Nothing is signalled that left in time. Called once.
   */
  async stop(endInput: () => void, graceMs: number): Promise<void> {
    // Before its input ends: what it leaves behind has another parent afterwards.
    const family = this.#exit ? [] : descendantsOf(this.pid, await listProcesses());
    endInput();
    await this.exitsWithin(graceMs / 2);
    this.#signalled = this.#exit === undefined;
    if (!(await this.#isGone(family))) {
      await this.#signal('SIGTERM', family);
      if (!(await this.#isGoneWithin(graceMs / 3, family))) {
        await this.#signal('SIGKILL', family);
        await this.#isGoneWithin(graceMs / 6, family);
      }
    }
    releaseGroup(this.pid);
  }

  async #isGoneWithin(ms: number, family: readonly ProcessEntry[]): Promise<boolean> {
    const end = performance.now() + ms;
    await this.exitsWithin(ms);
    while (!(await this.#isGone(family))) {
      if (performance.now() >= end) return false;
      await delay(POLL_MS);
    }
    return true;
  }

  async #isGone(family: readonly ProcessEntry[]): Promise<boolean> {
    if (!this.#exit) return false;
    const groupExists = signalGroup(this.pid, 0);
    if (!groupExists && family.length === 0) return true;
    const running = await listProcesses();
    if (running.length === 0) return !groupExists;
    return this.#strays(family, running).length === 0 && !running.some(({ group }) => group === this.pid);
  }

  async #signal(signal: NodeJS.Signals, family: readonly ProcessEntry[]): Promise<void> {
    if (process.platform === 'win32') {
      await endWindowsTree(this.pid);
      return;
    }
    const running = family.length > 0 ? await listProcesses() : [];
    signalGroup(this.pid, signal);
    for (const { pid } of this.#strays(family, running)) signalProcess(pid, signal);
  }

  /** Descendants that left the process group, found again by their start time: a pid alone may have a new owner. */
  #strays(family: readonly ProcessEntry[], running: readonly ProcessEntry[]): ProcessEntry[] {
    const before = new Map(family.map((entry) => [entry.pid, entry.started]));
    return running.filter(({ pid, group, started }) => group !== this.pid && before.get(pid) === started);
  }
}

/**
 * Starts a command as the leader of its own process group. Resolves once it runs.
 *
 * @throws NodeJS.ErrnoException what the system said.
 */
export async function spawnServer(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<ServerProcess> {
  const windows = process.platform === 'win32';
  // Windows finds no `npx.cmd` by the name of `npx` and runs no script by its first line: cross-spawn does both.
  const start = windows ? (await loadPackage('cross-spawn', () => import('cross-spawn'))).default : spawn;
  const child = start(command, args, { ...options, detached: !windows, windowsHide: true });
  try {
    await once(child, 'spawn');
  } catch (cause) {
    for (const stream of child.stdio ?? []) stream?.destroy();
    throw cause;
  }
  return new ServerProcess(child);
}

function endWindowsTree(pid: number): Promise<void> {
  return new Promise((resolve) => {
    execFile('taskkill', ['/PID', String(pid), '/T', '/F'], { windowsHide: true }, () => resolve());
  });
}
