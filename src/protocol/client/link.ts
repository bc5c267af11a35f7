import {
  type CallOptions,
  DEFAULT_MAX_TIMEOUT_MS,
  type JsonObject,
  McpError,
  type RpcError,
  TimeoutError,
  toError,
} from '../../jsonrpc/index.ts';
import { assertFunction, assertSignal, positive } from '../../jsonrpc/option.ts';
import { isModernError, UNSUPPORTED_PROTOCOL_VERSION } from '../errors.ts';
import type { Progress } from '../types/features.ts';
import type { LoggingLevel } from '../types/identity.ts';
import { type BackoffOptions, backoffDelay, readBackoff, wait } from './backoff.ts';
import type { Connection, ConnectionHooks } from './connection.ts';
import type { ClientDialect, RequestExtras } from './dialect.ts';
import type { InputHandlers } from './input.ts';
import { type NegotiationOptions, negotiate, reconsider, renegotiate, reopenSession } from './negotiate.ts';
import { answerRound } from './rounds.ts';
import { untilAborted } from './until-aborted.ts';

const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** How long a server must have kept a session or a connection before it is trusted to keep the next one. */
const CALM_MS = 60_000;

export interface RequestOptions {
  /** Gives the request up: the server is told. The promise rejects with code `ABORTED`. */
  signal?: AbortSignal;
  /**
   * The deadline, in milliseconds. Default: the client's `timeoutMs`; `Infinity` means none. When the server asks for
   * input, answering it and each further round have as much again, within `maxTimeoutMs` in all.
   */
  timeoutMs?: number;
  /** Gets each progress notification before the result. */
  onProgress?: (progress: Progress) => void;
  /** Whether progress starts the deadline anew. Default false. */
  resetTimeoutOnProgress?: boolean;
  /** The deadline that progress cannot move, in milliseconds. Default 600000. */
  maxTimeoutMs?: number;
  /**
   * Returns the first result as it is, whatever its type: input that it asks for is not answered by the client's
   * handlers, and a type that this client does not know is for the caller to refuse. Default false.
   */
  once?: boolean;
}

/** @throws TypeError for an option that cannot mean anything. */
export function assertRequestOptions({ signal, timeoutMs, maxTimeoutMs, onProgress }: RequestOptions): void {
  assertSignal('signal', signal);
  if (timeoutMs !== undefined) positive('timeoutMs', timeoutMs, 'milliseconds');
  if (maxTimeoutMs !== undefined) positive('maxTimeoutMs', maxTimeoutMs, 'milliseconds');
  assertFunction('onProgress', onProgress);
}

export interface LinkOptions {
  handlers: InputHandlers;
  timeoutMs: number;
  maxRounds: number;
  /** What {@link Link.reconnect} does by itself when the connection is lost; undefined: nothing. */
  autoReconnect: BackoffOptions | undefined;
  onClose: ((reason: McpError) => void) | undefined;
  onReconnect: () => void;
}

/**
 * What a client sends its requests over: one connection at a time. It answers what a server asks on the way, agrees on
 * another revision when one is refused, and makes the connection anew when it is lost.
 */
export class Link {
  readonly #negotiation: NegotiationOptions;
  readonly #options: LinkOptions;
  #connection: Connection | undefined;
  #repairing: Promise<void> | undefined;
  #isRestoring = false;
  /** How many sessions in a row were lost soon, and when the last one was. */
  #sessionLosses = 0;
  #sessionLostAt = Number.NEGATIVE_INFINITY;
  /** How many connections in a row were lost soon after they had been made anew, and when the last one was made. */
  #relapses = 0;
  #remadeAt = Number.NEGATIVE_INFINITY;
  #reconnection: Promise<void> | undefined;
  readonly #closing = new AbortController();
  /** Those who wait for the next connection, or for the end. */
  readonly #waiting = new Set<() => void>();
  /** The least severe log message wanted; each dialect says it in its own way. */
  logLevel: LoggingLevel | undefined;

