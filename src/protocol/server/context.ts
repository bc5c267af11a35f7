import {
  type InboundRequest,
  isJsonObject,
  isRequestId,
  type JsonObject,
  type JsonRpcRequest,
  McpError,
  type RequestId,
} from '../../jsonrpc/index.ts';
import type { Revision, RevisionTraits } from '../revisions.ts';
import { LOGGING_LEVELS, type LoggingLevel } from '../types/identity.ts';
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  InputRequest,
  Root,
} from '../types/input.ts';
import type { Carrier, ClientDescription, OpenRequest, RequestScope } from './dialect.ts';
import {
  type Answers,
  type AnswerTo,
  type AskOptions,
  elicit,
  listRoots,
  type Questions,
  sample,
} from './input.ts';
import { owned } from './owned.ts';
import { without } from './shape.ts';

/** The requests on which a client may be asked for input. */
const ASKING_METHODS: readonly string[] = ['tools/call', 'prompts/get', 'resources/read'];
/** Notifications of one request that may wait for a slow client; further ones are dropped. */
const MAX_UNSENT = 256;

/** What a handler knows of the request it answers, and can do in its course. It is the same in both dialects. */
export interface RequestContext {
  readonly requestId: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  /** The revision that this request is answered in. */
  readonly protocolVersion: Revision;
  /** Who the client says it is, and what it can do. */
  readonly client: ClientDescription;
  /** Who asks, as the transport's guard established it; undefined where there is none. */
  readonly auth: unknown;
  /** The headers the request came with, by lower-case name; empty on transports without any. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Aborted when the client gives the request up, or goes away: no answer will be sent. In a session by HTTP a client that
   * goes away may come back for its answer; there it is aborted when the client cancels, or the session ends.
   */
  readonly signal: AbortSignal;
  /**
   * Any JSON value that the handler wants to find again when it runs anew with the answers to its questions. In the
   * stateless dialect it travels through the client, signed but readable: no place for secrets.
   */
  state: unknown;
  /**
   * Tells the client how far the work is, where it wants to know. A value that is not above the last one is not sent,
   * nor is anything once the request is over. A returned promise resolves when there is room for more.
   */
  progress(value: number, total?: number, message?: string): void | Promise<void>;
  /** Sends a log message, where the client wants those of this level. `data` is any JSON value. */
  log(level: LoggingLevel, data: unknown, logger?: string): void | Promise<void>;
  /**
   * Lets go of the connection that this request's messages are sent on: the client comes back for the rest after a while,
   * and for a long piece of work no connection has to be held. Only by HTTP, in sessions of revision 2025-11-25.
   *
   * @returns false where the client could not come back; the connection is kept then.
   * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
   */
  closeStream(): boolean;
  /**
   * Asks the person at the client, and waits for the answer. In the stateless dialect this ends the round: the handler
   * is left here by an exception and runs again from its start when the client comes back with the answer, so what it
   * does before must bear repetition.
   *
   * @throws RpcError -32021 or McpError `NOT_SUPPORTED` when the client cannot do it.
   */
  elicit(params: ElicitParams, options?: AskOptions): Promise<ElicitResult>;
  /** Asks the model at the client. As {@link RequestContext.elicit}. */
  sample(params: CreateMessageParams, options?: AskOptions): Promise<CreateMessageResult>;
  /** Asks for the directories the client works in. As {@link RequestContext.elicit}. */
  listRoots(options?: AskOptions): Promise<Root[]>;
  /**
   * Asks several questions at once, made by {@link elicit}, {@link sample} and {@link listRoots}, and waits for all
   * answers. As {@link RequestContext.elicit}.
   */
  inputs<Asked extends Questions>(
    questions: Asked,
  ): Promise<{ [Name in keyof Asked]: AnswerTo<Asked[Name]> }>;
}

/** The one implementation of {@link RequestContext}; what differs between dialects is in its scope. */
export class Context implements RequestContext, OpenRequest {
  readonly request: JsonRpcRequest;
  readonly inbound: InboundRequest;
  readonly carrier: Carrier;
  readonly scope: RequestScope;
  state: unknown;
  #ended = false;
  /** When progress was last sent, by the clock of {@link performance}. */
  #progressedAt = Number.NEGATIVE_INFINITY;
  #lastProgress = Number.NEGATIVE_INFINITY;
  #unsent = 0;
  #asked: Set<string> | undefined;

  constructor(request: JsonRpcRequest, inbound: InboundRequest, carrier: Carrier, scope: RequestScope) {
    this.request = request;
    this.inbound = inbound;
    this.carrier = carrier;
    this.scope = scope;
    this.state = scope.state;
  }

  get requestId(): RequestId {
    return this.request.id;
  }

  get method(): string {
    return this.request.method;
  }

