import {
  INTERNAL_ERROR,
  isJsonObject,
  type JsonObject,
  McpError,
  RpcError,
  toError,
} from '../../jsonrpc/index.ts';
import { BearerChallenge } from '../../transport/index.ts';
import type { ServerCapabilities } from '../types/identity.ts';
import { challengeError } from './challenge-error.ts';
import { type ChangedList, ChangeFeed } from './changes.ts';
import { complete } from './completion.ts';
import type { Context, RequestContext } from './context.ts';
import type { FeatureHost, MethodHandler } from './feature.ts';
import type { ServerSettings } from './options.ts';
import { owned } from './owned.ts';
import { Prompts } from './prompts.ts';
import { Resources } from './resources.ts';
import { Tools } from './tools.ts';

/**
 * Runs around every request. It calls `next` to have the request answered, or returns a result of its own, or throws;
 * an {@link RpcError} travels to the client as it is, and a {@link BearerChallenge} asks it for another token.
 */
export type Middleware = (
  context: RequestContext,
  next: () => Promise<JsonObject>,
) => JsonObject | Promise<JsonObject>;

/** What a server offers and how it answers, whatever dialect and transport a request comes by. */
export class ServerCore implements FeatureHost {
  readonly settings: ServerSettings;
  readonly feed = new ChangeFeed();
  readonly tools: Tools;
  readonly prompts: Prompts;
  readonly resources: Resources;
  readonly #middleware: Middleware[] = [];
  readonly #methods: ReadonlyMap<string, { feature: Feature; handler: MethodHandler }>;
  /** What was registered once: a client that was told so may go on asking when the last of it is gone. */
  readonly #offered = new Set<Feature>();

  constructor(settings: ServerSettings) {
    this.settings = settings;
    this.tools = new Tools(this, () => this.#onChange('tools'));
    this.prompts = new Prompts(this, () => this.#onChange('prompts'));
    this.resources = new Resources(this, () => this.#onChange('resources'));
    this.#methods = this.#featureMethods();
  }

  get pageSize(): number {
    return this.settings.pageSize;
  }

  use(middleware: Middleware): void {
    this.#middleware.push(middleware);
  }

  report(error: McpError): void {
    this.settings.onError(error);
  }

  /** All capabilities, as declared and as they follow from what is registered. */
  get capabilities(): ServerCapabilities {
    const { capabilities } = this.settings;
    const derived: ServerCapabilities = { logging: {} };
    if (this.#offers('completions')) derived.completions = {};
    if (this.#offers('prompts')) derived.prompts = { listChanged: true };
    if (this.#offers('resources')) derived.resources = { subscribe: true, listChanged: true };
    if (this.#offers('tools')) derived.tools = { listChanged: true };
    const merged: ServerCapabilities = { ...derived, ...capabilities };
    for (const feature of FEATURES) {
      const declared = capabilities[feature];
      if (declared) merged[feature] = { ...derived[feature], ...declared };
    }
    return merged;
  }

  /** The handler of a method that both dialects have; undefined when the server does not offer what it belongs to. */
  method(name: string): MethodHandler | undefined {
    const method = this.#methods.get(name);
    return method && this.#offers(method.feature) ? method.handler : undefined;
  }

  /** Runs a handler, and what was set around every request. @throws RpcError, and nothing else. */
  run(handler: MethodHandler, context: Context): JsonObject | Promise<JsonObject> {
    try {
      const result = this.#middleware.length === 0 ? handler(context) : this.#runMiddleware(handler, context);
      if (!(result instanceof Promise)) return this.#finish(context, result);
      return result.then(
        (value) => this.#finish(context, value),
        (error) => this.#fail(context, error),
      );
    } catch (error) {
      return this.#fail(context, error);
    }
  }

  #featureMethods(): ReadonlyMap<string, { feature: Feature; handler: MethodHandler }> {
    const { tools, prompts, resources } = this;
    const sources = {
      prompt: (name: string) => prompts.completers(name),
      resource: (uri: string) => resources.completers(uri),
    };
    return new Map<string, { feature: Feature; handler: MethodHandler }>([
      ['tools/list', { feature: 'tools', handler: (context) => tools.list(context) }],
      ['tools/call', { feature: 'tools', handler: (context) => tools.call(context) }],
      ['prompts/list', { feature: 'prompts', handler: (context) => prompts.list(context) }],
      ['prompts/get', { feature: 'prompts', handler: (context) => prompts.get(context) }],
      ['resources/list', { feature: 'resources', handler: (context) => resources.list(context) }],
      [
        'resources/templates/list',
        { feature: 'resources', handler: (context) => resources.listTemplates(context) },
      ],
      ['resources/read', { feature: 'resources', handler: (context) => resources.read(context) }],
      ['completion/complete', { feature: 'completions', handler: (context) => complete(context, sources) }],
    ]);
  }

  #onChange(list: ChangedList): void {
    this.#offered.add(list);
    this.feed.listChanged(list);
  }

  #offers(feature: Feature): boolean {
    if (this.#offered.has(feature) || this.settings.capabilities[feature] !== undefined) return true;
    return feature === 'completions' && (this.prompts.completes || this.resources.completes);
  }

  async #runMiddleware(handler: MethodHandler, context: Context): Promise<JsonObject> {
    const around = [...this.#middleware];
    const step = async (index: number): Promise<JsonObject> => {
      const middleware = around[index];
      const result: unknown = middleware
        ? await middleware(context, () => owned(step(index + 1)))
        : await this.#start(handler, context);
      if (isJsonObject(result)) return result;
      throw new McpError('HANDLER_FAILED', `Middleware returned no result for "${context.method}"`);
    };
    return step(0);
  }

  /** What was cancelled while middleware worked is not started. */
  #start(handler: MethodHandler, context: Context): object | Promise<object> {
    if (!context.isAborted) return handler(context);
    throw new McpError('ABORTED', `"${context.method}" was cancelled before it started`);
  }

  #finish(context: Context, result: object): JsonObject | Promise<JsonObject> {
    const apart = context.end();
    return apart ? apart.then(() => this.#complete(context, result)) : this.#complete(context, result);
  }

  #fail(context: Context, error: unknown): JsonObject | Promise<JsonObject> {
    const apart = context.end();
    return apart ? apart.then(() => this.#refuse(context, error)) : this.#refuse(context, error);
  }

  #complete(context: Context, result: object): JsonObject {
    try {
      return context.scope.interruption(context) ?? context.scope.complete(context, result);
    } catch (error) {
      throw this.#asRpcError(context, error);
    }
  }

  #refuse(context: Context, error: unknown): JsonObject {
    let failure = error;
    try {
      const interruption = context.scope.interruption(context);
      if (interruption) return interruption;
    } catch (thrown) {
      failure = thrown;
    }
    throw this.#asRpcError(context, failure);
  }

  /** An unforeseen failure is our own business: the client learns that there was one. */
  #asRpcError(context: Context, error: unknown): RpcError {
    if (error instanceof RpcError) return error;
    if (error instanceof BearerChallenge) return challengeError(error);
    if (!context.isAborted) {
      const message = `The handler of "${context.method}" failed: ${toError(error).message}`;
      this.report(new McpError('HANDLER_FAILED', message, { cause: error }));
    }
    return new RpcError(INTERNAL_ERROR, 'Internal error');
  }
}

const FEATURES = ['tools', 'prompts', 'resources', 'completions'] as const;
type Feature = (typeof FEATURES)[number];