  constructor(
    negotiation: Omit<NegotiationOptions, 'hooks'>,
    hooks: Omit<ConnectionHooks, 'closed' | 'sessionLost'>,
    options: LinkOptions,
  ) {
    this.#options = options;
    this.#negotiation = {
      ...negotiation,
      hooks: {
        ...hooks,
        closed: (connection, reason) => {
          if (connection === this.#connection) this.#onLost(reason);
        },
        sessionLost: (connection) => void this.#restoreSession(connection, connection.dialect),
      },
    };
  }

  /** @throws McpError as {@link negotiate} does. */
  async open(): Promise<void> {
    this.#connection = await negotiate(this.#negotiation);
  }

  /** @throws McpError `CLOSED` before the first connection. */
  get connection(): Connection {
    if (!this.#connection) throw new McpError('CLOSED', 'The client is not connected');
    return this.#connection;
  }

  /** Aborted when the client is closed for good. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Does something on the connection, which is waited for where it is lost and can be made anew; once more where the
   * server refuses for a reason that can be mended.
   *
   * @throws McpError when there will be no connection.
   */
  async onConnection<Value>(work: (connection: Connection) => Promise<Value>): Promise<Value> {
    while (this.connection.peer.closed) {
      if (this.closing.aborted || !this.#negotiation.binding.canReopen) throw this.connection.peer.closed;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    return this.#mending(this.connection, work);
  }

  /** Whether arguments of tools ride in headers as well. */
  get mirrorsParams(): boolean {
    const { dialect, transport } = this.connection;
    return dialect.mirrorsParams && transport.carriesHeaders === true;
  }

  /** Sends a request and waits for its final result. */
  async request(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
    headers?: Record<string, string>,
  ): Promise<JsonObject> {
    return this.finish(method, params, await this.ask(method, params, options, headers), options, headers);
  }

  /** Sends a request and waits for its first result, which may ask for input. */
  async ask(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
    headers?: Record<string, string>,
  ): Promise<JsonObject> {
    assertRequestOptions(options);
    if (this.#reconnection) await this.#inTime(method, this.#reconnection, options);
    // Whether it worked is for the request itself to find out.
    if (this.#repairing) await this.#inTime(method, this.#repairing.catch(nothing), options);
    return this.#send(this.connection, method, params, options, headers);
  }

  /** Answers what a result asks for until there is a final one; that may be `first` itself. */
  async finish(
    method: string,
    params: JsonObject | undefined,
    first: JsonObject,
    options: RequestOptions,
    headers?: Record<string, string>,
  ): Promise<JsonObject> {
    const { dialect } = this.connection;
    if (options.once || dialect.resultType(method, first) === 'complete') return first;
    return this.#driveRounds(method, params, first, options, headers);
  }

  notify(method: string, params: JsonObject | undefined): Promise<void> {
    return this.#mending(this.connection, async ({ dialect, peer, transport }) => {
      const shaped = dialect.shape(params, undefined);
      const headers = transport.carriesHeaders ? { headers: dialect.headers(method, shaped) } : undefined;
      await peer.notify(method, shaped, headers);
    });
  }

  /**
   * Makes the connection anew, with growing, jittered delays between the attempts; at least one is made. Calls that
   * come meanwhile wait for it; one attempt serves all who ask.
   *
   * @throws McpError `NOT_SUPPORTED` where a connection cannot be made twice, else the last attempt's error.
   */
  reconnect(retry: BackoffOptions): Promise<void> {
    if (!this.#negotiation.binding.canReopen) {
      const name = this.connection.transport.name;
      return Promise.reject(
        new McpError('NOT_SUPPORTED', `Cannot reconnect to "${name}": this connection can be made only once`),
      );
    }
    return this.#startReconnecting(retry, 0);
  }

  async close(): Promise<void> {
    this.#closing.abort(new McpError('CLOSED', 'The client was closed'));
    await this.#reconnection?.catch(nothing); // Its caller hears of it; here it only has to be over.
    await this.#hangUp();
    this.#wakeWaiting();
  }

  #send(
    connection: Connection,
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
    headers: Record<string, string> | undefined,
  ): Promise<JsonObject> {
    const { dialect } = connection;
    const sent = this.#sendWaiting(connection, method, params, options, headers);
    if (!dialect.renegotiates && !this.#negotiation.binding.sessionLoss) return sent;
    const onError = async (error: unknown) => {
      await this.#inTime(method, this.#mend(connection, dialect, error), options);
      return this.#sendWaiting(connection, method, params, options, headers);
    };
    if (!connection.isUnproven) return sent.catch(onError);
    return sent.then((result) => {
      connection.isUnproven = false;
      return result;
    }, onError);
  }

  async #mending<Value>(
    connection: Connection,
    work: (connection: Connection) => Promise<Value>,
  ): Promise<Value> {
    const { dialect } = connection;
    try {
      return await work(connection);
    } catch (error) {
      await this.#mend(connection, dialect, error);
    }
    return work(connection);
  }

  /** Mends what made a message fail, so that it can be sent again. @throws the error where that is not possible. */
  #mend(connection: Connection, failed: ClientDialect, error: unknown): Promise<void> {
    if (isUnsupportedVersion(error)) {
      return this.#repair(connection, failed, () => renegotiate(connection, error, this.#negotiation));
    }
    const isDoubtful = connection.isUnproven || connection.dialect.name !== failed.name;
    if (isDoubtful && isRefusal(error)) {
      const reconsidered = () => reconsider(connection, error, this.#negotiation);
      return this.#repair(connection, failed, reconsidered).catch(() => {
        throw error;
      });
    }
    switch (this.#negotiation.binding.sessionLoss?.(error)) {
      case 'refused':
        return this.#repair(connection, failed, () => this.#reopenSession(connection));
      case 'broken':
        void this.#restoreSession(connection, failed);
    }
    return Promise.reject(error);
  }

