import { setTimeout as sleep } from 'node:timers/promises';
import { McpError, RpcError, TimeoutError, toError } from '../jsonrpc/index.ts';
import type { McpClient, Subscription } from '../protocol/index.ts';

/** A registry that is kept in step. */
export interface Following {
  /** False where the server cannot tell of changes, and once nothing follows them any more. */
  readonly active: boolean;
  /** Stops. What is registered stays; nothing changes any more once this resolves. Idempotent, never rejects. */
  close(): Promise<void>;
}

export interface FollowHost {
  readonly client: McpClient;
  readonly warn: (warning: McpError) => void;
  /** Brings the registry in step, once. */
  sync(signal: AbortSignal): Promise<unknown>;
}

/** How often reading is tried again after a change, before the next change is waited for. */
const MAX_RETRIES = 5;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

/**
 * Listens first and reads then, so that no change falls between the two. Whatever changes during a reading is read in one
 * more, however much it is.
 */
export async function follow(host: FollowHost, caller: AbortSignal | undefined): Promise<Following> {
  const stop = new AbortController();
  const signal = caller ? AbortSignal.any([caller, stop.signal]) : stop.signal;
  const subscription = await subscribe(host, signal);
  try {
    await host.sync(signal);
  } catch (error) {
    await subscription?.close();
    throw error;
  }
  let active = subscription !== undefined;
  const over = pump(host, subscription, signal).then(() => {
    active = false;
  });
  return {
    get active() {
      return active;
    },
    async close() {
      stop.abort();
      await over;
    },
  };
}

/** Undefined, with a warning, where the server has no way to tell of changes. */
async function subscribe(
  { client, warn }: FollowHost,
  signal: AbortSignal,
): Promise<Subscription | undefined> {
  let cause: unknown;
  try {
    const subscription = await client.listen({ toolsListChanged: true }, { signal });
    if (subscription.filter.toolsListChanged === true) return subscription;
    await subscription.close();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    cause = error;
  }
  const message = `Cannot follow the tools of "${client.name}": it does not tell when they change`;
  warn(new McpError('NOT_SUPPORTED', message, { cause }));
  return undefined;
}

/** Whether the server, as opposed to the connection, is why there is no subscription. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof RpcError ||
    error instanceof TimeoutError ||
    (error instanceof McpError && error.code === 'INVALID_RESULT')
  );
}

/**
 * Reads whenever there was a change. A server may end a subscription in good order, when it restarts or because it lasted
 * too long: then another is asked for, and what may have changed meanwhile is read. Never rejects.
 */
async function pump(host: FollowHost, first: Subscription | undefined, signal: AbortSignal): Promise<void> {
  const { client, warn } = host;
  const isOver = () => signal.aborted || client.closed;
  try {
    let subscription = first;
    for (let idle = 0; subscription; idle++) {
      for await (const _ of subscription) {
        idle = 0;
        await syncPersistently(host, signal);
      }
      if (!isOver()) await pause(idle, signal);
      if (isOver()) return;
      subscription = await subscribe(host, signal);
      if (subscription) await syncPersistently(host, signal);
    }
  } catch (cause) {
    if (isOver()) return;
    const message = `No longer follows the tools of "${client.name}": ${toError(cause).message}`;
    warn(new McpError('CLOSED', message, { cause }));
  }
}

/** A reading that failed has changed nothing, and no event may come for the change that it was for. */
async function syncPersistently(host: FollowHost, signal: AbortSignal): Promise<void> {
  const { client, warn } = host;
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      await host.sync(signal);
      return;
    } catch (cause) {
      if (signal.aborted || client.closed) return;
      const message = `Cannot read the tools of "${client.name}" after they changed: ${toError(cause).message}`;
      warn(new McpError('HANDLER_FAILED', message, { cause }));
    }
    if (attempt === MAX_RETRIES) return;
    await pause(attempt, signal);
  }
}

/** Ends early when it is aborted, which its caller looks for. */
async function pause(attempt: number, signal: AbortSignal): Promise<void> {
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS);
  await sleep(delayMs, undefined, { signal }).catch(() => {});
}
