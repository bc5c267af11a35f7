import type { Transformer, TransformStream } from 'node:stream/web';
import type { OtherBlock, Plugin, StreamBlock } from './model-stream.ts';

export interface ApplyOptions {
  /** Gives the stream up: what plugins are doing is cancelled, and the stream ends with the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Sends a model's answer through plugins, in their order. The stream waits while one of them works, so that blocks keep
 * their order. Leaving the returned iterable early leaves the stream too.
 *
 * What a plugin throws ends the stream.
 */
export function applyPlugins<Other extends OtherBlock = never>(
  stream: AsyncIterable<StreamBlock | Other>,
  plugins: readonly Plugin<NoInfer<Other>>[],
  options: ApplyOptions = {},
): AsyncIterableIterator<StreamBlock | Other> {
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const blocks = run(stream, plugins, signal);
  return {
    next: () => blocks.next(),
    return: () => {
      stop.abort();
      return blocks.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/**
 * Makes a stage for a web stream that does what {@link applyPlugins} does. What a plugin is doing is cancelled when the
 * readable end is, and when the signal is aborted.
 */
export function createPluginStream<Other extends OtherBlock = never>(
  plugins: readonly Plugin<NoInfer<Other>>[],
  options: ApplyOptions = {},
): TransformStream<StreamBlock | Other, StreamBlock | Other> {
  const stop = new AbortController();
  const { signal: given } = options;
  const signal = given ? AbortSignal.any([given, stop.signal]) : stop.signal;
  const seen: (StreamBlock | Other)[] = [];
  let fail = () => {};
  const unlisten = () => given?.removeEventListener('abort', fail);
  const transformer: CancellableTransformer<StreamBlock | Other> = {
    start: (controller) => {
      fail = () => controller.error(given?.reason);
      if (given?.aborted) fail();
      else given?.addEventListener('abort', fail);
    },
    transform: async (block, controller) => {
      try {
        const shown = await throughAll(plugins, block, signal);
        seen.push(shown);
        controller.enqueue(shown);
      } catch (error) {
        unlisten();
        throw error;
      }
    },
    flush: () => {
      unlisten();
      return complete(plugins, seen);
    },
    cancel: (reason) => {
      unlisten();
      stop.abort(reason);
    },
  };
  return new globalThis.TransformStream(transformer);
}

/** Node has this member, its types do not. */
interface CancellableTransformer<Block> extends Transformer<Block, Block> {
  cancel(reason: unknown): void;
}

async function* run<Other extends OtherBlock>(
  stream: AsyncIterable<StreamBlock | Other>,
  plugins: readonly Plugin<Other>[],
  signal: AbortSignal,
): AsyncGenerator<StreamBlock | Other, undefined> {
  const source = stream[Symbol.asyncIterator]();
  const seen: (StreamBlock | Other)[] = [];
  let isOver = false;
  try {
    for (;;) {
      const next = await unlessAborted(source.next(), signal);
      if (next.done) break;
      const shown = await throughAll(plugins, next.value, signal);
      seen.push(shown);
      yield shown;
    }
    isOver = true;
    await complete(plugins, seen);
    return undefined;
  } finally {
    if (!isOver) await leave(source, signal);
  }
}

async function throughAll<Other extends OtherBlock>(
  plugins: readonly Plugin<Other>[],
  block: StreamBlock | Other,
  signal: AbortSignal,
): Promise<StreamBlock | Other> {
  let shown = block;
  for (const plugin of plugins) {
    signal.throwIfAborted();
    if (plugin.onStreamChunk) shown = await plugin.onStreamChunk(shown, { signal });
  }
  signal.throwIfAborted();
  return shown;
}

async function complete<Other extends OtherBlock>(
  plugins: readonly Plugin<Other>[],
  blocks: readonly (StreamBlock | Other)[],
): Promise<void> {
  for (const plugin of plugins) await plugin.onResponseComplete?.(blocks);
}

/** A source that is in the middle of a step takes note only after it; nobody waits for that then. */
async function leave(source: AsyncIterator<unknown>, signal: AbortSignal): Promise<void> {
  const left = source.return?.();
  if (!signal.aborted) await left;
  else left?.catch(() => {});
}

function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