  get params(): JsonObject {
    return this.request.params ?? {};
  }

  get protocolVersion(): Revision {
    return this.scope.revision;
  }

  get traits(): RevisionTraits {
    return this.scope.traits;
  }

  get client(): ClientDescription {
    return this.scope.client;
  }

  get auth(): unknown {
    return this.carrier.auth;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.carrier.headers ?? {};
  }

  get signal(): AbortSignal {
    return this.inbound.signal;
  }

  /** Whether the signal is aborted: asking for this makes none. */
  get isAborted(): boolean {
    return this.inbound.aborted;
  }

  progress(value: number, total?: number, message?: string): void | Promise<void> {
    const meta = this.request.params?._meta;
    const token = isJsonObject(meta) ? meta.progressToken : undefined;
    if (!isRequestId(token) || !(value > this.#lastProgress)) return;
    this.#lastProgress = value;
    const params: JsonObject = { progressToken: token, progress: value };
    if (total !== undefined) params.total = total;
    if (message !== undefined) params.message = message;
    this.#progressedAt = performance.now();
    return this.#notify('notifications/progress', without(params, this.traits.absent.progress));
  }

  log(level: LoggingLevel, data: unknown, logger?: string): void | Promise<void> {
    const severity = LOGGING_LEVELS.indexOf(level);
    if (severity === -1) throw new TypeError(`Unknown log level ${JSON.stringify(level)}`);
    const wanted = this.scope.logLevel;
    if (wanted === undefined || severity < wanted) return;
    const params: JsonObject = { level, data: data === undefined ? null : data };
    if (logger !== undefined) params.logger = logger;
    return this.#notify('notifications/message', params);
  }

  closeStream(): boolean {
    return !this.#ended && this.traits.primedStreams && (this.carrier.hangUp?.() ?? false);
  }

  elicit(params: ElicitParams, options?: AskOptions): Promise<ElicitResult> {
    return this.#askOne('elicit', elicit(params), options);
  }

  sample(params: CreateMessageParams, options?: AskOptions): Promise<CreateMessageResult> {
    return this.#askOne('sample', sample(params), options);
  }

  listRoots(options?: AskOptions): Promise<Root[]> {
    return owned(this.#askOne('roots', listRoots(), options).then(({ roots }) => roots));
  }

  inputs<Asked extends Questions>(
    questions: Asked,
  ): Promise<{ [Name in keyof Asked]: AnswerTo<Asked[Name]> }> {
    // Sound: a scope returns an answer for each question, checked against it.
    return owned(this.#ask(questions) as Promise<{ [Name in keyof Asked]: AnswerTo<Asked[Name]> }>);
  }

  /** Whether the handler was left at an open question: whatever it throws now only carries it out. */
  get isInterrupted(): boolean {
    return this.scope.isInterrupted;
  }

  /** Nothing is sent for this request any more but its answer, which waits for the promise where there is one. */
  end(): Promise<void> | undefined {
    this.#ended = true;
    return this.#lastProgress > Number.NEGATIVE_INFINITY
      ? this.carrier.apart?.(this.#progressedAt)
      : undefined;
  }

  #askOne<Question extends InputRequest>(
    kind: string,
    question: Question,
    options: AskOptions | undefined,
  ): Promise<AnswerTo<Question>> {
    const name = options?.name ?? this.#nextName(kind);
    // Sound: as for inputs.
    return owned(this.#ask({ [name]: question }).then((answers) => answers[name] as AnswerTo<Question>));
  }

  /** Names must be the same each time the handler runs, so they follow from the order of the questions. */
  #nextName(kind: string): string {
    let count = 1;
    while (this.#asked?.has(`${kind}-${count}`)) count++;
    return `${kind}-${count}`;
  }

  async #ask(questions: Questions): Promise<Answers> {
    const { method } = this.request;
    if (!ASKING_METHODS.includes(method)) {
      throw new McpError(
        'NOT_SUPPORTED',
        `Cannot ask the client for input on "${method}": only on ${ASKING_METHODS.join(', ')}`,
      );
    }
    if (this.#ended)
      throw new McpError('CLOSED', `Cannot ask the client for input: "${method}" was answered`);
    this.#asked ??= new Set();
    for (const name of Object.keys(questions)) {
      if (this.#asked.has(name))
        throw new TypeError(`Cannot ask for input "${name}": the name is taken on this request`);
      this.#asked.add(name);
    }
    return this.scope.ask(this, questions);
  }

  #notify(method: string, params: JsonObject): void | Promise<void> {
    if (this.#ended || this.#unsent >= MAX_UNSENT || this.inbound.aborted) return;
    const sent = this.carrier.notify(this.request.id, method, params);
    if (!sent) return;
    this.#unsent++;
    const done = () => {
      this.#unsent--;
    };
    return sent.then(done, done);
  }
}
