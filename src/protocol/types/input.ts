import type { JsonObject } from '../../jsonrpc/index.ts';
import type { AudioContent, ContentBlock, ImageContent, Role, TextContent } from './content.ts';
import type { ToolDefinition } from './features.ts';
import type { Meta } from './identity.ts';

// What a server may ask of a client. In the session dialect these are requests of the server; in the stateless dialect
// they ride in an InputRequiredResult and their answers in the retry.

/** One field of an elicitation form: a flat JSON Schema of a string, number, boolean or enumeration. */
export type FormField = JsonObject & { type: 'string' | 'number' | 'integer' | 'boolean' | 'array' };

export interface ElicitFormParams {
  mode?: 'form';
  message: string;
  requestedSchema: {
    $schema?: string;
    type: 'object';
    properties: { [name: string]: FormField };
    required?: string[];
  };
}

export interface ElicitUrlParams {
  mode: 'url';
  message: string;
  url: string;
  /** Only in revision 2025-11-25. */
  elicitationId?: string;
}

export type ElicitParams = ElicitFormParams | ElicitUrlParams;

export interface ElicitResult {
  action: 'accept' | 'decline' | 'cancel';
  content?: { [name: string]: string | number | boolean | string[] };
  _meta?: Meta;
}

export interface ToolUseContent {
  type: 'tool_use';
  id: string;
  name: string;
  input: JsonObject;
  _meta?: Meta;
}

export interface ToolResultContent {
  type: 'tool_result';
  toolUseId: string;
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Meta;
}

export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent;

export interface SamplingMessage {
  role: Role;
  content: SamplingContent | SamplingContent[];
  _meta?: Meta;
}

export interface ModelPreferences {
  hints?: { name?: string }[];
  /** Each from 0 to 1. */
  costPriority?: number;
  speedPriority?: number;
  intelligencePriority?: number;
}

export interface CreateMessageParams {
  messages: SamplingMessage[];
  maxTokens: number;
  modelPreferences?: ModelPreferences;
  systemPrompt?: string;
  includeContext?: 'none' | 'thisServer' | 'allServers';
  temperature?: number;
  stopSequences?: string[];
  metadata?: JsonObject;
  tools?: ToolDefinition[];
  toolChoice?: { mode?: 'auto' | 'required' | 'none' };
}

export interface CreateMessageResult extends SamplingMessage {
  model: string;
  stopReason?: string;
}

export interface Root {
  uri: string;
  name?: string;
  _meta?: Meta;
}

export interface ListRootsResult {
  roots: Root[];
  _meta?: Meta;
}

export type InputRequest =
  | { method: 'elicitation/create'; params: ElicitParams }
  | { method: 'sampling/createMessage'; params: CreateMessageParams }
  | { method: 'roots/list'; params?: { _meta?: Meta } };

export type InputResponse = ElicitResult | CreateMessageResult | ListRootsResult;

/** @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#inputrequiredresult */
export interface InputRequiredResult {
  resultType: 'input_required';
  inputRequests?: { [name: string]: InputRequest };
  requestState?: string;
  _meta?: Meta;
}
