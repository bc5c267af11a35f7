import { McpError, RpcError, TimeoutError, toError } from './error.ts';
import { FaultRun } from './fault-run.ts';
import { Inbound, type InboundRequest } from './inbound.ts';
import type { LostMessage } from './lost-message.ts';
import {
  classify,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isJsonObject,
  type JsonObject,
  type JsonRpcErrorResponse,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResponse,
  type JsonRpcResult,
  METHOD_NOT_FOUND,
  type RequestId,
} from './message.ts';
import { assertSignal, positive } from './option.ts';
import { preview } from './preview.ts';

/** The default deadline of a call: 60 s. */
export const DEFAULT_TIMEOUT_MS = 60_000;
/** The default hard maximum of a call whose deadline progress may move: 10 min. */
export const DEFAULT_MAX_TIMEOUT_MS = 600_000;
/** How many inbound requests may run at once by default. */
export const DEFAULT_MAX_INBOUND = 4096;

/** What travels beside a message: the channel may map it to its own envelope, or ignore it. */
export interface SendOptions {
  /** Metadata for channels that have a header layer. */
  headers?: Readonly<Record<string, string>>;
}

/** Names a call that is given up, for {@link PeerOptions.onAbandon}. */
export interface AbandonedCall {
  readonly id: RequestId;
  readonly method: string;
  /** What the caller is told: `TIMEOUT`, `ABORTED`, or the reason of {@link Peer.abandonAll}. */
  readonly reason: McpError;
}

export interface PeerOptions {
  /** Who is at the other end, for error messages. */
  name: string;
  /** Hands a message to the channel. A promise means: not yet flushed, or not yet answered; its rejection fails the call. */
  send(message: JsonRpcMessage, options?: SendOptions): void | Promise<void>;
  /**
   * Answers a request: returns the result, or throws ({@link RpcError} travels as it is). `undefined` means that this
   * request gets no answer. Absent: -32601 for all.
   */
  onRequest?(request: JsonRpcRequest, inbound: InboundRequest): JsonObject | Promise<JsonObject> | undefined;
  onNotification?(notification: JsonRpcNotification): void;
  /** Called when a call is given up, so that the other side can be told in the way its protocol has. */
  onAbandon?(call: AbandonedCall): void;
  /** Gets an array of messages. Absent: reported to `onError`. */
  onBatch?(items: readonly unknown[]): void;
  /**
   * Gets a value that is neither a message nor an attempt at a response, with the id where one can be read, so that it
   * can be answered; without an id the first 32 in a row only. Absent: reported to `onError`.
   */
  onInvalid?(reason: string, id: RequestId | undefined): void;
  /**
   * The other side has sent a million messages in a row that are none, or answer nothing: the channel is to be ended.
   * Absent: reading goes on.
   */
  onFlood?(error: McpError): void;
  /**
   * Hears of everything that no caller can be told: of what is no message, or answers nothing, the first 32 in a row
   * one by one, and how many others there were. Never throws.
   */
  onError(error: McpError): void;
  /**
   * How many inbound requests may run at once; one more is answered with an error. A cancelled request counts until
   * its handler has ended. Default 4096; `Infinity` means no bound.
   */
  maxInbound?: number;
}

export interface CallOptions extends SendOptions {
  /** Gives the call up. The promise rejects with code `ABORTED`, its `cause` the signal's reason. */
  signal?: AbortSignal;
  /** The deadline in milliseconds. Default 60000; `Infinity` leaves only the hard maximum. */
  timeoutMs?: number;
  /** Whether progress starts the deadline anew. Default false. */
  resetOnProgress?: boolean;
  /**
   * The deadline that nothing can move, in milliseconds: the earlier of the two holds. Default 600000, or `timeoutMs`
   * where that is longer; `Infinity` means none.
   */
  maxTimeoutMs?: number;
  /** Gets the params of each progress notification handed to {@link Peer.progress} for this call. */
  onProgress?: (params: JsonObject) => void;
  /** The id to use, from {@link Peer.nextId}. Default: the next one. */
  id?: RequestId;
}

interface PendingCall {
  readonly peer: Peer;
  readonly id: RequestId;
  readonly method: string;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly hardDeadline: number;
  readonly resetOnProgress: boolean;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((params: JsonObject) => void) | undefined;
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
  deadline: number;
  /** The last message that was too long to be read while this call waited: it may have been the answer. */
  unread: McpError | undefined;
}

