import { isJsonObject, type JsonObject, McpError, toError } from '../../jsonrpc/index.ts';
import { answerInput, type InputContext, type InputHandlers } from './input.ts';
import { untilAborted } from './until-aborted.ts';

/** How often by default a server may ask for input before one request is answered. */
export const DEFAULT_MAX_ROUNDS = 10;

/**
 * Answers everything that one round of a multi round-trip request asks, in parallel.
 *
 * @returns what the retry carries beside the original params: `inputResponses` where something was asked,
 *   `requestState` exactly where and as the server sent one.
 * @throws McpError `INPUT_REQUIRED` when something is asked that no handler answers, `INVALID_RESULT` when the round
 *   asks nothing and carries no state.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#client-requirements-basic-workflow
 */
export async function answerRound(
  method: string,
  round: JsonObject,
  handlers: InputHandlers,
  context: InputContext,
): Promise<JsonObject> {
  const { inputRequests, requestState } = round;
  const retry: JsonObject = {};
  if (typeof requestState === 'string') retry.requestState = requestState;
  if (isJsonObject(inputRequests)) {
    const answers = answerAll(method, inputRequests, handlers, context);
    retry.inputResponses = await untilAborted(answers, context.signal);
  } else if (retry.requestState === undefined) {
    throw new McpError(
      'INVALID_RESULT',
      `Cannot go on with "${method}": the server asks for input but names none`,
    );
  }
  return retry;
}

async function answerAll(
  method: string,
  requests: JsonObject,
  handlers: InputHandlers,
  context: InputContext,
): Promise<JsonObject> {
  const asked = Object.entries(requests);
  const unanswerable = asked.find(([, request]) => !hasHandler(request, handlers));
  if (unanswerable) {
    const [name, request] = unanswerable;
    const what = isJsonObject(request) ? JSON.stringify(request.method) : 'no request';
    throw new McpError(
      'INPUT_REQUIRED',
      `Cannot go on with "${method}": the server asks for input "${name}" (${what}) and the client has no handler for it`,
    );
  }
  const answers = await Promise.all(
    asked.map(async ([name, request]) => {
      // Sound: hasHandler saw that it is an object with a known method.
      const { method: asks, params } = request as { method: string; params?: unknown };
      try {
        return [name, await answerInput(handlers, asks, params, context)] as const;
      } catch (cause) {
        if (cause instanceof McpError) throw cause;
        const message = `The handler of "${asks}" threw: ${toError(cause).message}`;
        throw new McpError('HANDLER_FAILED', message, { cause });
      }
    }),
  );
  return Object.fromEntries(answers);
}

function hasHandler(request: unknown, handlers: InputHandlers): boolean {
  if (!isJsonObject(request)) return false;
  switch (request.method) {
    case 'elicitation/create':
      return handlers.onElicit !== undefined;
    case 'sampling/createMessage':
      return handlers.onSample !== undefined;
    case 'roots/list':
      return handlers.onListRoots !== undefined;
    default:
      return false;
  }
}
