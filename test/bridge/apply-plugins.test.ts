import { ReadableStream, type TransformStream } from 'node:stream/web';
import { describe, expect, it } from 'vitest';
import {
  type ApplyOptions,
  applyPlugins,
  createPluginStream,
  type Plugin,
  type StreamBlock,
  type StreamContext,
} from '../../src/bridge/index.ts';

const text = (value: string): StreamBlock => ({ type: 'text', text: value });
const toolCall = (id: string): StreamBlock => ({ type: 'toolCall', id, name: 'work', arguments: {} });

/** A plugin whose tool runs until the test ends it. */
function working() {
  const running: { id: string; signal: AbortSignal | undefined; finish(output: string): void }[] = [];
  let waiting: (() => void) | undefined;
  const plugin: Plugin = {
    name: 'working',
    onStreamChunk: (block, { signal }: StreamContext) => {
      if (block.type !== 'toolCall') return block;
      return new Promise((resolve) => {
        const finish = (output: string) => resolve({ type: 'toolResult', toolCallId: block.id, output });
        signal?.addEventListener('abort', () => finish('cancelled'));
        running.push({ id: block.id, signal, finish });
        waiting?.();
      });
    },
  };
  /** Resolves when so many calls were begun. */
  const started = async (count: number) => {
    while (running.length < count) {
      await new Promise<void>((resolve) => {
        waiting = resolve;
      });
    }
  };
  return { plugin, running, started };
}

interface Reading {
  next(): Promise<{ done?: boolean | undefined; value?: StreamBlock | undefined }>;
  /** Reads no more. */
  leave(): Promise<unknown>;
}

/** Both ways to send blocks through plugins. */
const WAYS: [
  string,
  (blocks: AsyncIterable<StreamBlock>, plugins: Plugin[], options?: ApplyOptions) => Reading,
][] = [
  [
    'applyPlugins',
    (blocks, plugins, options) => {
      const iterator = applyPlugins(blocks, plugins, options);
      return { next: () => iterator.next(), leave: async () => iterator.return?.() };
    },
  ],
  [
    'createPluginStream',
    (blocks, plugins, options) => {
      const reader = ReadableStream.from(blocks)
        .pipeThrough(createPluginStream(plugins, options))
        .getReader();
      return { next: () => reader.read(), leave: () => reader.cancel() };
    },
  ],
];

async function* from(...blocks: StreamBlock[]): AsyncGenerator<StreamBlock> {
  yield* blocks;
}

async function all({ next }: Reading, blocks: StreamBlock[] = []): Promise<StreamBlock[]> {
  for (let { value } = await next(); value; { value } = await next()) blocks.push(value);
  return blocks;
}

