import {
  type InboundRequest,
  isJsonObject,
  type JsonObject,
  type JsonRpcRequest,
  McpError,
  RpcError,
} from '../../jsonrpc/index.ts';
import { MISSING_REQUIRED_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION } from '../errors.ts';
import {
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_PROTOCOL_VERSION,
  META_SERVER_INFO,
} from '../meta.ts';
import {
  isStatelessRevision,
  REVISIONS,
  type RevisionTraits,
  STATELESS_REVISIONS,
  type StatelessRevision,
} from '../revisions.ts';
import {
  type CacheHints,
  type ClientCapabilities,
  type Implementation,
  LOGGING_LEVELS,
  type LoggingLevel,
} from '../types/identity.ts';
import type { InputRequest } from '../types/input.ts';
import { Context } from './context.ts';
import type { ServerCore } from './core.ts';
import type { Carrier, ClientDescription, OpenRequest, RequestScope, ServerDialect } from './dialect.ts';
import { invalidParams, type MethodHandler, methodNotFound } from './feature.ts';
import { type Answers, findFault, missingCapabilities, type Questions, shapeQuestion } from './input.ts';
import type { RoundState } from './request-state.ts';
import { shapeCapabilities } from './shape.ts';
import { Subscriptions } from './subscriptions.ts';

const NOT_REUSABLE: Required<CacheHints> = { ttlMs: 0, cacheScope: 'private' };
const EMPTY_ROUND: RoundState = { state: undefined, answers: {} };

/**
 * The stateless dialect, the specification's *modern*: every request says its version and who asks, and nothing is
 * remembered from one to the next. What a server asks of its client travels in an answer, and comes back in a retry.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#statelessness
 */
export class StatelessDialect implements ServerDialect {
  readonly name = 'stateless';
  readonly subscriptions: Subscriptions;
  readonly core: ServerCore;
  /** The `_meta` of results that have none of their own. */
  readonly resultMeta: JsonObject;

  constructor(core: ServerCore) {
    this.core = core;
    this.subscriptions = new Subscriptions(core);
    this.resultMeta = Object.freeze({ [META_SERVER_INFO]: core.settings.info });
  }

  answer(
    request: JsonRpcRequest,
    inbound: InboundRequest,
    carrier: Carrier,
  ): JsonObject | Promise<JsonObject> {
    const scope = new StatelessRequest(this, request, carrier);
    const handler = this.#method(request.method);
    return this.core.run(handler, new Context(request, inbound, carrier, scope));
  }

  /**
   * Takes a request apart from answering it.
   *
   * @throws RpcError when the request itself is refused, as opposed to what it asks for.
   */
  open(
    request: JsonRpcRequest,
    inbound: InboundRequest,
    carrier: Carrier,
  ): () => JsonObject | Promise<JsonObject> {
    const scope = new StatelessRequest(this, request, carrier);
    const handler = this.#method(request.method);
    return () => this.core.run(handler, new Context(request, inbound, carrier, scope));
  }

  #method(name: string): MethodHandler {
    switch (name) {
      case 'server/discover':
        return (context) => this.#discover(context);
      case 'subscriptions/listen':
        return (context) => this.subscriptions.open(context);
    }
    const handler = this.core.method(name);
    if (handler) return handler;
    throw methodNotFound(name);
  }

  #discover({ traits }: Context): object {
    const { capabilities, settings } = this.core;
    return {
      supportedVersions: STATELESS_REVISIONS,
      capabilities: shapeCapabilities(capabilities, traits),
      ...(settings.instructions !== undefined && { instructions: settings.instructions }),
    };
  }
}

/** Thrown out of a handler that asks for input which has yet to come. Catching it changes nothing: the round is over. */
class InputRequired extends McpError {
  constructor(method: string) {
    super('INPUT_REQUIRED', `"${method}" waits for input: it runs again when the client has answered`);
  }
}

/** One request and all that it says of its client. */
class StatelessRequest implements RequestScope {
  readonly revision: StatelessRevision;
  readonly traits: RevisionTraits;
  readonly logLevel: number | undefined;
  readonly #dialect: StatelessDialect;
  readonly #meta: JsonObject;
  readonly #responses: JsonObject | undefined;
  readonly #round: RoundState;
  readonly #isRetry: boolean;
  #open: Map<string, InputRequest> | undefined;
  #used: Map<string, unknown> | undefined;
  #fault: RpcError | undefined;

  /** @throws RpcError -32602 or -32022 when the request does not say what every request must. */
  constructor(dialect: StatelessDialect, request: JsonRpcRequest, carrier: Carrier) {
    const params = request.params ?? {};
    const meta = isJsonObject(params._meta) ? params._meta : {};
    this.revision = readRevision(meta);
    this.traits = REVISIONS[this.revision];
    this.logLevel = readLogLevel(meta);
    this.#dialect = dialect;
    this.#meta = meta;
    if (!isJsonObject(meta[META_CLIENT_CAPABILITIES]))
      throw missingMeta(META_CLIENT_CAPABILITIES, 'an object');
    const { inputResponses, requestState } = params;
    this.#isRetry = inputResponses !== undefined || requestState !== undefined;
    if (inputResponses !== undefined && !isJsonObject(inputResponses)) {
      throw invalidParams('"inputResponses" must be an object');
    }
    this.#responses = inputResponses;
    this.#round =
      requestState === undefined
        ? EMPTY_ROUND
        : dialect.core.settings.seal.open(requestState, {
            method: request.method,
            params,
            auth: carrier.auth,
          });
  }

