import { McpError } from '../../jsonrpc/index.ts';

/**
 * Waits for a promise, but no longer than until the signal is aborted: whoever keeps it may not heed the signal.
 *
 * @throws McpError `ABORTED` with the signal's reason as its cause; whatever the promise rejects with.
 */
export async function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () =>
      reject(new McpError('ABORTED', 'The request was aborted by the caller', { cause: signal.reason }));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
