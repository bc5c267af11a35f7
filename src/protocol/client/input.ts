import { isJsonObject, type JsonObject } from '../../jsonrpc/index.ts';
import type { ClientCapabilities } from '../types/identity.ts';
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  ListRootsResult,
  Root,
} from '../types/input.ts';

/** What a handler of the client gets beside the question. */
export interface InputContext {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** What a server may ask of this client. A handler that is absent is a capability that is not declared. */
export interface InputHandlers {
  /** Asks the person: a form to fill in, or an address to open. */
  onElicit?: (params: ElicitParams, context: InputContext) => ElicitResult | Promise<ElicitResult>;
  /** Asks the model. */
  onSample?: (
    params: CreateMessageParams,
    context: InputContext,
  ) => CreateMessageResult | Promise<CreateMessageResult>;
  /** Names the directories that the server may work in. */
  onListRoots?: (context: InputContext) => readonly Root[] | Promise<readonly Root[]>;
}

/** The declared capabilities: the caller's own, and one for each handler. */
export function declaredCapabilities(
  handlers: InputHandlers,
  capabilities: ClientCapabilities = {},
): ClientCapabilities {
  const declared: ClientCapabilities = {};
  if (handlers.onElicit) declared.elicitation = { form: {} };
  if (handlers.onSample) declared.sampling = {};
  if (handlers.onListRoots) declared.roots = {};
  return { ...declared, ...capabilities };
}

/**
 * Answers one question of a server with the handler it belongs to; what that throws is how it ends. Undefined when there
 * is none: how that is said is for the dialect.
 */
export function answerInput(
  handlers: InputHandlers,
  method: string,
  params: unknown,
  context: InputContext,
): Promise<JsonObject> | undefined {
  const asked = isJsonObject(params) ? params : {};
  // The casts are sound as far as the wire goes: the handler is the one that looks into what the server sent.
  switch (method) {
    case 'elicitation/create': {
      const { onElicit } = handlers;
      const question = asked as unknown as ElicitParams;
      return onElicit && settle(async () => withDefaults(question, await onElicit(question, context)));
    }
    case 'sampling/createMessage': {
      const { onSample } = handlers;
      return onSample && settle(() => onSample(asked as unknown as CreateMessageParams, context));
    }
    case 'roots/list': {
      const { onListRoots } = handlers;
      return (
        onListRoots &&
        settle(async () => ({ roots: [...(await onListRoots(context))] }) satisfies ListRootsResult)
      );
    }
    default:
      return undefined;
  }
}

/**
 * Fills the fields that an accepted form leaves out with the defaults that its schema names.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema
 */
function withDefaults(question: ElicitParams, answer: ElicitResult): ElicitResult {
  if (answer.action !== 'accept' || question.mode === 'url' || !isJsonObject(question.requestedSchema))
    return answer;
  const { properties } = question.requestedSchema;
  if (!isJsonObject(properties)) return answer;
  const defaults = Object.entries(properties).flatMap(([name, field]) =>
    isJsonObject(field) && field.default !== undefined ? [[name, field.default] as const] : [],
  );
  if (defaults.length === 0) return answer;
  // Sound: a default is of the type of its field, or the server contradicts itself.
  return {
    ...answer,
    content: { ...(Object.fromEntries(defaults) as ElicitResult['content']), ...answer.content },
  };
}

/** Also what a handler throws at once becomes a rejection. */
async function settle(handler: () => object | Promise<object>): Promise<JsonObject> {
  // Sound: the handler's declared result is a plain object of JSON values.
  return (await handler()) as JsonObject;
}
