import {
  type CallOptions,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isJsonObject,
  type JsonObject,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResponse,
  type LostMessage,
  McpError,
  PARSE_ERROR,
  Peer,
  type RequestId,
  RpcError,
  type SendOptions,
  toError,
} from '../../jsonrpc/index.ts';
import type { Transport } from '../../transport/index.ts';
import { isStatelessMeta } from '../meta.ts';
import { Batches } from './batches.ts';
import type { ServerCore } from './core.ts';
import type { Carrier, ServerDialect } from './dialect.ts';
import { Session } from './session.ts';
import type { StatelessDialect } from './stateless.ts';

export interface ConnectOptions {
  /** Who is at the other end, where that is known; handlers find it as `context.auth`. */
  auth?: unknown;
  /**
   * How long requests may take to be answered once the connection is closed, or the client has ended its input, in
   * milliseconds; 0 means that they are given up at once. Default 1500.
   */
  drainMs?: number;
}

const DEFAULT_DRAIN_MS = 1500;
/**
 * How long after the last progress of a request its answer leaves, in milliseconds, where both may arrive in one piece:
 * clients of the SDKs forget a request when they read its answer, and look at progress that was read with it only then.
 */
const APART_MS = 4;
/** How many messages may wait for a client that does not read; most transports stop reading long before. */
const MAX_HELD = 65_536;

/** One client's channel to a server. Both dialects are spoken on it, side by side. */
export class ServerConnection implements Carrier {
  readonly auth: unknown;
  readonly apart: Carrier['apart'];
  /** Resolves when the channel has ended, whoever ended it, and all that was said is written. Never rejects. */
  readonly closed: Promise<void>;
  readonly #drainMs: number;
  readonly #core: ServerCore;
  readonly #stateless: StatelessDialect;
  readonly #transport: Transport;
  readonly #peer: Peer;
  readonly #batches: Batches;
  #session: Session;
  #resolveClosed = () => {};
  /** What came while the client was behind, in order; undefined while it is not. */
  #held: unknown[] | undefined;
  #onIdle: (() => void) | undefined;
  /** Whether new requests are refused. */
  #isShutDown = false;
  #closing: Promise<void> | undefined;

