import type { Transport } from '../../transport/index.ts';
import type { Connection } from './connection.ts';

/**
 * What a way of reaching a server brings to negotiation: how a connection is made, and what only that kind of transport
 * knows. A channel (a process, a socket, the other end of a pair) leaves the optional members out.
 */
export interface Binding {
  /** Makes the transport. */
  open(): Transport;
  /** Whether {@link Binding.open} may be called more than once. */
  readonly canReopen: boolean;
  /** Whether a failed probe says nothing of the server's dialect, so that it is reported as what it is. */
  isInconclusive?(error: unknown): boolean;
  /** An older transport to the same server, for when `initialize` was refused like this. */
  older?(error: unknown): Transport | undefined;
  /** Called when a session was opened on a connection. */
  sessionOpened?(connection: Connection): void;
  /**
   * Whether a request failed because the server has forgotten the session: it was `refused`, or it was `broken` off
   * when the server had taken it, so that it must not be sent twice.
   */
  sessionLoss?(error: unknown): 'refused' | 'broken' | undefined;
  /** Whether a request failed because nothing listens at the address now: it was not sent. */
  neverSent?(error: unknown): boolean;
  /** Called before a session is opened anew on the same connection. */
  forgetSession?(connection: Connection): void;
  /** Called before a connection is closed in good order. */
  farewell?(connection: Connection): Promise<void>;
}