  /** Sends a request; where nothing listens for it now, and connections are made anew, once the server is back. */
  #sendWaiting(
    connection: Connection,
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
    headers: Record<string, string> | undefined,
  ): Promise<JsonObject> {
    const { autoReconnect } = this.#options;
    const sent = this.#sendOnce(connection, method, params, options, headers);
    const { neverSent } = this.#negotiation.binding;
    if (!autoReconnect || !neverSent) return sent;
    const since = performance.now();
    return sent.catch(async (failure) => {
      const backoff = readBackoff(autoReconnect);
      const { timeoutMs = this.#options.timeoutMs, signal } = options;
      const tooLate = `"${connection.name}" could not be reached for "${method}"`;
      let error: unknown = failure;
      for (let attempt = 1; neverSent(error) && attempt <= backoff.maxRetries; attempt++) {
        const left = () => timeoutMs - (performance.now() - since);
        const pause = (either: AbortSignal) => wait(backoffDelay(backoff, attempt), either);
        await this.#within(left(), signal, tooLate, pause).catch((thrown) => {
          // The request itself says that its caller gave it up.
          if (!signal?.aborted) throw thrown;
        });
        try {
          const rest = { ...options, timeoutMs: Math.max(1, left()) };
          return await this.#sendOnce(connection, method, params, rest, headers);
        } catch (thrown) {
          error = thrown;
        }
      }
      throw error;
    });
  }

  #sendOnce(
    connection: Connection,
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
    headers: Record<string, string> | undefined,
  ): Promise<JsonObject> {
    const { peer, dialect, transport } = connection;
    const id = peer.nextId();
    const shaped = dialect.shape(params, this.#extras(id, options));
    const call: CallOptions = { id, timeoutMs: options.timeoutMs ?? this.#options.timeoutMs };
    const { signal, maxTimeoutMs, onProgress } = options;
    if (signal) call.signal = signal;
    if (maxTimeoutMs !== undefined) call.maxTimeoutMs = maxTimeoutMs;
    if (options.resetTimeoutOnProgress) call.resetOnProgress = true;
    if (onProgress) call.onProgress = (progress) => onProgress(readProgress(progress));
    if (transport.carriesHeaders) call.headers = { ...headers, ...dialect.headers(method, shaped) };
    return peer.call(method, shaped, call);
  }

  #extras(id: number, { onProgress, resetTimeoutOnProgress }: RequestOptions): RequestExtras | undefined {
    const { logLevel } = this;
    const wantsProgress = onProgress || resetTimeoutOnProgress;
    if (!wantsProgress && logLevel === undefined) return undefined;
    const extras: RequestExtras = {};
    if (wantsProgress) extras.progressToken = id;
    if (logLevel !== undefined) extras.logLevel = logLevel;
    return extras;
  }

  /** One repair serves all requests that failed in the same dialect, early and late. */
  #repair(connection: Connection, failed: ClientDialect, repair: () => Promise<void>): Promise<void> {
    if (this.#repairing) return this.#repairing;
    if (connection.dialect !== failed) return Promise.resolve();
    this.#repairing = repair().finally(() => {
      this.#repairing = undefined;
    });
    return this.#repairing;
  }

  async #reopenSession(connection: Connection): Promise<void> {
    await reopenSession(connection, this.#negotiation);
    this.#options.onReconnect();
  }

  /**
   * Opens a session anew where no request will be sent again for it: who only listens must not wait for a call. A
   * server that goes on losing sessions is left to the calls.
   */
  async #restoreSession(connection: Connection, lost: ClientDialect): Promise<void> {
    if (this.#isRestoring || connection.dialect !== lost) return;
    this.#isRestoring = true;
    const backoff = readBackoff({});
    if (performance.now() - this.#sessionLostAt > CALM_MS) this.#sessionLosses = 0;
    while (this.#sessionLosses <= backoff.maxRetries) {
      this.#sessionLostAt = performance.now();
      const attempt = this.#sessionLosses++;
      try {
        if (attempt > 0) await wait(backoffDelay(backoff, attempt), this.closing);
        if (connection === this.#connection && !connection.peer.closed) {
          await this.#repair(connection, lost, () => this.#reopenSession(connection));
        }
        break;
      } catch (error) {
        if (this.closing.aborted) break;
        this.#negotiation.hooks.warning(asMcpError(error));
      }
    }
    this.#isRestoring = false;
  }

  async #driveRounds(
    method: string,
    params: JsonObject | undefined,
    first: JsonObject,
    options: RequestOptions,
    headers: Record<string, string> | undefined,
  ): Promise<JsonObject> {
    const { maxRounds } = this.#options;
    const { timeoutMs = this.#options.timeoutMs } = options;
    const end = performance.now() + (options.maxTimeoutMs ?? Math.max(DEFAULT_MAX_TIMEOUT_MS, timeoutMs));
    let result = first;
    for (let round = 0; round < maxRounds; round++) {
      const left = end - performance.now();
      const answers = await this.#answerRound(method, result, Math.min(timeoutMs, left), options.signal);
      const { connection } = this;
      const rest = { ...options, maxTimeoutMs: Math.max(1, end - performance.now()) };
      result = await this.#send(connection, method, { ...params, ...answers }, rest, headers);
      if (connection.dialect.resultType(method, result) === 'complete') return result;
    }
    throw new McpError(
      'ROUNDS_EXCEEDED',
      `"${this.connection.transport.name}" asked for input more than ${maxRounds} times on "${method}"; raise maxRounds`,
    );
  }

  /** The answers to one round, within their deadline: who answers may be a person who went away. */
  async #answerRound(
    method: string,
    round: JsonObject,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<JsonObject> {
    const { handlers } = this.#options;
    return this.#within(timeoutMs, signal, `The input that "${method}" asks for did not come`, (either) =>
      answerRound(method, round, handlers, { signal: either }),
    );
  }

  /** Waits for what a request needs before it can be sent, no longer than the request itself may take. */
  #inTime<Value>(method: string, needed: Promise<Value>, options: RequestOptions): Promise<Value> {
    const { timeoutMs = this.#options.timeoutMs, signal } = options;
    const { name } = this.connection.transport;
    return this.#within(timeoutMs, signal, `"${name}" could not be reached for "${method}"`, (either) =>
      untilAborted(needed, either),
    );
  }

  /** Does something with a signal that is aborted when the time is over, the caller gives up or the client is closed. */
  async #within<Value>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    tooLate: string,
    work: (signal: AbortSignal) => Promise<Value>,
  ): Promise<Value> {
    const late = new AbortController();
    const timer =
      timeoutMs < LONGEST_TIMER_MS ? setTimeout(() => late.abort(), Math.max(0, timeoutMs)) : undefined;
    const signals = [late.signal, this.closing, ...(signal ? [signal] : [])];
    try {
      return await work(AbortSignal.any(signals));
    } catch (error) {
      if (this.closing.aborted) throw this.closing.reason;
      if (!late.signal.aborted || signal?.aborted) throw error;
      const budget = Math.max(0, Math.round(timeoutMs));
      throw new TimeoutError(`${tooLate} within ${budget} ms`, budget);
    } finally {
      clearTimeout(timer);
    }
  }

  async #hangUp(): Promise<void> {
    const connection = this.#connection;
    if (!connection) return;
    if (!connection.peer.closed) await this.#negotiation.binding.farewell?.(connection);
    await connection.close();
  }

  #onLost(reason: McpError): void {
    const { autoReconnect, onClose } = this.#options;
    if (this.closing.aborted) return;
    if (!autoReconnect) {
      onClose?.(reason);
      return;
    }
    // A server that takes every connection and ends it soon counts as one that cannot be reached.
    this.#relapses = performance.now() - this.#remadeAt < CALM_MS ? this.#relapses + 1 : 0;
    if (this.#relapses > Math.max(1, readBackoff(autoReconnect).maxRetries)) {
      onClose?.(reason);
      return;
    }
    this.#startReconnecting(autoReconnect, this.#relapses).catch((error) => {
      if (!this.closing.aborted) onClose?.(asMcpError(error));
    });
  }

  #startReconnecting(retry: BackoffOptions, relapses: number): Promise<void> {
    this.#reconnection ??= this.#reconnect(retry, relapses).finally(() => {
      this.#reconnection = undefined;
    });
    return this.#reconnection;
  }

  async #reconnect(retry: BackoffOptions, relapses: number): Promise<void> {
    const backoff = readBackoff(retry);
    if (relapses > 0) await wait(backoffDelay(backoff, relapses), this.closing);
    const lost = this.connection;
    await this.#hangUp();
    const { name, revision, server } = lost.dialect;
    const prior = { dialect: name, revision, server };
    for (let attempt = 1; ; attempt++) {
      try {
        this.closing.throwIfAborted();
        const connection = await negotiate({ ...this.#negotiation, prior, signal: this.closing });
        if (connection.peer.closed) throw connection.peer.closed;
        this.#connection = connection;
        this.#remadeAt = performance.now();
        break;
      } catch (error) {
        if (this.closing.aborted || attempt > backoff.maxRetries) throw error;
      }
      await wait(backoffDelay(backoff, attempt), this.closing);
    }
    this.#options.onReconnect();
    this.#wakeWaiting();
  }

  #wakeWaiting(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}

/** Whether a server answered that it does not understand, rather than being slow or gone. */
function isRefusal(error: unknown): boolean {
  if (isModernError(error)) return false;
  return error instanceof McpError && (error.code === 'RPC_ERROR' || error.code === 'HTTP_STATUS');
}

function asMcpError(error: unknown): McpError {
  return error instanceof McpError ? error : new McpError('CLOSED', toError(error).message);
}

function nothing(): void {}

function isUnsupportedVersion(error: unknown): error is RpcError {
  return isModernError(error) && error.rpcCode === UNSUPPORTED_PROTOCOL_VERSION;
}

function readProgress(params: JsonObject): Progress {
  const progress: Progress = { progress: typeof params.progress === 'number' ? params.progress : 0 };
  if (typeof params.total === 'number') progress.total = params.total;
  if (typeof params.message === 'string') progress.message = params.message;
  return progress;
}
