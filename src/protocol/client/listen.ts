import { isJsonObject, McpError, toError } from '../../jsonrpc/index.ts';
import { assertArray, assertSignal, kindOf, misuse, shown } from '../../jsonrpc/option.ts';
import type { SubscriptionFilter } from '../types/features.ts';
import { backoffDelay, readBackoff, wait } from './backoff.ts';
import { everythingIn, type ListenEvent, type ListenSink, type OpenListen } from './changes.ts';
import type { DialectChannel } from './dialect.ts';
import { untilAborted } from './until-aborted.ts';

/** A subscription that was held this long is opened again soon when it drops. */
const CALM_MS = 10_000;

/** What a subscription needs of the client that it belongs to. */
export interface ListenHost {
  /** Does something on the connection; waits while one is being made. Rejects when there will be none. */
  onConnection<Value>(work: (channel: DialectChannel) => Promise<Value>): Promise<Value>;
  /** Aborted when the client closes. */
  readonly closing: AbortSignal;
  readonly timeoutMs: number;
  /** Called before a reader hears of changes that may have been missed. */
  missed(): void;
  warn(warning: McpError): void;
}

/**
 * A stream of changes, as an async iterable. Changes that nobody has read yet are merged, so that a slow reader costs
 * no memory. After a drop it is opened again; then one event of each kind is delivered, because changes may have been
 * missed. It ends when it is closed, when the client is, or when the server ends it in good order.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
export class Subscription implements AsyncIterable<ListenEvent> {
  readonly #host: ListenHost;
  readonly #filter: SubscriptionFilter;
  readonly #waiting = new Map<string, ListenEvent>();
  readonly #stop = new AbortController();
  #open: OpenListen | undefined;
  /** How often it was dropped soon after it had been opened, and when it was opened last. */
  #drops = 0;
  #openedAt = 0;
  #honoured: SubscriptionFilter = {};
  #wake = () => {};
  #state: { over: false } | { over: true; error?: Error } = { over: false };

  private constructor(host: ListenHost, filter: SubscriptionFilter) {
    this.#host = host;
    this.#filter = filter;
  }

  /**
   * @throws McpError when the server refuses, TimeoutError when it does not acknowledge in time.
   * @throws TypeError for a filter or a signal that cannot be meant.
   */
  static async open(
    host: ListenHost,
    filter: SubscriptionFilter,
    signal: AbortSignal | undefined,
  ): Promise<Subscription> {
    assertFilter(filter);
    assertSignal('signal', signal);
    const subscription = new Subscription(host, filter);
    const stop = () => void subscription.close();
    const signals = signal ? [host.closing, signal] : [host.closing];
    if (host.closing.aborted) throw host.closing.reason;
    for (const each of signals) {
      if (each.aborted)
        throw new McpError('ABORTED', 'Cannot listen: aborted by the caller', { cause: each.reason });
      each.addEventListener('abort', stop, { once: true, signal: subscription.#stop.signal });
    }
    try {
      await untilAborted(subscription.#openOnce(), AbortSignal.any(signals));
    } catch (error) {
      subscription.#finish();
      throw host.closing.aborted ? host.closing.reason : error;
    }
    return subscription;
  }

  /** The part of what was asked for that the server agreed to report. */
  get filter(): SubscriptionFilter {
    return this.#honoured;
  }

  /** Ends the stream: the server is told, iteration ends. Idempotent, never rejects. */
  async close(): Promise<void> {
    const open = this.#open;
    this.#finish();
    await open?.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ListenEvent, void, undefined> {
    try {
      for (;;) {
        for (const [key, event] of this.#waiting) {
          this.#waiting.delete(key);
          yield event;
        }
        if (this.#waiting.size > 0) continue;
        if (this.#state.over) {
          if (this.#state.error) throw this.#state.error;
          return;
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      await this.close();
    }
  }

  async #openOnce(): Promise<void> {
    const { timeoutMs } = this.#host;
    let ended = false;
    const sink: ListenSink = {
      event: (event) => this.#add(event),
      missed: () => this.#miss(),
      ended: (error) => {
        ended = true;
        this.#onEnded(error);
      },
    };
    const open = await this.#host.onConnection((channel) =>
      channel.dialect.listen(channel, this.#filter, sink, timeoutMs),
    );
    this.#honoured = open.honoured;
    this.#openedAt = performance.now();
    if (this.#state.over) await open.close();
    else if (!ended) this.#open = open;
  }

  #add(event: ListenEvent): void {
    const key = event.type === 'resourceUpdated' ? `${event.type} ${event.uri}` : event.type;
    this.#waiting.set(key, event);
    this.#wake();
  }

  #onEnded(error: Error | undefined): void {
    this.#open = undefined;
    if (this.#state.over) return;
    if (error === undefined) {
      this.#finish();
      return;
    }
    this.#host.warn(
      new McpError('TRANSPORT_FAILED', `A subscription broke and is opened again: ${error.message}`, {
        cause: error,
      }),
    );
    void this.#reopen();
  }

  async #reopen(): Promise<void> {
    const backoff = readBackoff({});
    if (performance.now() - this.#openedAt > CALM_MS) this.#drops = 0;
    for (let attempt = 1; ; attempt++) {
      try {
        await wait(backoffDelay(backoff, ++this.#drops), this.#stop.signal);
        await this.#openOnce();
        break;
      } catch (error) {
        if (this.#state.over) return;
        if (attempt > backoff.maxRetries) {
          this.#finish(toError(error));
          return;
        }
      }
    }
    this.#miss();
  }

  #miss(): void {
    this.#host.missed();
    for (const event of everythingIn(this.#honoured)) this.#add(event);
  }

  #finish(error?: Error): void {
    if (this.#state.over) return;
    this.#state = error ? { over: true, error } : { over: true };
    this.#open = undefined;
    this.#stop.abort();
    this.#wake();
  }
}

const LISTS: readonly string[] = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'];

/** A member that nobody knows would be a subscription that never hears anything. */
function assertFilter(filter: SubscriptionFilter): void {
  if (!isJsonObject(filter)) misuse('filter', 'an object', kindOf(filter));
  for (const [name, value] of Object.entries(filter)) {
    if (name === 'resourceSubscriptions') assertArray(name, value);
    else if (!LISTS.includes(name))
      misuse('filter', `of ${LISTS.join(', ')} and resourceSubscriptions`, name);
    else if (value !== undefined && typeof value !== 'boolean') misuse(name, 'true or false', shown(value));
  }
}
