import { describe, expect, it } from 'vitest';
import { SharedRun } from '../../../src/protocol/auth/shared-run.ts';

/** A task that the test ends. */
function task() {
  const state = {
    runs: 0,
    signal: undefined as AbortSignal | undefined,
    end: () => {},
    fail: (_error: Error) => {},
  };
  const run = (signal: AbortSignal) => {
    state.runs++;
    state.signal = signal;
    return new Promise<void>((resolve, reject) => {
      state.end = resolve;
      state.fail = reject;
    });
  };
  return { state, run };
}

describe('a shared run', () => {
  it('is one for all who ask while it goes on, and another one afterwards', async () => {
    const shared = new SharedRun();
    const { state, run } = task();
    const waiting = [shared.join(undefined, run), shared.join(new AbortController().signal, run)];
    state.end();
    await Promise.all(waiting);
    expect(state.runs).toBe(1);
    const again = shared.join(undefined, run);
    state.end();
    await again;
    expect(state.runs).toBe(2);
  });

  it('fails for all', async () => {
    const shared = new SharedRun();
    const { state, run } = task();
    const waiting = [shared.join(undefined, run), shared.join(new AbortController().signal, run)];
    state.fail(new Error('no'));
    for (const outcome of await Promise.allSettled(waiting))
      expect(outcome).toMatchObject({ reason: new Error('no') });
  });

  it('goes on while anybody waits, and is aborted when nobody does', async () => {
    const shared = new SharedRun();
    const { state, run } = task();
    const [first, second] = [new AbortController(), new AbortController()];
    const outcomes = Promise.allSettled([shared.join(first.signal, run), shared.join(second.signal, run)]);
    first.abort(new Error('first'));
    await new Promise(setImmediate);
    expect(state.signal?.aborted).toBe(false);
    second.abort(new Error('second'));
    expect(await outcomes).toMatchObject([{ reason: new Error('first') }, { reason: new Error('second') }]);
    expect(state.signal?.reason).toEqual(new Error('second'));
    const next = shared.join(undefined, run);
    expect(state.runs).toBe(2);
    state.end();
    await next;
  });

  it('is waited for to its end by whoever has no signal', async () => {
    const shared = new SharedRun();
    const { state, run } = task();
    const waiting = shared.join(undefined, run);
    const controller = new AbortController();
    const other = shared.join(controller.signal, run);
    controller.abort(new Error('other'));
    await expect(other).rejects.toThrow('other');
    expect(state.signal?.aborted).toBe(false);
    state.end();
    await waiting;
  });

  it('is not begun for a signal that is aborted', async () => {
    const { state, run } = task();
    await expect(new SharedRun().join(AbortSignal.abort(new Error('gone')), run)).rejects.toThrow('gone');
    expect(state.runs).toBe(0);
  });
});
