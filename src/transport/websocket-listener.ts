import type { IncomingMessage } from 'node:http';

/** What is known of a client beside its transport. */
export interface WebSocketClientInfo {
  /** The request that was upgraded. */
  readonly request: IncomingMessage;
  /** What `authorize` returned. */
  readonly auth: unknown;
}

/** Where clients are accepted, until it is closed. */
export interface WebSocketListener {
  /** The address of the endpoint; undefined on a `server` that was given. */
  readonly url: string | undefined;
  /** How many clients are connected. */
  readonly connections: number;
  /** Accepts no more, ends all connections and waits until they are gone. Idempotent, never rejects. */
  close(): Promise<void>;
}
