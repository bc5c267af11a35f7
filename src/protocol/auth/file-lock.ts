import { open, readFile, stat, unlink, utimes } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpError } from '../../jsonrpc/index.ts';
import { nodeCrypto } from '../crypto.ts';

/** How often a lock that is taken is looked at again, and for how long in all. */
const RETRY_MS = 20;
const PATIENCE_MS = 60_000;
/** Who holds a lock touches it this often; one that nobody has touched for so long was left behind. */
const BEAT_MS = 1000;
const STALE_MS = 5000;

/**
 * Runs work while no other process holds the lock file. A lock whose holder died is taken over.
 *
 * @throws McpError `UNAUTHORIZED` when the lock stays taken; what the work throws.
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const id = await acquire(path);
  const beat = setInterval(() => {
    const now = new Date();
    // Whoever took the lock over keeps it.
    utimes(path, now, now).catch(() => {});
  }, BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    await release(path, id);
  }
}

async function acquire(path: string): Promise<string> {
  const id = nodeCrypto().randomUUID();
  const watch = new Watch(path);
  const end = performance.now() + PATIENCE_MS;
  while (!(await create(path, id))) {
    if (performance.now() > end) {
      const message = `Cannot lock "${path}": another process has held it for ${PATIENCE_MS} ms`;
      throw new McpError('UNAUTHORIZED', message);
    }
    if (await watch.isStale()) await takeOver(path, watch);
    await sleep(RETRY_MS);
  }
  return id;
}

async function create(path: string, id: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600);
    await file.writeFile(id);
    await file.close();
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function release(path: string, id: string): Promise<void> {
  const holder = await readFile(path, 'utf8').catch(() => undefined);
  if (holder === id) await remove(path);
}

/** Removes a lock that was left behind. One process at a time does that, lest it remove the lock of the next holder. */
async function takeOver(path: string, watch: Watch): Promise<void> {
  const guard = `${path}.stale`;
  if (!(await create(guard, ''))) {
    if (await watch.guard.isStale()) await remove(guard);
    return;
  }
  try {
    if (await watch.isStale()) await remove(path);
  } finally {
    await remove(guard);
  }
}

/** Sees whether a file is touched, by its own watch: the clocks of machines that share a file may differ. */
class Watch {
  readonly #path: string;
  #touched: number | undefined;
  #seenAt = 0;
  #guard: Watch | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  get guard(): Watch {
    this.#guard ??= new Watch(`${this.#path}.stale`);
    return this.#guard;
  }

  async isStale(): Promise<boolean> {
    const touched = await touchedAt(this.#path);
    if (touched !== this.#touched) {
      this.#touched = touched;
      this.#seenAt = performance.now();
    }
    return touched !== undefined && performance.now() - this.#seenAt > STALE_MS;
  }
}

async function touchedAt(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function remove(path: string): Promise<void> {
  await unlink(path).catch((error) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