describe.each(WAYS)('%s', (_, apply) => {
  it('P06 passes on blocks that no plugin changes as the same objects', async () => {
    const blocks = [text('a'), toolCall('1'), { type: 'thinking', text: 'b' } as const];
    const got = await all(apply(from(...blocks), [{ name: 'idle' }]));
    expect(got).toHaveLength(3);
    for (const [at, block] of blocks.entries()) expect(got[at]).toBe(block);
  });

  it('P07 waits while a tool runs, and keeps the order', async () => {
    const { plugin, running, started } = working();
    const iterator = apply(
      from(text('before'), toolCall('1'), text('between'), toolCall('2'), text('after')),
      [plugin],
    );
    const blocks: StreamBlock[] = [];
    const done = all(iterator, blocks);
    await started(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(blocks).toEqual([text('before')]);
    expect(running.map(({ id }) => id)).toEqual(['1']);
    running[0]?.finish('one');
    await started(2);
    await new Promise((resolve) => setImmediate(resolve));
    expect(blocks).toHaveLength(3);
    running[1]?.finish('two');
    await done;
    expect(blocks).toEqual([
      text('before'),
      { type: 'toolResult', toolCallId: '1', output: 'one' },
      text('between'),
      { type: 'toolResult', toolCallId: '2', output: 'two' },
      text('after'),
    ]);
  });

  it('sends each block through the plugins in their order, then tells them of all, once', async () => {
    const heard: unknown[] = [];
    const adding = (name: string): Plugin => ({
      name,
      onStreamChunk: async (block) => (block.type === 'text' ? text(block.text + name) : block),
      onResponseComplete: (blocks) => {
        heard.push([name, blocks]);
      },
    });
    expect(await all(apply(from(text('x'), text('y')), [adding('a'), adding('b')]))).toEqual([
      text('xab'),
      text('yab'),
    ]);
    const blocks = [text('xab'), text('yab')];
    expect(heard).toEqual([
      ['a', blocks],
      ['b', blocks],
    ]);
  });

  it('P14 cancels the running call when the signal is aborted, and ends with its reason', async () => {
    const { plugin, running, started } = working();
    const controller = new AbortController();
    const completed: unknown[] = [];
    const watching: Plugin = {
      name: 'watching',
      onResponseComplete: (blocks) => void completed.push(blocks),
    };
    const iterator = apply(from(toolCall('1'), text('never')), [watching, plugin], {
      signal: controller.signal,
    });
    const first = iterator.next();
    await started(1);
    controller.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    expect(running[0]?.signal?.aborted).toBe(true);
    expect(completed).toEqual([]);
  });

  it('P14 ends at once on an aborted signal, though the model says nothing', async () => {
    const controller = new AbortController();
    async function* silent(): AsyncGenerator<StreamBlock> {
      await new Promise(() => {});
    }
    const next = apply(silent(), [], { signal: controller.signal }).next();
    controller.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    const aborted = apply(from(text('x')), [], { signal: AbortSignal.abort(new Error('before')) });
    await expect(aborted.next()).rejects.toThrow('before');
  });

  it('P14 leaves the source, and cancels the running call, when nobody reads on', async () => {
    const { plugin, running, started } = working();
    let left = 0;
    async function* source(): AsyncGenerator<StreamBlock> {
      try {
        yield text('first');
        yield toolCall('1');
        yield text('never');
      } finally {
        left++;
      }
    }
    const reading = apply(source(), [plugin]);
    expect(await reading.next()).toMatchObject({ value: text('first') });
    const pending = reading.next().catch(() => undefined);
    await started(1);
    await reading.leave();
    await pending;
    expect(running[0]?.signal?.aborted).toBe(true);
    await expect.poll(() => left).toBe(1);
  });

  it('ends with what the model or a plugin throws', async () => {
    async function* breaking(): AsyncGenerator<StreamBlock> {
      yield text('a');
      throw new Error('model broke');
    }
    const broken = apply(breaking(), []);
    expect(await broken.next()).toMatchObject({ value: text('a') });
    await expect(broken.next()).rejects.toThrow('model broke');
    const throwing: Plugin = {
      name: 'throwing',
      onStreamChunk: () => {
        throw new Error('plugin broke');
      },
    };
    await expect(all(apply(from(text('a')), [throwing]))).rejects.toThrow('plugin broke');
  });

  it('lets go of a signal that outlives the stream', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(signal, args);
    };
    await all(apply(from(text('a'), text('b')), [{ name: 'idle' }], { signal }));
    expect(listeners).toBe(0);
  });
});

describe('createPluginStream', () => {
  it('is a stage of web streams', async () => {
    const stage: TransformStream<StreamBlock, StreamBlock> = createPluginStream([]);
    expect(stage).toBeInstanceOf(globalThis.TransformStream);
    const got: StreamBlock[] = [];
    for await (const block of ReadableStream.from(from(text('a'))).pipeThrough(stage)) got.push(block);
    expect(got).toEqual([text('a')]);
  });
});

describe('a host with blocks of its own', () => {
  interface Citation {
    type: 'citation';
    url: string;
  }

  it('has them passed on, and known by their types', async () => {
    async function* answer(): AsyncGenerator<StreamBlock | Citation> {
      yield text('see');
      yield { type: 'citation', url: 'a:b' };
    }
    const shorten: Plugin<Citation> = {
      name: 'shorten',
      onStreamChunk: (block) => (block.type === 'citation' ? { ...block, url: 'a:' } : block),
    };
    const unaware: Plugin = { name: 'unaware', onStreamChunk: (block) => block };
    const urls: string[] = [];
    for await (const block of applyPlugins(answer(), [shorten, unaware])) {
      if (block.type === 'citation') urls.push(block.url);
    }
    expect(urls).toEqual(['a:']);
  });
});
