/** One run of a task for all who ask while it goes on. It is aborted when nobody waits for it any more. */
export class SharedRun {
  #current: { promise: Promise<void>; controller: AbortController; waiting: number } | undefined;

  /**
   * Waits for the run that goes on, or starts one.
   *
   * @throws what the task throws, or the reason of the signal. Without a signal it is waited for in any case.
   */
  async join(signal: AbortSignal | undefined, task: (signal: AbortSignal) => Promise<void>): Promise<void> {
    signal?.throwIfAborted();
    this.#current ??= this.#start(task);
    const run = this.#current;
    run.waiting++;
    if (!signal) return run.promise;
    try {
      await abortable(run.promise, signal);
    } finally {
      if (signal.aborted) run.waiting--;
      if (run.waiting === 0) this.#abort(run, signal.reason);
    }
  }

  /** Gives up the run that goes on, for all who wait for it. */
  stop(reason: unknown): void {
    if (this.#current) this.#abort(this.#current, reason);
  }

  #start(task: (signal: AbortSignal) => Promise<void>) {
    const controller = new AbortController();
    const promise = task(controller.signal);
    const run = { promise, controller, waiting: 0 };
    const done = () => this.#forget(run);
    promise.then(done, done);
    return run;
  }

  #abort(run: { controller: AbortController }, reason: unknown): void {
    // Whoever comes now starts anew.
    this.#forget(run);
    run.controller.abort(reason);
  }

  #forget(run: object): void {
    if (this.#current === run) this.#current = undefined;
  }
}

/** What a promise resolves with. @throws the signal's reason where that comes first. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
