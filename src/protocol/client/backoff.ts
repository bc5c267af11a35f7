import { setTimeout as sleep } from 'node:timers/promises';
import { notNegative } from '../../jsonrpc/option.ts';

/** How often and how fast something that failed is tried again: exponential delays with full jitter. */
export interface BackoffOptions {
  /** How often it is tried again after the first attempt failed. Default 5. */
  maxRetries?: number;
  /** The longest first delay, in milliseconds; it doubles with each attempt. Default 500. */
  baseDelayMs?: number;
  /** No delay is longer, in milliseconds. Default 30000. */
  maxDelayMs?: number;
  /** Whether each delay is drawn at random from zero to its length, so that many clients do not return at once. Default true. */
  jitter?: boolean;
}

/** Fills in the defaults. @throws TypeError for a negative number. */
export function readBackoff(options: BackoffOptions): Required<BackoffOptions> {
  const { maxRetries = 5, baseDelayMs = 500, maxDelayMs = 30_000, jitter = true } = options;
  for (const [name, value] of Object.entries({ maxRetries, baseDelayMs, maxDelayMs })) {
    notNegative(name, value);
  }
  return { maxRetries, baseDelayMs, maxDelayMs, jitter };
}

/** The delay before attempt number `attempt` + 1, in milliseconds. */
export function backoffDelay(options: Required<BackoffOptions>, attempt: number): number {
  const delay = Math.min(options.maxDelayMs, options.baseDelayMs * 2 ** (attempt - 1));
  return options.jitter ? Math.random() * delay : delay;
}

/** Waits. @throws the signal's reason as soon as it is aborted. */
export async function wait(delayMs: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(delayMs, undefined, { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}
