import { isJsonObject, type JsonObject, McpError } from '../../jsonrpc/index.ts';
import { nodeCrypto } from '../crypto.ts';
import { type CompiledSchema, compileSchema } from '../json-schema.ts';
import type { RevisionTraits } from '../revisions.ts';
import type { ClientCapabilities } from '../types/identity.ts';
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  FormField,
  InputRequest,
  InputResponse,
  ListRootsResult,
  SamplingMessage,
} from '../types/input.ts';
import { without } from './shape.ts';

/** Questions to the client, by a name each. */
export type Questions = { readonly [name: string]: InputRequest };
/** The answers to {@link Questions}, by the same names. */
export type Answers = { readonly [name: string]: InputResponse };

export interface AskOptions {
  /**
   * What the question is called: unique within its request, and the same each time the handler runs. Default: its kind
   * and how many of that kind came before.
   */
  name?: string;
}

export type ElicitQuestion = Extract<InputRequest, { method: 'elicitation/create' }>;
export type SampleQuestion = Extract<InputRequest, { method: 'sampling/createMessage' }>;
export type RootsQuestion = Extract<InputRequest, { method: 'roots/list' }>;

/** What a question is answered with. */
export type AnswerTo<Question extends InputRequest> = Question extends ElicitQuestion
  ? ElicitResult
  : Question extends SampleQuestion
    ? CreateMessageResult
    : ListRootsResult;

/** A question to the person at the client, for {@link RequestContext.inputs}. */
export function elicit(params: ElicitParams): ElicitQuestion {
  return { method: 'elicitation/create', params };
}

/** A question to the model at the client, for {@link RequestContext.inputs}. */
export function sample(params: CreateMessageParams): SampleQuestion {
  return { method: 'sampling/createMessage', params };
}

/** The question which directories the client works in, for {@link RequestContext.inputs}. */
export function listRoots(): RootsQuestion {
  return { method: 'roots/list' };
}

/** What a client must have declared to be asked all of these; undefined when it has. */
export function missingCapabilities(
  questions: Questions,
  declared: ClientCapabilities,
): ClientCapabilities | undefined {
  let missing: ClientCapabilities | undefined;
  for (const question of Object.values(questions)) {
    switch (question.method) {
      case 'elicitation/create': {
        const mode = question.params.mode ?? 'form';
        if (canElicit(declared.elicitation, mode)) break;
        missing = { ...missing, elicitation: { ...missing?.elicitation, [mode]: {} } };
        break;
      }
      case 'sampling/createMessage': {
        const needsTools = question.params.tools !== undefined || question.params.toolChoice !== undefined;
        if (isJsonObject(declared.sampling) && (!needsTools || isJsonObject(declared.sampling.tools))) break;
        missing = { ...missing, sampling: { ...missing?.sampling, ...(needsTools && { tools: {} }) } };
        break;
      }
      case 'roots/list':
        if (!isJsonObject(declared.roots)) missing = { ...missing, roots: {} };
    }
  }
  return missing;
}

/** A client that declares no mode at all knows the older one. */
function canElicit(declared: ClientCapabilities['elicitation'], mode: 'form' | 'url'): boolean {
  if (!isJsonObject(declared)) return false;
  if (isJsonObject(declared[mode])) return true;
  return mode === 'form' && !isJsonObject(declared.url);
}

/**
 * A question in the words of the client's revision.
 *
 * @throws McpError `NOT_SUPPORTED` when that revision has no words for it.
 */
export function shapeQuestion(question: InputRequest, traits: RevisionTraits): InputRequest {
  switch (question.method) {
    case 'elicitation/create':
      return { method: question.method, params: shapeElicitation(question.params, traits) };
    case 'sampling/createMessage':
      return { method: question.method, params: shapeSampling(question.params, traits) };
    case 'roots/list':
      return question;
  }
}

