import {
  type AbandonedCall,
  type JsonObject,
  type JsonRpcNotification,
  McpError,
  Peer,
} from '../../jsonrpc/index.ts';
import type { Transport } from '../../transport/index.ts';
import type { ChannelTap, ClientDialect, DialectChannel } from './dialect.ts';

export interface ConnectionHooks {
  /** Gets every notification that is not spent on a pending call. */
  notification(notification: JsonRpcNotification): void;
  /** Something was skipped, or failed where no caller could be told. */
  warning(warning: McpError): void;
  /** Notifications may have been lost, while the connection goes on. */
  missed(): void;
  /** The channel ended by itself. */
  closed(connection: Connection, reason: McpError): void;
  /** The server has forgotten the session, and no request was there to learn it. */
  sessionLost(connection: Connection): void;
}

/** Requests that open a connection: a server that does not know them must not be told that they are cancelled. */
const NEVER_CANCELLED: readonly string[] = ['initialize', 'server/discover'];

/** One open transport with the peer that correlates its messages. A client may go through several. */
export class Connection implements DialectChannel {
  readonly transport: Transport;
  readonly peer: Peer;
  serverStream: Promise<unknown> | undefined;
  /** Whether the dialect was taken from a saved verdict, and nothing has come yet that bears it out. */
  isUnproven = false;
  readonly #hooks: ConnectionHooks;
  // How many listeners each resource has; the server hears of the first and of the last.
  readonly #subscribed = new Map<string, number>();
  #isLost = false;
  readonly #taps = new Set<ChannelTap>();
  #dialect: ClientDialect;

  private constructor(transport: Transport, dialect: ClientDialect, hooks: ConnectionHooks) {
    this.transport = transport;
    this.#dialect = dialect;
    this.#hooks = hooks;
    this.peer = new Peer({
      name: transport.name,
      send: (message, options) => transport.send(message, options),
      onRequest: (request, inbound) => this.#dialect.answer(request, inbound),
      onNotification: (notification) => this.#onNotification(notification),
      onAbandon: (call) => this.#onAbandon(call),
      onBatch: (items) => this.#onBatch(items),
      onFlood: (error) => {
        this.#onClose(error);
        void transport.close();
      },
      onError: (error) => hooks.warning(error),
    });
  }

