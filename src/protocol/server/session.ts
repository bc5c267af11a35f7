import {
  type CallOptions,
  INVALID_REQUEST,
  type InboundRequest,
  isJsonObject,
  type JsonObject,
  type JsonRpcNotification,
  type JsonRpcRequest,
  McpError,
  RpcError,
} from '../../jsonrpc/index.ts';
import { META_PROTOCOL_VERSION } from '../meta.ts';
import {
  isSessionRevision,
  REVISIONS,
  type RevisionTraits,
  SESSION_REVISIONS,
  type SessionRevision,
} from '../revisions.ts';
import {
  type ClientCapabilities,
  type Implementation,
  LOGGING_LEVELS,
  type LoggingLevel,
} from '../types/identity.ts';
import type { InputRequest } from '../types/input.ts';
import {
  type ChangedList,
  type ChangeListener,
  ChangeOutbox,
  type ChangeSender,
  LIST_CHANGED,
} from './changes.ts';
import { Context } from './context.ts';
import type { ServerCore } from './core.ts';
import type { Carrier, ClientDescription, OpenRequest, RequestScope, ServerDialect } from './dialect.ts';
import { invalidParams, type MethodHandler, methodNotFound, requireString } from './feature.ts';
import { type Answers, findFault, missingCapabilities, type Questions, shapeQuestion } from './input.ts';
import { shapeCapabilities, shapeImplementation } from './shape.ts';

/** What a client hears that has not said otherwise. */
const DEFAULT_LOG_LEVEL = LOGGING_LEVELS.indexOf('info');

/**
 * The session dialect, the specification's *legacy*: one client's session, from `initialize` until its channel ends. It
 * is the scope of all its requests.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle
 */
export class Session implements ServerDialect, RequestScope, ChangeListener, ChangeSender {
  readonly name = 'session';
  readonly state = undefined;
  readonly isInterrupted = false;
  readonly #core: ServerCore;
  readonly #notify: (method: string, params: JsonObject | undefined) => void | Promise<void>;
  readonly #outbox = new ChangeOutbox(this);
  /** The resources that the client watches, once it has watched any. */
  #watched: Set<string> | undefined;
  #phase: 'new' | 'opening' | 'open' | 'closed' = 'new';
  #revision: SessionRevision = SESSION_REVISIONS[0];
  #client: ClientDescription = { capabilities: {} };
  #logLevel = DEFAULT_LOG_LEVEL;

  /** `notify` sends what belongs to no request. A promise means that the client is behind. */
  constructor(
    core: ServerCore,
    notify: (method: string, params: JsonObject | undefined) => void | Promise<void>,
  ) {
    this.#core = core;
    this.#notify = notify;
  }

  /**
   * A session that nobody opened here: of its client only the revision is known. It hears of no changes.
   */
  static assumed(core: ServerCore, revision: SessionRevision): Session {
    const session = new Session(core, () => {});
    session.#phase = 'open';
    session.#revision = revision;
    return session;
  }

  get revision(): SessionRevision {
    return this.#revision;
  }