  constructor(core: ServerCore, stateless: StatelessDialect, transport: Transport, options: ConnectOptions) {
    this.auth = options.auth;
    this.#drainMs = options.drainMs ?? DEFAULT_DRAIN_MS;
    this.#core = core;
    this.#stateless = stateless;
    this.#transport = transport;
    this.apart = transport.joinsMessages ? apart : undefined;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#peer = new Peer({
      name: transport.name,
      send: (message, sendOptions) => {
        if (this.#onIdle) queueMicrotask(() => this.#checkIdle());
        if (!this.#batches.take(message)) return this.#deliver(message, sendOptions);
      },
      onRequest: (request, inbound) => {
        if (this.#isShutDown) throw new RpcError(INTERNAL_ERROR, 'The server is shutting down');
        return this.#dialectOf(request).answer(request, inbound, this);
      },
      onNotification: (notification) => this.#onNotification(notification),
      onAbandon: ({ id, reason }) => this.#onAbandon(id, reason),
      onBatch: (items) => this.#onBatch(items),
      onInvalid: (reason, id) => this.#refuse(reason, id),
      onFlood: (error) => {
        core.report(error);
        void this.#end();
      },
      onError: (error) => core.report(error),
      maxInbound: core.settings.maxConcurrentRequests,
    });
    this.#batches = new Batches({
      receive: (item) => this.#peer.receive(item),
      refuse: (reason, id) => this.#refuse(reason, id),
      isAnswering: (id) => this.#peer.isAnswering(id),
      // Sound: a transport encodes whatever is JSON; only this revision's clients are sent an array.
      send: (answers) => this.#transmit(answers as unknown as JsonRpcMessage),
    });
    this.#session = this.#newSession();
    void this.#start();
  }

  notify(_id: RequestId | undefined, method: string, params: JsonObject | undefined): void | Promise<void> {
    return this.#peer.notify(method, params);
  }

  call(
    _id: RequestId,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<JsonObject> {
    return this.#peer.call(method, params, options);
  }

  /**
   * Ends the connection: subscriptions in good order, other requests once they are answered, or given up when that takes
   * too long. Idempotent, never rejects.
   */
  close(): Promise<void> {
    this.#isShutDown = true;
    return this.#finish();
  }

  #finish(): Promise<void> {
    this.#closing ??= this.#finishOnce();
    return this.#closing;
  }

  async #finishOnce(): Promise<void> {
    this.#stateless.subscriptions.end(this);
    await this.#drain();
    await this.#end();
  }

  async #drain(): Promise<void> {
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#drainMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  get #isIdle(): boolean {
    return this.#peer.inboundRequests === 0 && !this.#held;
  }

  #checkIdle(): void {
    if (this.#isIdle) this.#onIdle?.();
  }

  async #start(): Promise<void> {
    try {
      await this.#transport.start({
        message: (value) => this.#onMessage(value),
        error: (error, lost) => this.#onUnreadable(error, lost),
        end: () => void this.#finish(),
        close: () => void this.#end(),
      });
    } catch (error) {
      this.#core.report(new McpError('TRANSPORT_FAILED', toError(error).message, { cause: error }));
      await this.#end();
    }
  }

  /** While the client is behind with reading, nothing is begun whose answer would pile up with the others. */
  #onMessage(value: unknown): void {
    if (!this.#held) {
      this.#peer.receive(value);
    } else if (this.#held.length < MAX_HELD) {
      this.#held.push(value);
    } else {
      const message = `"${this.#transport.name}" sent ${MAX_HELD} messages without reading an answer`;
      this.#core.report(new McpError('TRANSPORT_FAILED', message));
      void this.#end();
    }
  }

  #deliver(message: JsonRpcMessage, options?: SendOptions): void | Promise<void> {
    try {
      const sent = this.#transport.send(message, options);
      if (sent && !this.#held) this.#hold(sent);
      return sent;
    } catch (error) {
      // What is lost would be waited for in vain: better that the client sees the connection end.
      if (error instanceof McpError) {
        if (!this.#peer.closed) this.#core.report(error);
        void this.#end();
      }
      throw error;
    }
  }

  #hold(room: Promise<void>): void {
    this.#held = [];
    const release = () => {
      const held = this.#held ?? [];
      this.#held = undefined;
      for (const value of held) this.#onMessage(value);
      this.#checkIdle();
    };
    room.then(release, release);
  }

  /** How a request comes decides the dialect: one that says its version itself belongs to no session. */
  #dialectOf({ method, params }: JsonRpcRequest): ServerDialect {
    const meta = params?._meta;
    if (isJsonObject(meta) && isStatelessMeta(meta)) return this.#stateless;
    if (method === 'initialize' && this.#session.isOpened) {
      this.#session.close();
      this.#session = this.#newSession();
    }
    return this.#session;
  }

  #newSession(): Session {
    return new Session(this.#core, (method, params) => this.notify(undefined, method, params));
  }

  #onNotification(notification: JsonRpcNotification): void {
    const { method, params } = notification;
    switch (method) {
      case 'notifications/cancelled':
        this.#peer.cancelInbound(params?.requestId, cancelReason(params));
        this.#batches.drop(params?.requestId);
        this.#checkIdle();
        return;
      case 'notifications/progress':
        if (params) this.#peer.progress(params.progressToken, params);
        return;
      default:
        this.#session.notified(notification);
    }
  }

  #onAbandon(id: RequestId, reason: McpError): void {
    const sent = this.#peer.notify('notifications/cancelled', { requestId: id, reason: reason.message });
    // The handler has its answer already, and a channel that is about to break says so itself.
    if (sent) sent.catch(() => {});
  }

  #onUnreadable(error: McpError, lost: LostMessage | undefined): void {
    this.#core.report(error);
    if (!this.#peer.lose(error, lost)) this.#send(undefined, PARSE_ERROR, error.message);
  }

  #onBatch(items: readonly unknown[]): void {
    const { maxConcurrentRequests } = this.#core.settings;
    if (!this.#session.acceptsBatches) {
      this.#refuse('batches are not part of the protocol that is spoken here', undefined);
    } else if (items.length === 0 || items.length > maxConcurrentRequests) {
      this.#refuse(`a batch must hold 1 to ${maxConcurrentRequests} messages`, undefined);
    } else {
      this.#batches.receive(items);
    }
  }

  /** An id that is being answered is left out: an error with it would pass for that answer. */
  #refuse(reason: string, id: RequestId | undefined): void {
    const isFree = id !== undefined && !this.#peer.isAnswering(id);
    this.#send(isFree ? id : undefined, INVALID_REQUEST, `Invalid message: ${reason}`);
  }

  #send(id: RequestId | undefined, code: number, message: string): void {
    const error = { code, message };
    const response: JsonRpcResponse =
      id === undefined ? { jsonrpc: '2.0', error } : { jsonrpc: '2.0', id, error };
    if (!this.#batches.take(response)) this.#transmit(response);
  }

  #transmit(message: JsonRpcMessage): void {
    const fail = (error: unknown) =>
      this.#core.report(
        new McpError('TRANSPORT_FAILED', `Cannot answer "${this.#transport.name}"`, { cause: error }),
      );
    try {
      this.#deliver(message)?.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  async #end(): Promise<void> {
    this.#session.close();
    this.#peer.close();
    this.#onIdle?.();
    await this.#transport.close();
    this.#resolveClosed();
  }
}

function apart(sentAt: number): Promise<void> | undefined {
  const waitMs = sentAt + APART_MS - performance.now();
  return waitMs > 0 ? new Promise((resolve) => setTimeout(resolve, Math.ceil(waitMs))) : undefined;
}

function cancelReason(params: JsonObject | undefined): string {
  return typeof params?.reason === 'string' ? params.reason : 'The client cancelled the request';
}
