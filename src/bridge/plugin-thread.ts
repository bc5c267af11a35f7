import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { type JsonObject, McpError, toError } from '../jsonrpc/index.ts';
import type { ToolDefinition } from '../protocol/index.ts';
import { DEFAULT_GRACE_MS } from '../transport/index.ts';
import type { PluginConnectionOptions, PluginTarget, ToolCaller } from './plugin-connection.ts';
import { invalidArguments, PluginError } from './plugin-error.ts';
import {
  BEATS,
  CELLS,
  ENDED,
  type FromThread,
  fromFailure,
  type Outcome,
  REPLIES,
  type ThreadData,
  type ToThread,
  WORKER_NAME,
} from './plugin-messages.ts';

/** How long a waiting caller sleeps before it looks for a sign of life. */
const LOOK_MS = 250;
/** After so many looks without one the thread counts as dead: 10 s, in which this machine was awake. */
const MAX_SILENT_LOOKS = 40;
/** How much longer than the connection the thread may take to end. */
const CLOSE_MARGIN_MS = 2000;

const ENDED_BY_ITSELF = 'The thread of the plugin has ended';
const NO_FILE =
  'The thread of the plugin cannot start: its file plugin-worker.js is not beside the code that starts it; a bundle needs ' +
  'that file built as well, or mcpwire marked as external (docs/bundling.md)';

interface Pending {
  settle(outcome: Outcome): void;
}

/**
 * The thread that has the connection to a plugin's server, seen from outside. It carries out calls in the order in which
 * they were begun, whether their caller has a promise or blocks.
 */