/** Answers to this many given-up calls are recognised as late; an answer to an older one is reported as unknown. */
const REMEMBERED_ABANDONED = 1024;
/** See {@link PeerOptions.onFlood}. */
const MAX_FAULTS = 1_000_000;
/** Deadlines are looked at this often at most, in milliseconds, however many there are. */
const SWEEP_STEP_MS = 5;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** One listener a signal, however many calls and peers share it: Node 20 warns of an eleventh. */
const WATCHED = new WeakMap<AbortSignal, { calls: Set<PendingCall>; listener: () => void }>();

/**
 * Correlates requests and responses over any duplex channel: what it sends goes to `send`, what arrives is handed to
 * {@link Peer.receive}. It knows JSON-RPC 2.0 and nothing of the methods that are called.
 *
 * What arrives is handled in order and synchronously, so a notification that was sent before a response has been
 * delivered when that response resolves.
 */
export class Peer {
  readonly #options: PeerOptions;
  readonly #maxInbound: number;
  readonly #pending = new Map<RequestId, PendingCall>();
  readonly #inbound = new Map<RequestId, Inbound>();
  readonly #abandoned = new Set<RequestId>();
  /** What was no message, or answered nothing, since the last good one. */
  readonly #faults = new FaultRun((messages) => this.#reportMore(messages));
  /** How many pending calls have a deadline: for them alone the timer keeps the process alive. */
  #withDeadline = 0;
  #nextId = 1;
  /** Handlers whose promise is not settled yet, those of cancelled requests included. */
  #running = 0;
  #closed: McpError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(options: PeerOptions) {
    const { maxInbound = DEFAULT_MAX_INBOUND } = options;
    positive('maxInbound', maxInbound, 'requests');
    this.#options = options;
    this.#maxInbound = maxInbound;
  }

  /** Why this peer is closed; undefined while it is open. */
  get closed(): McpError | undefined {
    return this.#closed;
  }

  /** How many of our calls wait for an answer. */
  get pendingCalls(): number {
    return this.#pending.size;
  }

  /** How many requests of the other side wait for our answer. */
  get inboundRequests(): number {
    return this.#inbound.size;
  }

  /** Reserves an id, for a request that must carry it in its own params. */
  nextId(): number {
    return this.#nextId++;
  }

  /**
   * Sends a request and waits for its result.
   *
   * @throws RpcError when the peer answers with an error.
   * @throws TimeoutError when the deadline passes.
   * @throws McpError `ABORTED` when the signal is aborted, `CLOSED` or the channel's own error when the channel ends,
   * `INVALID_MESSAGE` when what carries this call's id is no valid response, `LINE_TOO_LONG` when it is too long to be read.
   * @throws TypeError at once, when an option is out of its range or the id is in use.
   */
  call(method: string, params: JsonObject | undefined, options: CallOptions = {}): Promise<JsonObject> {
    const { signal, timeoutMs = DEFAULT_TIMEOUT_MS, resetOnProgress = false, onProgress } = options;
    const { maxTimeoutMs = Math.max(DEFAULT_MAX_TIMEOUT_MS, timeoutMs) } = options;
    positive('timeoutMs', timeoutMs, 'milliseconds');
    positive('maxTimeoutMs', maxTimeoutMs, 'milliseconds');
    assertSignal('signal', signal);
    if (this.#closed) return Promise.reject(this.#closed);
    if (signal?.aborted) return Promise.reject(abortedError(method, this.#options.name, signal));
    const id = options.id ?? this.#nextId++;
    if (this.#pending.has(id)) throw new TypeError(`id ${JSON.stringify(id)} is in use by a pending call`);
    return new Promise((resolve, reject) => {
      const now = performance.now();
      const hardDeadline = now + maxTimeoutMs;
      const deadline = Math.min(now + timeoutMs, hardDeadline);
      const call: PendingCall = {
        peer: this,
        id,
        method,
        timeoutMs,
        maxTimeoutMs,
        hardDeadline,
        resetOnProgress,
        signal,
        onProgress,
        resolve,
        reject,
        deadline,
        unread: undefined,
      };
      this.#pending.set(id, call);
      if (hasDeadline(call)) this.#withDeadline++;
      if (signal) this.#watch(signal, call);
      this.#armTimer(deadline, now);
      this.#sendRequest(call, params, options);
    });
  }

  /**
   * Sends a notification. A returned promise resolves when the channel has room again, and rejects when the message
   * could not be delivered; a caller that does not care may leave it alone.
   *
   * @throws TypeError when the message cannot be encoded.
   * @throws McpError when the channel refuses it at once.
   */
  notify(method: string, params?: JsonObject, options?: SendOptions): void | Promise<void> {
    const message: JsonRpcNotification = { jsonrpc: '2.0', method };
    if (params !== undefined) message.params = params;
    const sent = this.#closed ? Promise.reject(this.#closed) : this.#options.send(message, options);
    // A notification is often sent and forgotten: its rejection must not pass for an unhandled one.
    sent?.catch(() => {});
    return sent;
  }

  /** Takes one parsed value from the channel. Never throws. */
  receive(value: unknown): void {
    if (this.#closed) return;
    const classified = classify(value);
    switch (classified.kind) {
      case 'request':
        this.#faults.end();
        this.#onRequest(classified.message);
        return;
      case 'notification':
        this.#faults.end();
        this.#onNotification(classified.message);
        return;
      case 'result':
        this.#onResult(classified.message);
        return;
      case 'error':
        this.#onErrorResponse(classified.message);
        return;
      case 'batch':
        this.#onBatch(classified.items);
        return;
      case 'invalid':
        this.#onInvalid(value, classified.reason, classified.id);
    }
  }

  /**
   * Takes note of what the channel could not read, so that nobody waits for it in vain: the call that it answered fails
   * at once, a request is answered with an error.
   *
   * @param lost Which message it was, where that is known. Where it is not and it was too long, calls that time out say
   * so.
   * @returns false when nobody could be told.
   */
  lose(error: McpError, lost: LostMessage | undefined): boolean {
    if (this.#closed) return false;
    if (lost?.isResponse) return this.#loseResponse(error, lost.id);
    if (!lost) {
      if (error.code !== 'LINE_TOO_LONG') return false;
      for (const call of this.#pending.values()) call.unread = error;
      return false;
    }
    if (this.#inbound.has(lost.id)) return false;
    this.#respondError(lost.id, INVALID_REQUEST, error.message);
    return true;
  }

  /**
   * Delivers progress to the call it belongs to.
   *
   * @returns false when no pending call has this id.
   */
  progress(id: unknown, params: JsonObject): boolean {
    // Sound: a key of another type is simply not found.
    const call = this.#pending.get(id as RequestId);
    if (!call) return false;
    if (call.resetOnProgress) {
      call.deadline = Math.min(performance.now() + call.timeoutMs, call.hardDeadline);
    }
    if (call.onProgress) this.#run(call.onProgress, params, 'onProgress', call.method);
    return true;
  }

  /**
   * Stops the deadline of a pending call, or starts it anew: the channel waits for something that is not the other
   * side's to give, such as a person. The hard maximum goes on.
   */
  hold(id: RequestId, isHeld: boolean): void {
    const call = this.#pending.get(id);
    if (!call) return;
    const now = performance.now();
    call.deadline = isHeld ? call.hardDeadline : Math.min(now + call.timeoutMs, call.hardDeadline);
    this.#armTimer(call.deadline, now);
  }

  /** Fails one pending call: its channel broke, while others may live. */
  fail(id: RequestId, error: Error): void {
    const call = this.#pending.get(id);
    if (!call) return;
    this.#settle(call);
    call.reject(error);
  }

  /** Whether a request of the other side with this id waits for our answer. */
  isAnswering(id: RequestId): boolean {
    return this.#inbound.has(id);
  }

  /** Aborts the inbound request with this id; no answer will be sent for it. False when there is none. */
  cancelInbound(id: unknown, reason: string): boolean {
    // Sound: a key of another type is simply not found.
    const inbound = this.#inbound.get(id as RequestId);
    if (!inbound) return false;
    this.#inbound.delete(inbound.id);
    inbound.abort(new McpError('ABORTED', reason));
    return true;
  }

  /** Gives every pending call up: it rejects with `reason`, and the other side is told as of a call whose signal fires. */
  abandonAll(reason: McpError): void {
    for (const call of [...this.#pending.values()]) this.#abandon(call, reason);
  }

  /** Ends everything at once: pending calls reject with `reason`, inbound requests are aborted. Idempotent. */
  close(reason?: McpError): void {
    if (this.#closed) return;
    const error = reason ?? new McpError('CLOSED', `The connection to "${this.#options.name}" is closed`);
    this.#closed = error;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const calls = [...this.#pending.values()];
    this.#pending.clear();
    for (const call of calls) {
      if (call.signal) this.#unwatch(call.signal, call);
      call.reject(error);
    }
    const inbound = [...this.#inbound.values()];
    this.#inbound.clear();
    for (const request of inbound) request.abort(error);
  }

  #sendRequest(call: PendingCall, params: JsonObject | undefined, options: SendOptions): void {
    const request: JsonRpcRequest = { jsonrpc: '2.0', id: call.id, method: call.method };
    if (params !== undefined) request.params = params;
    try {
      const sent = this.#options.send(request, options);
      if (sent) sent.catch((error) => this.fail(call.id, toError(error)));
    } catch (error) {
      this.fail(call.id, toError(error));
    }
  }

  #loseResponse(error: McpError, id: RequestId): boolean {
    const call = this.#pending.get(id);
    if (!call) return this.#abandoned.delete(id);
    this.#settle(call);
    const message = `Cannot read the answer of "${this.#options.name}" to "${call.method}": ${error.message}`;
    call.reject(new McpError(error.code, message, { cause: error }));
    return true;
  }

  #onResult(message: JsonRpcResult): void {
    const call = this.#pending.get(message.id);
    if (!call) {
      this.#onUnknownResponse(message.id);
      return;
    }
    this.#faults.end();
    this.#settle(call);
    call.resolve(message.result);
  }

  #onErrorResponse({ id, error }: JsonRpcErrorResponse): void {
    const { code, message, data } = error;
    if (id === undefined || id === null) {
      if (this.#countFault()) return;
      this.#options.onError(
        new RpcError(code, `"${this.#options.name}" could not read a message: ${message}`, data),
      );
      return;
    }
    const call = this.#pending.get(id);
    if (!call) {
      this.#onUnknownResponse(id);
      return;
    }
    this.#faults.end();
    this.#settle(call);
    call.reject(new RpcError(code, message, data));
  }

  #onUnknownResponse(id: RequestId): void {
    if (this.#abandoned.delete(id) || this.#countFault()) return;
    this.#report(
      'UNKNOWN_RESPONSE',
      `"${this.#options.name}" answered a request that is not pending: id ${shown(id)}`,
    );
  }

  #onInvalid(value: unknown, reason: string, id: RequestId | undefined): void {
    if (isJsonObject(value) && value.method === undefined) {
      const call = id === undefined ? undefined : this.#pending.get(id);
      if (call) {
        // A malformed answer is still the answer: waiting for the deadline would only hide it.
        this.#settle(call);
        call.reject(
          new McpError(
            'INVALID_MESSAGE',
            `"${this.#options.name}" answered "${call.method}" with no valid message: ${reason}`,
          ),
        );
        return;
      }
      if (id !== undefined && this.#abandoned.delete(id)) return;
      // A response is never answered: the answer would carry an id of ours, and could settle a call of the other side.
      if (value.result !== undefined || value.error !== undefined) {
        if (this.#countFault()) return;
        this.#report('INVALID_MESSAGE', `"${this.#options.name}" sent what is no response: ${reason}`);
        return;
      }
    }
    const { onInvalid } = this.#options;
    const isCounted = this.#countFault();
    // With an id somebody waits for an answer.
    if (isCounted && (id === undefined || !onInvalid)) return;
    if (onInvalid) this.#run(() => onInvalid(reason, id), undefined, 'onInvalid');
    else this.#report('INVALID_MESSAGE', `"${this.#options.name}" sent what is no message: ${reason}`);
  }

  #onBatch(items: readonly unknown[]): void {
    const { onBatch } = this.#options;
    if (onBatch) this.#run(onBatch, items, 'onBatch');
    else this.#report('INVALID_MESSAGE', `"${this.#options.name}" sent a batch, which is not allowed here`);
  }

  /** False when the fault is to be told by itself. */
  #countFault(): boolean {
    if (this.#faults.length === MAX_FAULTS) this.#giveUp();
    return this.#faults.count();
  }

  #reportMore(messages: number): void {
    this.#report(
      'INVALID_MESSAGE',
      `"${this.#options.name}" sent ${messages} more in a row that are no messages, or answer no request`,
    );
  }

  #giveUp(): void {
    const message = `Gave up "${this.#options.name}": the last ${MAX_FAULTS} it sent are no messages, or answer no request`;
    this.#options.onFlood?.(new McpError('INVALID_MESSAGE', message));
  }

  #onNotification(notification: JsonRpcNotification): void {
    const { onNotification } = this.#options;
    if (onNotification) this.#run(onNotification, notification, 'The handler', notification.method);
  }

  #onRequest(request: JsonRpcRequest): void {
    const { id, method } = request;
    const handler = this.#options.onRequest;
    if (!handler) {
      this.#respondError(id, METHOD_NOT_FOUND, `Method not found: ${method}`);
    } else if (this.#inbound.has(id)) {
      // Without an id: an answer with it would pass for the answer to the request that is still running.
      this.#respondError(undefined, INVALID_REQUEST, `Request id ${shown(id)} is already in use`);
    } else if (this.#running >= this.#maxInbound) {
      this.#respondError(id, INTERNAL_ERROR, `Too many requests at once: ${this.#running} are running`);
    } else {
      const inbound = new Inbound(id, method);
      this.#inbound.set(id, inbound);
      this.#handle(handler, request, inbound);
    }
  }

  /** A result of `undefined`, not a promise of one, leaves the request without an answer. */
  #handle(handler: NonNullable<PeerOptions['onRequest']>, request: JsonRpcRequest, inbound: Inbound): void {
    let result: JsonObject | Promise<JsonObject> | undefined;
    try {
      result = handler(request, inbound);
    } catch (error) {
      this.#answerError(inbound, error);
      return;
    }
    if (result === undefined) {
      this.#release(inbound);
      return;
    }
    if (!isPromise(result)) {
      this.#answer(inbound, result);
      return;
    }
    this.#running++;
    result.then(
      (value) => {
        this.#running--;
        this.#answer(inbound, value);
      },
      (error) => {
        this.#running--;
        this.#answerError(inbound, error);
      },
    );
  }

  #answer(inbound: Inbound, result: JsonObject): void {
    if (!isJsonObject(result)) {
      this.#answerError(inbound, new TypeError('the result is no object'));
    } else if (this.#release(inbound)) {
      this.#respond({ jsonrpc: '2.0', id: inbound.id, result }, inbound);
    }
  }

  #answerError(inbound: Inbound, error: unknown): void {
    if (!this.#release(inbound)) return;
    if (error instanceof RpcError) {
      this.#respond({ jsonrpc: '2.0', id: inbound.id, error: error.toJSON() }, inbound);
      return;
    }
    this.#reportThrown('The handler', inbound.method, error);
    this.#respondError(inbound.id, INTERNAL_ERROR, 'Internal error');
  }

  /** False when nobody waits for the answer any more: the request was cancelled, or the peer closed. */
  #release(inbound: Inbound): boolean {
    return this.#inbound.get(inbound.id) === inbound && this.#inbound.delete(inbound.id);
  }

  #respondError(id: RequestId | undefined, code: number, message: string): void {
    const error = { code, message };
    this.#respond(id === undefined ? { jsonrpc: '2.0', error } : { jsonrpc: '2.0', id, error });
  }

  /** Every answer leaves here. What a handler made and JSON cannot hold is replaced by an error that it can. */
  #respond(response: JsonRpcResponse, inbound?: Inbound): void {
    try {
      this.#options.send(response)?.catch((cause) => this.#onAnswerLost(cause));
    } catch (cause) {
      if (!inbound || cause instanceof McpError) {
        this.#onAnswerLost(cause);
        return;
      }
      const reason = toError(cause).message;
      this.#report('HANDLER_FAILED', `The answer to ${preview(inbound.method)} is no JSON: ${reason}`, cause);
      this.#respondError(inbound.id, INTERNAL_ERROR, 'Internal error');
    }
  }

  #onAnswerLost(cause: unknown): void {
    if (this.#closed) return;
    this.#report(
      'TRANSPORT_FAILED',
      `Cannot answer "${this.#options.name}": ${toError(cause).message}`,
      cause,
    );
  }

  #abandon(call: PendingCall, reason: McpError): void {
    this.#settle(call);
    this.#abandoned.add(call.id);
    if (this.#abandoned.size > REMEMBERED_ABANDONED) {
      for (const oldest of this.#abandoned) {
        this.#abandoned.delete(oldest);
        break;
      }
    }
    call.reject(reason);
    try {
      this.#options.onAbandon?.({ id: call.id, method: call.method, reason });
    } catch (cause) {
      this.#report(
        'TRANSPORT_FAILED',
        `Cannot tell "${this.#options.name}" that "${call.method}" was abandoned`,
        cause,
      );
    }
  }

  #settle(call: PendingCall): void {
    this.#pending.delete(call.id);
    if (call.signal) this.#unwatch(call.signal, call);
    if (hasDeadline(call) && --this.#withDeadline === 0) this.#timer?.unref();
  }

  #watch(signal: AbortSignal, call: PendingCall): void {
    const watched = WATCHED.get(signal);
    if (watched) {
      watched.calls.add(call);
      return;
    }
    const calls = new Set([call]);
    const listener = () => {
      for (const aborted of [...calls]) {
        const { peer, method } = aborted;
        peer.#abandon(aborted, abortedError(method, peer.#options.name, signal));
      }
    };
    WATCHED.set(signal, { calls, listener });
    signal.addEventListener('abort', listener, { once: true });
  }

  #unwatch(signal: AbortSignal, call: PendingCall): void {
    const watched = WATCHED.get(signal);
    if (!watched) return;
    watched.calls.delete(call);
    if (watched.calls.size > 0) return;
    WATCHED.delete(signal);
    signal.removeEventListener('abort', watched.listener);
  }

  // One timer for all calls: it is armed for the earliest deadline seen and left alone when that call settles, so
  // that a call costs no timer of its own. When it fires it looks at every deadline and is armed for the next.

  #armTimer(at: number, now: number): void {
    if (at >= this.#timerAt) {
      if (this.#withDeadline === 1) this.#timer?.ref();
      return;
    }
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(
      () => this.#sweep(),
      Math.min(Math.max(at - now, SWEEP_STEP_MS), LONGEST_TIMER_MS),
    );
  }

  #sweep(): void {
    const now = performance.now();
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    const late: PendingCall[] = [];
    for (const call of this.#pending.values()) {
      if (call.deadline <= now) late.push(call);
      else next = Math.min(next, call.deadline);
    }
    if (next < Number.POSITIVE_INFINITY) this.#armTimer(next, now);
    for (const call of late) this.#abandon(call, this.#timeoutError(call, now));
  }

  #timeoutError(call: PendingCall, now: number): TimeoutError {
    const isHard = call.hardDeadline <= now;
    const spentMs = isHard ? call.maxTimeoutMs : call.timeoutMs;
    const bound = isHard ? `the hard maximum of ${spentMs} ms` : `${spentMs} ms`;
    const unread = call.unread
      ? `; meanwhile a message was lost, maybe the answer: ${call.unread.message}`
      : '';
    return new TimeoutError(
      `"${this.#options.name}" did not answer "${call.method}" within ${bound}${unread}`,
      spentMs,
    );
  }

  /** Calls a callback of the application: what it throws, or rejects with, is reported and goes no further. */
  #run<T>(callback: (argument: T) => void, argument: T, role: string, method?: string): void {
    try {
      const returned: unknown = callback(argument);
      if (isPromise(returned)) returned.then(undefined, (cause) => this.#reportThrown(role, method, cause));
    } catch (cause) {
      this.#reportThrown(role, method, cause);
    }
  }

  #reportThrown(role: string, method: string | undefined, cause: unknown): void {
    const what = method === undefined ? role : `${role} of ${preview(method)}`;
    this.#report('HANDLER_FAILED', `${what} threw: ${toError(cause).message}`, cause);
  }

  #report(code: McpError['code'], message: string, cause?: unknown): void {
    this.#options.onError(new McpError(code, message, cause === undefined ? undefined : { cause }));
  }
}

function hasDeadline({ timeoutMs, maxTimeoutMs }: PendingCall): boolean {
  return timeoutMs < Number.POSITIVE_INFINITY || maxTimeoutMs < Number.POSITIVE_INFINITY;
}

function abortedError(method: string, name: string, signal: AbortSignal): McpError {
  return new McpError('ABORTED', `The call of "${method}" at "${name}" was aborted by the caller`, {
    cause: signal.reason,
  });
}

function isPromise(value: unknown): value is PromiseLike<JsonObject> {
  // Sound: only the one member is read, and it is looked at before it is used.
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  );
}

function shown(id: RequestId): string {
  return typeof id === 'string' ? preview(id) : String(id);
}
