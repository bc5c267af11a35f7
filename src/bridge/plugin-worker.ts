import { parentPort, workerData } from 'node:worker_threads';
import { toError } from '../jsonrpc/index.ts';
import { PluginConnection } from './plugin-connection.ts';
import {
  BEAT_MS,
  BEATS,
  ENDED,
  type FromThread,
  type Outcome,
  REPLIES,
  type ThreadData,
  type ToThread,
  toFailure,
} from './plugin-messages.ts';

// The thread of a plugin: it has the connection, and carries out one call after the other.

// Sound: this file is run by nobody but PluginThread, which gives it these.
const { target, options, cells, replies } = workerData as ThreadData;
const calls = new Map<number, AbortController>();
const opening = new AbortController();
/** The call that was begun last; the next one waits for it. */
let last: Promise<unknown> = Promise.resolve();

process.once('exit', () => {
  Atomics.store(cells, ENDED, 1);
  wake();
});
const opened = open();
parentPort?.on('message', (message: ToThread) => void take(message));

/** Undefined when there is no connection, of which the other thread has been told. */
async function open(): Promise<PluginConnection | undefined> {
  try {
    const connection = await PluginConnection.open(target, {
      ...options,
      signal: opening.signal,
      onWarning: ({ code, message }) => tell({ type: 'warning', code, message }),
    });
    tell({ type: 'open', tools: connection.tools });
    return connection;
  } catch (error) {
    tell({ type: 'failed', error: toFailure(error) });
    leave();
  }
}

async function take(message: ToThread): Promise<void> {
  switch (message.type) {
    case 'call': {
      const { id, name, args } = message;
      const controller = new AbortController();
      calls.set(id, controller);
      const outcome = await inTurn(() => call(name, args, controller.signal));
      calls.delete(id);
      tell({ type: 'reply', id, outcome });
      return;
    }
    case 'callSync': {
      const beat = setInterval(() => Atomics.add(cells, BEATS, 1), BEAT_MS);
      replies.postMessage(await inTurn(() => call(message.name, message.args, undefined)));
      clearInterval(beat);
      wake();
      return;
    }
    case 'cancel':
      calls.get(message.id)?.abort();
      return;
    case 'close':
      opening.abort();
      await (await opened)?.close();
      leave();
  }
}

function inTurn(run: () => Promise<Outcome>): Promise<Outcome> {
  const outcome = last.then(run);
  last = outcome;
  return outcome;
}

/** Never rejects. */
async function call(
  name: string,
  args: Parameters<PluginConnection['call']>[1],
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  try {
    const connection = await opened;
    if (!connection) throw new Error('The connection is not open');
    return { text: await connection.call(name, args, signal) };
  } catch (error) {
    return { error: toFailure(toError(error)) };
  }
}

function tell(message: FromThread): void {
  parentPort?.postMessage(message);
}

function wake(): void {
  Atomics.add(cells, REPLIES, 1);
  Atomics.notify(cells, REPLIES);
}

/** Ends this thread alone. What was told before is still delivered. */
function leave(): never {
  process.exit();
}