export class PluginThread implements ToolCaller {
  readonly #onWarning: PluginConnectionOptions['onWarning'];
  readonly #cells = new Int32Array(new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT));
  readonly #replies: MessagePort;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #closeMs: number;
  readonly #pending = new Map<number, Pending>();
  #tools: readonly ToolDefinition[] = [];
  #nextId = 1;
  #opening: { resolve(): void; reject(error: Error): void } | undefined;
  /** Why nothing is answered any more. */
  #ended: PluginError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(target: PluginTarget, { onWarning, signal: _, ...options }: PluginConnectionOptions) {
    const { port1, port2 } = new MessageChannel();
    this.#onWarning = onWarning;
    this.#replies = port1;
    this.#worker = startWorker({ target, options, cells: this.#cells, replies: port2 });
    this.#closeMs = CLOSE_MARGIN_MS + ((target.type === 'stdio' && target.graceMs) || DEFAULT_GRACE_MS);
    this.#worker.on('message', (message: FromThread) => this.#take(message));
    this.#worker.on('error', (cause) => this.#end(describeCrash(cause), cause));
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#end(ENDED_BY_ITSELF);
        this.#replies.close();
        resolve();
      });
    });
  }

  /**
   * @throws PluginError as the connection itself.
   * @throws TypeError when something in the target or the options cannot be handed to another thread.
   */
  static async open(target: PluginTarget, options: PluginConnectionOptions): Promise<PluginThread> {
    const { signal } = options;
    if (signal?.aborted) throw gaveUp('Cannot connect', signal);
    const thread = new PluginThread(
      'url' in target ? { ...target, url: String(target.url) } : target,
      options,
    );
    const onAbort = () => thread.#opening?.reject(gaveUp('Cannot connect', signal));
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await new Promise<void>((resolve, reject) => {
        thread.#opening = { resolve, reject };
      });
      return thread;
    } catch (error) {
      await thread.close();
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  get tools(): readonly ToolDefinition[] {
    return this.#tools;
  }

  call(name: string, args: JsonObject | undefined, signal: AbortSignal | undefined): Promise<string> {
    const what = `Cannot call tool ${JSON.stringify(name)}`;
    return new Promise((resolve, reject) => {
      if (this.#ended) throw this.#ended;
      if (signal?.aborted) throw gaveUp(what, signal);
      const id = this.#nextId++;
      const onAbort = () => {
        this.#pending.delete(id);
        this.#post({ type: 'cancel', id });
        reject(gaveUp(what, signal));
      };
      this.#post({ type: 'call', id, name, args });
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#pending.set(id, {
        settle: (outcome) => {
          signal?.removeEventListener('abort', onAbort);
          if ('text' in outcome) resolve(outcome.text);
          else reject(fromFailure(outcome.error));
        },
      });
    });
  }

  /** Blocks this thread until the other one has answered. @throws PluginError */
  callSync(name: string, args: JsonObject | undefined): string {
    if (this.#ended) throw this.#ended;
    this.#post({ type: 'callSync', name, args });
    const outcome = this.#waitForReply();
    if ('text' in outcome) return outcome.text;
    throw fromFailure(outcome.error);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#post({ type: 'close' });
    this.#ended ??= new PluginError('internal', 'The plugin is closed');
    const late = setTimeout(() => void this.#worker.terminate(), this.#closeMs);
    await this.#exited;
    clearTimeout(late);
  }

  #waitForReply(): Outcome {
    const cells = this.#cells;
    let silentLooks = 0;
    let beats = Atomics.load(cells, BEATS);
    for (;;) {
      // In this order: what comes between a look and the sleep ends the sleep at once.
      const replies = Atomics.load(cells, REPLIES);
      const hasEnded = Atomics.load(cells, ENDED) !== 0;
      const reply = receiveMessageOnPort(this.#replies);
      // Sound: the other end of this port sends nothing else.
      if (reply) return reply.message as Outcome;
      if (hasEnded) throw this.#end(ENDED_BY_ITSELF);
      if (silentLooks >= MAX_SILENT_LOOKS) throw this.#giveUp();
      Atomics.wait(cells, REPLIES, replies, LOOK_MS);
      const now = Atomics.load(cells, BEATS);
      silentLooks = now === beats ? silentLooks + 1 : 0;
      beats = now;
    }
  }

  #giveUp(): PluginError {
    void this.#worker.terminate();
    return this.#end(
      `The thread of the plugin gave no sign of life for ${(MAX_SILENT_LOOKS * LOOK_MS) / 1000} s`,
    );
  }

  /** @throws PluginError `validation` for arguments that cannot be handed to another thread. */
  #post(message: ToThread): void {
    try {
      this.#worker.postMessage(message);
    } catch (cause) {
      if (!('args' in message)) throw cause;
      throw invalidArguments(message.name, toError(cause).message, cause);
    }
  }

  #take(message: FromThread): void {
    switch (message.type) {
      case 'open':
        this.#tools = message.tools;
        this.#opening?.resolve();
        return;
      case 'failed':
        this.#opening?.reject(fromFailure(message.error));
        return;
      case 'warning':
        this.#onWarning?.(new McpError(message.code, message.message));
        return;
      case 'reply':
        this.#pending.get(message.id)?.settle(message.outcome);
        this.#pending.delete(message.id);
    }
  }

  #end(what: string, cause?: unknown): PluginError {
    this.#ended ??= new PluginError('internal', what, { cause });
    const { kind, message } = this.#ended;
    this.#opening?.reject(this.#ended);
    for (const { settle } of this.#pending.values()) settle({ error: { kind, message, schema: undefined } });
    this.#pending.clear();
    return this.#ended;
  }
}

function startWorker(workerData: ThreadData): Worker {
  try {
    return new Worker(new URL('./plugin-worker.js', import.meta.url), {
      name: WORKER_NAME,
      workerData,
      transferList: [workerData.replies],
      // Those of this process may not suit a file: `--input-type` and `--eval` do not.
      execArgv: [],
    });
  } catch (cause) {
    const { name, message } = toError(cause);
    if (name !== 'DataCloneError') throw new PluginError('internal', NO_FILE, { cause });
    throw new TypeError(`worker: true takes targets and options of plain data only: ${message}`, { cause });
  }
}

function describeCrash(cause: unknown): string {
  const error = toError(cause);
  // Node looks for the file of a thread as `require` does, and for what that imports as `import` does.
  const hasNoFile = 'code' in error && /^(ERR_)?MODULE_NOT_FOUND$/.test(String(error.code));
  return hasNoFile ? NO_FILE : `The thread of the plugin failed: ${error.message}`;
}

function gaveUp(what: string, signal: AbortSignal | undefined): PluginError {
  return new PluginError('internal', `${what}: it was given up by the caller`, { cause: signal?.reason });
}
