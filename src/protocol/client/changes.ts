import type { SubscriptionFilter } from '../types/features.ts';

/** Something at the server changed: read it again. */
export type ListenEvent =
  | { type: 'toolsListChanged' }
  | { type: 'promptsListChanged' }
  | { type: 'resourcesListChanged' }
  | { type: 'resourceUpdated'; uri: string };

/** Where a dialect reports what happens on an open subscription. */
export interface ListenSink {
  event(event: ListenEvent): void;
  /** Changes may have been missed, while the subscription goes on. */
  missed(): void;
  /** The subscription is over: without an error the server ended it in good order. */
  ended(error?: Error): void;
}

/** A subscription that the server agreed to. */
export interface OpenListen {
  /** The part of the wanted filter that the server honours. */
  readonly honoured: SubscriptionFilter;
  /** Gives it up. Never rejects. */
  close(): Promise<void>;
}

/** Reads a change notification; undefined when it is none. */
export function readChange(method: string, params: { uri?: unknown } | undefined): ListenEvent | undefined {
  switch (method) {
    case 'notifications/tools/list_changed':
      return { type: 'toolsListChanged' };
    case 'notifications/prompts/list_changed':
      return { type: 'promptsListChanged' };
    case 'notifications/resources/list_changed':
      return { type: 'resourcesListChanged' };
    case 'notifications/resources/updated':
      return typeof params?.uri === 'string' ? { type: 'resourceUpdated', uri: params.uri } : undefined;
    default:
      return undefined;
  }
}

/** Whether a filter asks for this change. */
export function wants(filter: SubscriptionFilter, event: ListenEvent): boolean {
  return event.type === 'resourceUpdated'
    ? (filter.resourceSubscriptions?.includes(event.uri) ?? false)
    : filter[event.type] === true;
}

/** What to report where changes may have been missed: one event of each kind. */
export function everythingIn(filter: SubscriptionFilter): ListenEvent[] {
  const events: ListenEvent[] = [];
  if (filter.toolsListChanged) events.push({ type: 'toolsListChanged' });
  if (filter.promptsListChanged) events.push({ type: 'promptsListChanged' });
  if (filter.resourcesListChanged) events.push({ type: 'resourcesListChanged' });
  for (const uri of filter.resourceSubscriptions ?? []) events.push({ type: 'resourceUpdated', uri });
  return events;
}