  get client(): ClientDescription {
    // Sound as far as the wire goes: both are self-reported, and their members are checked where they are used.
    const capabilities = this.#meta[META_CLIENT_CAPABILITIES] as ClientCapabilities;
    const info = this.#meta[META_CLIENT_INFO];
    return isJsonObject(info) ? { capabilities, info: info as unknown as Implementation } : { capabilities };
  }

  get state(): unknown {
    return this.#round.state;
  }

  get isInterrupted(): boolean {
    return this.#open !== undefined || this.#fault !== undefined;
  }

  async ask(context: OpenRequest, questions: Questions): Promise<Answers> {
    const missing = missingCapabilities(questions, this.client.capabilities);
    if (missing) {
      throw new RpcError(
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        `Missing required client capabilities: ${Object.keys(missing).join(', ')}`,
        { requiredCapabilities: missing },
      );
    }
    const answers: [string, unknown][] = [];
    for (const [name, question] of Object.entries(questions)) {
      const answer = this.#answerTo(name);
      if (answer === undefined) {
        this.#open ??= new Map();
        this.#open.set(name, shapeQuestion(question, this.traits));
      } else {
        answers.push([name, answer]);
      }
    }
    // At once: the round may be sealed while an answer waits for its check, and then it is checked when it comes back.
    for (const [name, answer] of answers) this.#keep(name, answer);
    await Promise.all(answers.map(([name, answer]) => this.#check(name, questions[name], answer)));
    if (this.#open) throw new InputRequired(context.method);
    // Sound: every answer was checked against its question.
    return Object.fromEntries(answers) as Answers;
  }

  interruption(context: OpenRequest): JsonObject | undefined {
    if (this.#fault) throw this.#fault;
    if (!this.#open) return undefined;
    const result: JsonObject = {
      resultType: 'input_required',
      inputRequests: Object.fromEntries(this.#open),
      _meta: this.#dialect.resultMeta,
    };
    // A state is only sent where there is something to keep: without one any server of the kind can take the retry.
    if (context.state !== undefined || this.#used) {
      const { method, params, auth } = context;
      const round = { state: context.state, answers: Object.fromEntries(this.#used ?? []) };
      result.requestState = this.#dialect.core.settings.seal.seal(round, { method, params, auth });
    }
    return result;
  }

  complete(context: OpenRequest, result: object): JsonObject {
    // Sound: results are plain objects of JSON values.
    const given = result as JsonObject;
    const { core, resultMeta } = this.#dialect;
    const hints = core.settings.cache[context.method];
    // What is added stands in front: an object that is spread first and then added to is slow to make.
    const completed: JsonObject = hints
      ? { resultType: 'complete', _meta: resultMeta, ...hints, ...given }
      : { resultType: 'complete', _meta: resultMeta, ...given };
    completed.resultType = 'complete';
    if ('_meta' in given) completed._meta = { ...(given._meta as JsonObject), ...resultMeta };
    if (hints && this.#isRetry) Object.assign(completed, NOT_REUSABLE);
    return completed;
  }

  #answerTo(name: string): unknown {
    const { answers } = this.#round;
    if (this.#responses && Object.hasOwn(this.#responses, name)) return this.#responses[name];
    return Object.hasOwn(answers, name) ? answers[name] : undefined;
  }

  #keep(name: string, answer: unknown): void {
    this.#used ??= new Map();
    this.#used.set(name, answer);
  }

  async #check(name: string, question: InputRequest | undefined, answer: unknown): Promise<void> {
    const found = question && findFault(question, answer);
    const fault = found instanceof Promise ? await found : found;
    if (fault === undefined) return;
    this.#fault = invalidParams(`Invalid input response "${name}": ${fault}`);
    throw this.#fault;
  }
}

function readRevision(meta: JsonObject): StatelessRevision {
  const requested = meta[META_PROTOCOL_VERSION];
  if (isStatelessRevision(requested)) return requested;
  if (typeof requested !== 'string') throw missingMeta(META_PROTOCOL_VERSION, 'a string');
  throw new RpcError(UNSUPPORTED_PROTOCOL_VERSION, `Unsupported protocol version: ${requested}`, {
    supported: STATELESS_REVISIONS,
    requested,
  });
}

function readLogLevel(meta: JsonObject): number | undefined {
  const level = meta[META_LOG_LEVEL];
  if (level === undefined) return undefined;
  const index = LOGGING_LEVELS.indexOf(level as LoggingLevel);
  if (index !== -1) return index;
  throw invalidParams(`"${META_LOG_LEVEL}" must be one of ${LOGGING_LEVELS.join(', ')}`);
}

function missingMeta(key: string, type: string): RpcError {
  return invalidParams(`Every request must carry "${key}" in _meta, ${type}`);
}
