import type { JsonRpcMessage, LostMessage, McpError, RequestId, SendOptions } from '../jsonrpc/index.ts';

/** Where a transport hands what arrives. The methods are called in order, synchronously, and never throw. */
export interface TransportSink {
  /** One parsed value; whether it is a JSON-RPC message is for the peer to say. */
  message(value: unknown): void;
  /**
   * Something that cost one message or less: the transport goes on. `lost` says which message, where that is known.
   */
  error(error: McpError, lost?: LostMessage): void;
  /**
   * A request waits for credentials, or has got them: meanwhile it is not the other side that takes its time. Absent:
   * nobody asks.
   */
  waiting?(id: RequestId, isWaiting: boolean): void;
  /**
   * The other end sends nothing more but may still read. A sink with this method goes on sending, and ends the channel
   * by {@link Transport.close} when it has said all; without it the channel ends at once.
   */
  end?(): void;
  /** The channel has ended; called exactly once, last. `reason` is absent when {@link Transport.close} asked for it. */
  close(reason?: McpError): void;
}

/**
 * Moves messages and knows nothing of their meaning. It has the four duties that the specification gives a binding:
 * framing, delivery, carrying request metadata, and signalling that a request is abandoned.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
export interface Transport {
  /** What this channel leads to, for error messages: a command, an address. */
  readonly name: string;
  /** True when {@link SendOptions.headers} reach the other side; where it is absent nobody needs to compute them. */
  readonly carriesHeaders?: boolean;
  /** True when messages that are sent shortly after each other may arrive as one piece. */
  readonly joinsMessages?: boolean;
  /**
   * Opens the channel. Called once, before anything else.
   *
   * @throws McpError when the channel cannot be opened; the sink then hears nothing.
   */
  start(sink: TransportSink): Promise<void>;
  /**
   * Sends one message. Returns nothing when it was taken and there is room for more; a promise when the sender should
   * wait: it resolves when there is room again, and rejects when the message cannot be delivered.
   *
   * @throws TypeError when the message cannot be encoded as JSON.
   */
  send(message: JsonRpcMessage, options?: SendOptions): void | Promise<void>;
  /**
   * Gives up a request that was sent: its exchange is ended. Absent on channels that have no exchange of their own for
   * each request; there the protocol sends a `notifications/cancelled` message.
   */
  abandon?(id: RequestId): void;
  /** Ends the channel and waits until everything it owns is gone. Idempotent, never rejects. */
  close(): Promise<void>;
}