  /** Starts the transport. @throws McpError when it does not start; `ABORTED` as soon as the signal is aborted. */
  static async open(
    transport: Transport,
    dialect: ClientDialect,
    hooks: ConnectionHooks,
    signal: AbortSignal | undefined,
  ): Promise<Connection> {
    const connection = new Connection(transport, dialect, hooks);
    const giveUp = () => void transport.close();
    signal?.addEventListener('abort', giveUp);
    try {
      if (signal?.aborted) throw signal.reason;
      await transport.start({
        message: (value) => connection.peer.receive(value),
        error: (error, lost) => {
          if (!connection.peer.lose(error, lost)) hooks.warning(error);
        },
        waiting: (id, isWaiting) => connection.peer.hold(id, isWaiting),
        close: (reason) => connection.#onClose(reason),
      });
    } catch (error) {
      if (!signal?.aborted) throw error;
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
    if (signal?.aborted) {
      await connection.close();
      const message = `Connecting to "${transport.name}" was aborted by the caller`;
      throw new McpError('ABORTED', message, { cause: signal.reason });
    }
    return connection;
  }

  /** Whether the channel ended by itself. */
  get isLost(): boolean {
    return this.#isLost;
  }

  get name(): string {
    return this.transport.name;
  }

  /** How messages are shaped and answered. It starts as the dialect that expects the least of the server. */
  get dialect(): ClientDialect {
    return this.#dialect;
  }

  use(dialect: ClientDialect): void {
    this.#dialect = dialect;
  }

  /** Adds someone who follows what arrives. Returns what removes them. */
  tap(tap: ChannelTap): () => void {
    this.#taps.add(tap);
    return () => this.#taps.delete(tap);
  }

  async subscribe(uri: string, timeoutMs: number): Promise<void> {
    const count = this.#subscribed.get(uri) ?? 0;
    this.#subscribed.set(uri, count + 1);
    if (count > 0) return;
    try {
      await this.#callAbout(uri, 'resources/subscribe', timeoutMs);
    } catch (error) {
      this.#subscribed.delete(uri);
      throw error;
    }
  }

  async unsubscribe(uri: string, timeoutMs: number): Promise<void> {
    const count = this.#subscribed.get(uri) ?? 0;
    if (count > 1) {
      this.#subscribed.set(uri, count - 1);
      return;
    }
    this.#subscribed.delete(uri);
    if (this.peer.closed) return;
    // Nobody waits for events of it any more, so a refusal changes nothing.
    await this.#callAbout(uri, 'resources/unsubscribe', timeoutMs).catch(() => {});
  }

  /** Told by the binding that the server has forgotten the session. */
  loseSession(): void {
    this.#hooks.sessionLost(this);
  }

  /** Told by the binding that something the server said by itself may not have arrived. */
  missMessages(): void {
    this.#hooks.missed();
    for (const tap of this.#taps) tap.missed?.();
  }

  /** Subscribes to every resource again, after a new session was opened. What the server refuses now is a warning. */
  async resubscribe(timeoutMs: number): Promise<void> {
    for (const uri of this.#subscribed.keys()) {
      try {
        await this.#callAbout(uri, 'resources/subscribe', timeoutMs);
      } catch (cause) {
        const message = `"${this.name}" does not let this client subscribe to "${uri}" again`;
        this.#hooks.warning(new McpError('RPC_ERROR', message, { cause }));
      }
    }
  }

  #callAbout(uri: string, method: string, timeoutMs: number): Promise<JsonObject> {
    return this.peer.call(method, { uri }, { timeoutMs, headers: this.#dialect.headers(method, { uri }) });
  }

  async close(): Promise<void> {
    // On a channel the other side must hear that nobody waits any more, or it works on before it ends. The end of an
    // exchange says so by itself.
    if (!this.transport.abandon) {
      this.peer.abandonAll(new McpError('CLOSED', `The connection to "${this.name}" is closed`));
    }
    this.peer.close();
    await this.transport.close();
  }

  #onNotification(notification: JsonRpcNotification): void {
    const { method, params } = notification;
    if (method === 'notifications/progress' && params && this.peer.progress(params.progressToken, params))
      return;
    if (
      method === 'notifications/cancelled' &&
      params &&
      this.peer.cancelInbound(params.requestId, reasonOf(params))
    ) {
      return;
    }
    for (const tap of this.#taps) tap.notification(method, params);
    this.#hooks.notification(notification);
  }

  #onAbandon({ id, method, reason }: AbandonedCall): void {
    const { transport } = this;
    const byMessage = !transport.abandon || this.#dialect.cancelsByMessage;
    if (byMessage && !NEVER_CANCELLED.includes(method)) {
      const sent = this.peer.notify('notifications/cancelled', { requestId: id, reason: reason.message });
      // The caller has its answer already: a channel that cannot carry the cancellation is about to say so itself.
      if (sent) sent.catch(() => {});
    }
    transport.abandon?.(id);
  }

  #onBatch(items: readonly unknown[]): void {
    if (this.#dialect.acceptsBatches) {
      for (const item of items) this.peer.receive(item);
      return;
    }
    const revision = this.#dialect.revision;
    const message = `"${this.transport.name}" sent a batch, which revision ${revision} does not have`;
    this.#hooks.warning(new McpError('INVALID_MESSAGE', message));
  }

  #onClose(reason: McpError | undefined): void {
    const wasOpen = this.peer.closed === undefined;
    const error = reason ?? new McpError('CLOSED', `"${this.transport.name}" closed`);
    this.peer.close(error);
    if (!wasOpen) return;
    this.#isLost = true;
    for (const tap of this.#taps) tap.closed(error);
    this.#hooks.closed(this, error);
  }
}

function reasonOf(params: JsonObject): string {
  return typeof params.reason === 'string' ? params.reason : 'The server cancelled the request';
}
