import { isJsonObject, type JsonObject } from '../../jsonrpc/index.ts';
import type { CompleteResult } from '../types/features.ts';
import type { Context, RequestContext } from './context.ts';
import { invalidParams, isPromiseLike, requireString } from './feature.ts';

/** Suggestions for one argument, best first. */
export type Suggestions = readonly string[] | SuggestionPage;

/** Some of many suggestions. */
export interface SuggestionPage {
  values: readonly string[];
  /** How many there are in all. */
  total?: number;
  hasMore?: boolean;
}

/**
 * Suggests values that fit what was typed so far. `args` holds the arguments that are settled already.
 */
export type Completer = (
  value: string,
  args: Readonly<Record<string, string>>,
  context: RequestContext,
) => Suggestions | Promise<Suggestions>;

/** A completer for each argument, or variable, that has one. */
export type Completers = { readonly [argument: string]: Completer };

/** How many suggestions one answer may hold. */
const MAX_VALUES = 100;

/** Where the completers of a reference are found; each throws RpcError -32602 when there is no such thing. */
export interface CompletionSources {
  prompt(name: string): Completers | undefined;
  resource(uri: string): Completers | undefined;
}

/** @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion */
export function complete(
  context: Context,
  sources: CompletionSources,
): CompleteResult | Promise<CompleteResult> {
  const { ref, argument, context: settled } = context.params;
  if (!isJsonObject(ref)) throw invalidParams('"ref" must be an object');
  if (!isJsonObject(argument)) throw invalidParams('"argument" must be an object');
  const name = requireString(argument, 'name');
  const value = requireString(argument, 'value');
  const completers = findCompleters(ref, sources);
  const completer = completers && Object.hasOwn(completers, name) ? completers[name] : undefined;
  if (!completer) return { completion: { values: [], hasMore: false } };
  const suggestions = completer(value, settledArguments(settled), context);
  return isPromiseLike(suggestions) ? Promise.resolve(suggestions).then(limit) : limit(suggestions);
}

function findCompleters(ref: JsonObject, sources: CompletionSources): Completers | undefined {
  switch (ref.type) {
    case 'ref/prompt':
      return sources.prompt(requireString(ref, 'name'));
    case 'ref/resource':
      return sources.resource(requireString(ref, 'uri'));
    default:
      throw invalidParams('"ref.type" must be "ref/prompt" or "ref/resource"');
  }
}

function settledArguments(settled: unknown): Record<string, string> {
  const args = isJsonObject(settled) && isJsonObject(settled.arguments) ? settled.arguments : {};
  const strings = Object.entries(args).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(strings);
}

function limit(suggestions: Suggestions): CompleteResult {
  const page: SuggestionPage = isPage(suggestions) ? suggestions : { values: suggestions };
  const { values, total = values.length, hasMore } = page;
  const kept = values.slice(0, MAX_VALUES);
  return { completion: { values: kept, total, hasMore: hasMore ?? total > kept.length } };
}

function isPage(suggestions: Suggestions): suggestions is SuggestionPage {
  return !Array.isArray(suggestions);
}
