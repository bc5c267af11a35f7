import type { JsonObject } from '../../jsonrpc/index.ts';
import { kindOf, misuse } from '../../jsonrpc/option.ts';
import type {
  GetPromptResult,
  ListPromptsResult,
  PromptArgument,
  PromptDefinition,
} from '../types/features.ts';
import type { Completers } from './completion.ts';
import type { Context, RequestContext } from './context.ts';
import {
  assertDefinition,
  type FeatureHost,
  invalidParams,
  isPromiseLike,
  optionalObject,
  requireString,
} from './feature.ts';
import { cutPage } from './pages.ts';
import { type PromptReturn, readPromptReturn } from './results.ts';
import { shapePrompt, shapePromptResult } from './shape.ts';
import { Shelf } from './shelf.ts';

/** What a prompt's handler is given: a string for each required argument, and for those others that were sent. */
export type PromptArguments<Declared> = Declared extends readonly PromptArgument[]
  ? {
      [Argument in Declared[number] as Argument['required'] extends true ? Argument['name'] : never]: string;
    } & {
      [Argument in Declared[number] as Argument['required'] extends true ? never : Argument['name']]?: string;
    }
  : { [name: string]: string };

export type PromptHandler<Args = { [name: string]: string }> = (
  args: Args,
  context: RequestContext,
) => PromptReturn | Promise<PromptReturn>;

export interface PromptOptions {
  /** Suggests values of arguments, by their names. */
  complete?: Completers;
}

interface RegisteredPrompt {
  readonly definition: PromptDefinition;
  readonly handler: PromptHandler;
  readonly complete: Completers | undefined;
}

/** The prompts of a server: what `prompts/list` and `prompts/get` answer from. */
export class Prompts {
  readonly #host: FeatureHost;
  readonly #shelf: Shelf<PromptDefinition, RegisteredPrompt>;

  constructor(host: FeatureHost, changed: () => void) {
    this.#host = host;
    this.#shelf = new Shelf('prompt', 'name', shapePrompt, changed);
  }

  get completes(): boolean {
    return [...this.#shelf.entries()].some(({ complete }) => complete !== undefined);
  }

  add(definition: PromptDefinition, handler: PromptHandler, { complete }: PromptOptions): () => void {
    assertDefinition('prompt', definition);
    assertArguments(definition);
    return this.#shelf.add(definition.name, { definition, handler, complete }, handler);
  }

  /** @throws RpcError -32602 for a prompt that does not exist. */
  completers(name: string): Completers | undefined {
    return this.#find(name).complete;
  }

  list(context: Context): ListPromptsResult {
    const prompts = this.#shelf.list(context.traits);
    const { cursor } = context.params;
    const { items, nextCursor } = cutPage(
      'prompts/list',
      prompts,
      (prompt) => prompt.name,
      cursor,
      this.#host.pageSize,
    );
    const result: ListPromptsResult = { prompts: [...items] };
    if (nextCursor !== undefined) result.nextCursor = nextCursor;
    return result;
  }

  get(context: Context): GetPromptResult | Promise<GetPromptResult> {
    const { params } = context;
    const name = requireString(params, 'name');
    const { definition, handler } = this.#find(name);
    const args = readArguments(definition, optionalObject(params, 'arguments') ?? {});
    const complete = (returned: unknown) =>
      shapePromptResult(readPromptReturn(name, returned), context.traits);
    const returned = handler(args, context);
    return isPromiseLike(returned) ? Promise.resolve(returned).then(complete) : complete(returned);
  }

  #find(name: string): RegisteredPrompt {
    const prompt = this.#shelf.get(name);
    if (prompt) return prompt;
    throw invalidParams(`Unknown prompt: ${name}`);
  }
}

/** @throws TypeError when what is declared is no list of arguments: every client would fail to list the prompts. */
function assertArguments({ name, arguments: declared }: PromptDefinition): void {
  if (declared === undefined) return;
  const option = `arguments of prompt ${JSON.stringify(name)}`;
  const isList = Array.isArray(declared) && declared.every((each) => typeof each?.name === 'string');
  if (isList) return;
  const wanted = 'an array of { name, description, required }; a prompt has no schema';
  misuse(option, wanted, Array.isArray(declared) ? 'an array with something else' : kindOf(declared));
}

function readArguments(definition: PromptDefinition, args: JsonObject): { [name: string]: string } {
  for (const { name, required } of definition.arguments ?? []) {
    if (required && !Object.hasOwn(args, name)) {
      throw invalidParams(`Prompt "${definition.name}" needs argument "${name}"`);
    }
  }
  const wrong = Object.keys(args).find((name) => typeof args[name] !== 'string');
  if (wrong !== undefined)
    throw invalidParams(`Argument "${wrong}" of prompt "${definition.name}" must be a string`);
  // Sound: every value was checked.
  return args as { [name: string]: string };
}