  get traits(): RevisionTraits {
    return REVISIONS[this.#revision];
  }

  get client(): ClientDescription {
    return this.#client;
  }

  get logLevel(): number {
    return this.#logLevel;
  }

  /** Whether the client has sent `initialize`. */
  get isOpened(): boolean {
    return this.#phase !== 'new';
  }

  /** Whether the client may send several messages as one array. */
  get acceptsBatches(): boolean {
    return this.isOpened && this.traits.batches;
  }

  answer(
    request: JsonRpcRequest,
    inbound: InboundRequest,
    carrier: Carrier,
  ): JsonObject | Promise<JsonObject> {
    const handler = this.#method(request.method);
    return this.#core.run(handler, new Context(request, inbound, carrier, this));
  }

  /** Takes a notification of the client; those that say nothing to a session are ignored. */
  notified({ method }: JsonRpcNotification): void {
    if (method !== 'notifications/initialized' || this.#phase !== 'opening') return;
    this.#phase = 'open';
    this.#core.feed.listen(this);
  }

  /** Nothing is sent any more. Idempotent. */
  close(): void {
    this.#phase = 'closed';
    this.#core.feed.unlisten(this);
    this.#outbox.clear();
  }

  listChanged(list: ChangedList): void {
    if (this.#core.capabilities[list]?.listChanged) this.#outbox.push(list);
  }

  resourceUpdated(uri: string): void {
    if (this.#watched?.has(uri)) this.#outbox.push(URI_KEY + uri);
  }

  sendChange(key: string): void | Promise<void> {
    const list = LISTS.find((name) => name === key);
    if (list) return this.#notify(LIST_CHANGED[list], undefined);
    return this.#notify('notifications/resources/updated', { uri: key.slice(URI_KEY.length) });
  }

  async ask(context: OpenRequest, questions: Questions): Promise<Answers> {
    const missing = missingCapabilities(questions, this.#client.capabilities);
    if (missing) {
      throw new McpError(
        'NOT_SUPPORTED',
        `Cannot ask the client for input: it did not declare ${JSON.stringify(missing)}`,
      );
    }
    const asked = Object.entries(questions).map(
      ([name, question]) => [name, shapeQuestion(question, this.traits)] as const,
    );
    return askAll(context, asked, this.#core.settings.inputTimeoutMs);
  }

  interruption(): undefined {}

  complete(_context: OpenRequest, result: object): JsonObject {
    // Sound: results are plain objects of JSON values.
    return result as JsonObject;
  }

  #method(name: string): MethodHandler {
    switch (name) {
      case 'initialize':
        return (context) => this.#initialize(context.params);
      case 'ping':
        return () => ({});
    }
    if (this.#phase === 'new') throw notOpened(name);
    const handler = this.#sessionMethod(name) ?? this.#core.method(name);
    if (handler) return handler;
    throw methodNotFound(name);
  }

  #sessionMethod(name: string): MethodHandler | undefined {
    switch (name) {
      case 'logging/setLevel':
        return (context) => this.#setLevel(context.params);
      case 'resources/subscribe':
        return this.#core.capabilities.resources?.subscribe
          ? (context) => this.#watch(context.params)
          : undefined;
      case 'resources/unsubscribe':
        return this.#core.capabilities.resources?.subscribe
          ? (context) => this.#unwatch(context.params)
          : undefined;
      default:
        return undefined;
    }
  }

  #initialize(params: JsonObject): object {
    if (this.#phase !== 'new') throw new RpcError(INVALID_REQUEST, 'The session is open already');
    const asked = requireString(params, 'protocolVersion');
    const { settings, capabilities } = this.#core;
    this.#revision = isSessionRevision(asked) ? asked : SESSION_REVISIONS[0];
    this.#client = describeClient(params);
    this.#phase = 'opening';
    return {
      protocolVersion: this.#revision,
      capabilities: shapeCapabilities(capabilities, this.traits),
      serverInfo: shapeImplementation(settings.info, this.traits),
      ...(settings.instructions !== undefined && { instructions: settings.instructions }),
    };
  }

  #setLevel({ level }: JsonObject): object {
    const index = LOGGING_LEVELS.indexOf(level as LoggingLevel);
    if (index === -1) throw invalidParams(`"level" must be one of ${LOGGING_LEVELS.join(', ')}`);
    this.#logLevel = index;
    return {};
  }

  #watch(params: JsonObject): object {
    const uri = requireString(params, 'uri');
    const { maxWatchedResources } = this.#core.settings;
    this.#watched ??= new Set();
    if (this.#watched.size >= maxWatchedResources && !this.#watched.has(uri)) {
      throw invalidParams(`Cannot watch more than ${maxWatchedResources} resources in one session`);
    }
    this.#watched.add(uri);
    return {};
  }

  #unwatch(params: JsonObject): object {
    this.#watched?.delete(requireString(params, 'uri'));
    return {};
  }
}

type NamedQuestion = readonly [name: string, question: InputRequest];

const LISTS: readonly ChangedList[] = ['tools', 'prompts', 'resources'];
const URI_KEY = 'uri ';

function notOpened(method: string): RpcError {
  return invalidParams(
    `Cannot answer "${method}": it carries no "${META_PROTOCOL_VERSION}" in _meta, and no session is open; send initialize first`,
  );
}

function describeClient({ capabilities, clientInfo }: JsonObject): ClientDescription {
  // Sound as far as the wire goes: both are self-reported, and their members are checked where they are used.
  const declared = isJsonObject(capabilities) ? (capabilities as ClientCapabilities) : {};
  return isJsonObject(clientInfo)
    ? { capabilities: declared, info: clientInfo as unknown as Implementation }
    : { capabilities: declared };
}

async function askAll(
  context: OpenRequest,
  questions: readonly NamedQuestion[],
  timeoutMs: number,
): Promise<Answers> {
  // When one question fails, the person must not be left with the others.
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  try {
    const answers = questions.map(async ([name, question]) => [
      name,
      await askOne(context, question, { signal, timeoutMs }),
    ]);
    return Object.fromEntries(await Promise.all(answers));
  } catch (error) {
    stop.abort(error);
    throw error;
  }
}

async function askOne(
  context: OpenRequest,
  question: InputRequest,
  options: CallOptions,
): Promise<JsonObject> {
  const { carrier, requestId } = context;
  if (!carrier.call)
    throw new McpError(
      'NOT_SUPPORTED',
      'Cannot ask the client for input: its connection carries no requests',
    );
  let answer: JsonObject;
  try {
    // Sound: params are plain objects of JSON values.
    answer = await carrier.call(
      requestId,
      question.method,
      question.params as JsonObject | undefined,
      options,
    );
  } catch (error) {
    // The client's refusal is not our answer to the client.
    if (!(error instanceof RpcError)) throw error;
    throw new McpError(
      'INPUT_REQUIRED',
      `The client refused "${question.method}": ${error.message} (${error.rpcCode})`,
      {
        cause: error,
      },
    );
  }
  const fault = await findFault(question, answer);
  if (fault === undefined) return answer;
  throw new McpError('INVALID_RESULT', `The client's answer to "${question.method}" does not fit: ${fault}`);
}