function shapeElicitation(params: ElicitParams, traits: RevisionTraits): ElicitParams {
  const mode = params.mode ?? 'form';
  if (!traits.elicitationModes.includes(mode)) throw unspeakable(`elicitation in mode "${mode}"`);
  const shaped = without(params, traits.absent.elicitation);
  if (shaped.mode === 'url') {
    return traits.elicitationIds ? { elicitationId: nodeCrypto().randomUUID(), ...shaped } : shaped;
  }
  if (traits.richForms) return shaped;
  const { properties, required } = shaped.requestedSchema;
  const fields = Object.entries(properties).map(([name, field]) => [name, shapeField(name, field, traits)]);
  return {
    ...shaped,
    requestedSchema: {
      type: 'object',
      properties: Object.fromEntries(fields),
      ...(required && { required }),
    },
  };
}

function shapeField(name: string, field: FormField, traits: RevisionTraits): FormField {
  if (field.type === 'boolean') return field;
  if (field.type === 'array') throw unspeakable(`a choice of several values (form field "${name}")`);
  const shaped = without(field, traits.absent.formField);
  if (!Array.isArray(shaped.oneOf)) return shaped;
  const choices = shaped.oneOf.filter(isJsonObject);
  return {
    ...without(shaped, ['oneOf']),
    enum: choices.map((choice) => choice.const),
    enumNames: choices.map((choice) => choice.title ?? choice.const),
  };
}

function shapeSampling(params: CreateMessageParams, traits: RevisionTraits): CreateMessageParams {
  if (traits.richSampling) return params;
  if (params.tools !== undefined || params.toolChoice !== undefined) throw unspeakable('sampling with tools');
  return { ...params, messages: params.messages.map((message) => shapeMessage(message, traits)) };
}

function shapeMessage(message: SamplingMessage, traits: RevisionTraits): SamplingMessage {
  const blocks = Array.isArray(message.content) ? message.content : [message.content];
  const [block] = blocks;
  if (!block || blocks.length > 1) throw unspeakable('sampling messages of several content blocks');
  if (!PLAIN_BLOCKS.includes(block.type) || traits.absentBlocks.includes(block.type)) {
    throw unspeakable(`sampling content of type "${block.type}"`);
  }
  const shaped = without(message, traits.absent.samplingMessage);
  return { ...shaped, content: without(block, traits.absent.block) };
}

const PLAIN_BLOCKS: readonly string[] = ['text', 'image', 'audio'];

function unspeakable(what: string): McpError {
  return new McpError(
    'NOT_SUPPORTED',
    `Cannot ask the client for input: its revision of the protocol has no ${what}`,
  );
}

/**
 * What is wrong with an answer; undefined when it fits its question. Answers at once, unless a schema has to wait for its
 * compiler.
 */
export function findFault(
  question: InputRequest,
  answer: unknown,
): string | undefined | Promise<string | undefined> {
  if (!isJsonObject(answer)) return 'it is no object';
  switch (question.method) {
    case 'elicitation/create':
      return findElicitFault(question.params, answer);
    case 'sampling/createMessage':
      return findSampleFault(answer);
    case 'roots/list':
      return findRootsFault(answer);
  }
}

function findElicitFault(
  params: ElicitParams,
  answer: JsonObject,
): string | undefined | Promise<string | undefined> {
  const { action, content } = answer;
  if (action === 'decline' || action === 'cancel') return undefined;
  if (action !== 'accept') return '"action" must be "accept", "decline" or "cancel"';
  if (params.mode === 'url') return undefined;
  if (!isJsonObject(content)) return '"content" must be an object';
  const check = (schema: CompiledSchema) => schema.validate(content)?.message;
  const compiled = compileSchema(params.requestedSchema);
  return compiled instanceof Promise ? compiled.then(check) : check(compiled);
}

function findSampleFault({ role, content, model }: JsonObject): string | undefined {
  if (role !== 'user' && role !== 'assistant') return '"role" must be "user" or "assistant"';
  const blocks = Array.isArray(content) ? content : [content];
  if (!blocks.every((block) => isJsonObject(block) && typeof block.type === 'string')) {
    return '"content" must be a content block, or an array of them';
  }
  return typeof model === 'string' ? undefined : '"model" must be a string';
}

function findRootsFault({ roots }: JsonObject): string | undefined {
  const areRoots =
    Array.isArray(roots) && roots.every((root) => isJsonObject(root) && typeof root.uri === 'string');
  return areRoots ? undefined : '"roots" must be an array of roots';
}
