import { INTERNAL_ERROR, isJsonObject, type JsonObject, RpcError } from '../../jsonrpc/index.ts';
import { META_SUBSCRIPTION_ID } from '../meta.ts';
import type { SubscriptionFilter } from '../types/features.ts';
import type { ServerCapabilities } from '../types/identity.ts';
import {
  type ChangedList,
  type ChangeListener,
  ChangeOutbox,
  type ChangeSender,
  LIST_CHANGED,
} from './changes.ts';
import type { Context } from './context.ts';
import type { ServerCore } from './core.ts';
import type { Carrier } from './dialect.ts';
import { invalidParams } from './feature.ts';

/** The filter's member for each list. */
const LIST_MEMBER = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const satisfies { [list in ChangedList]: keyof SubscriptionFilter };

/**
 * The open subscriptions of a server, over all carriers.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
export class Subscriptions {
  readonly #core: ServerCore;
  readonly #open = new Set<Subscription>();
  readonly #perCarrier = new WeakMap<Carrier, number>();

  constructor(core: ServerCore) {
    this.#core = core;
  }

  /**
   * Opens one: acknowledges it at once and resolves when the server ends it. It is over without an answer when the
   * request is cancelled.
   *
   * @throws RpcError -32602 for a filter that is none, -32603 when there are too many.
   */
  open(context: Context): Promise<object> {
    const filter = readFilter(context.params.notifications, this.#core.settings.maxWatchedResources);
    const honoured = honour(filter, this.#core.capabilities);
    this.#count(context.carrier, 1);
    const subscription = new Subscription(this, context, honoured);
    this.#open.add(subscription);
    this.#core.feed.listen(subscription);
    subscription.acknowledge();
    return subscription.ended;
  }

  /** Ends those of one carrier, or all, in good order. */
  end(carrier?: Carrier): void {
    for (const subscription of [...this.#open]) {
      if (carrier === undefined || subscription.context.carrier === carrier) subscription.end();
    }
  }

  /** One of them is over. */
  forget(subscription: Subscription): void {
    if (!this.#open.delete(subscription)) return;
    this.#core.feed.unlisten(subscription);
    this.#count(subscription.context.carrier, -1);
  }

  #count(carrier: Carrier, change: 1 | -1): void {
    const { maxSubscriptions, maxSubscriptionsPerConnection } = this.#core.settings;
    const here = (this.#perCarrier.get(carrier) ?? 0) + change;
    if (change === 1 && (here > maxSubscriptionsPerConnection || this.#open.size >= maxSubscriptions)) {
      throw new RpcError(INTERNAL_ERROR, 'Too many open subscriptions: close one first');
    }
    this.#perCarrier.set(carrier, here);
  }
}

class Subscription implements ChangeListener, ChangeSender {
  readonly context: Context;
  /** Resolves with the answer to the request when it is over. */
  readonly ended: Promise<JsonObject>;
  readonly #owner: Subscriptions;
  readonly #filter: SubscriptionFilter;
  readonly #watched: ReadonlySet<string> | undefined;
  readonly #outbox = new ChangeOutbox(this);
  #resolve: (result: JsonObject) => void = () => {};

  constructor(owner: Subscriptions, context: Context, filter: SubscriptionFilter) {
    this.#owner = owner;
    this.context = context;
    this.#filter = filter;
    if (filter.resourceSubscriptions) this.#watched = new Set(filter.resourceSubscriptions);
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    context.signal.addEventListener('abort', () => this.end(), { once: true });
  }

  acknowledge(): void {
    // The first to be sent: whatever changes from now on waits behind it.
    this.#outbox.push(ACKNOWLEDGEMENT);
  }

  listChanged(list: ChangedList): void {
    if (this.#filter[LIST_MEMBER[list]]) this.#outbox.push(LIST_CHANGED[list]);
  }

  resourceUpdated(uri: string): void {
    if (this.#watched?.has(uri)) this.#outbox.push(UPDATED + uri);
  }

  end(): void {
    this.#outbox.clear();
    this.#owner.forget(this);
    this.#resolve({ _meta: this.#meta });
  }

  get #meta(): JsonObject {
    return { [META_SUBSCRIPTION_ID]: this.context.requestId };
  }

  sendChange(key: string): void | Promise<void> {
    const { carrier, requestId } = this.context;
    if (this.context.isAborted) return;
    if (key === ACKNOWLEDGEMENT)
      return carrier.notify(requestId, key, { notifications: this.#filter, _meta: this.#meta });
    if (!key.startsWith(UPDATED)) return carrier.notify(requestId, key, { _meta: this.#meta });
    return carrier.notify(requestId, 'notifications/resources/updated', {
      uri: key.slice(UPDATED.length),
      _meta: this.#meta,
    });
  }
}

const ACKNOWLEDGEMENT = 'notifications/subscriptions/acknowledged';
const UPDATED = 'uri ';

function readFilter(notifications: unknown, maxWatched: number): SubscriptionFilter {
  if (!isJsonObject(notifications)) throw invalidParams('"notifications" must be an object');
  const { resourceSubscriptions: uris } = notifications;
  if (uris !== undefined && !(Array.isArray(uris) && uris.every((uri) => typeof uri === 'string'))) {
    throw invalidParams('"notifications.resourceSubscriptions" must be an array of strings');
  }
  if (uris && uris.length > maxWatched) {
    throw invalidParams(`Cannot watch more than ${maxWatched} resources in one subscription`);
  }
  // Sound: of the other members only the value true means anything.
  return notifications as SubscriptionFilter;
}

/** The part of a filter that the server can serve. */
function honour(filter: SubscriptionFilter, capabilities: ServerCapabilities): SubscriptionFilter {
  const honoured: SubscriptionFilter = {};
  if (filter.toolsListChanged === true && capabilities.tools?.listChanged) honoured.toolsListChanged = true;
  if (filter.promptsListChanged === true && capabilities.prompts?.listChanged)
    honoured.promptsListChanged = true;
  if (filter.resourcesListChanged === true && capabilities.resources?.listChanged)
    honoured.resourcesListChanged = true;
  if (filter.resourceSubscriptions && capabilities.resources?.subscribe) {
    honoured.resourceSubscriptions = filter.resourceSubscriptions;
  }
  return honoured;
}
