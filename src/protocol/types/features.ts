import type { JsonObject } from '../../jsonrpc/index.ts';
import type { ContentBlock, Resource, ResourceContents, ResourceTemplate, Role } from './content.ts';
import type { CacheHints, Icon, Meta } from './identity.ts';

/** A JSON Schema; 2020-12 unless `$schema` names another dialect. */
export type JsonSchema = { $schema?: string; [keyword: string]: unknown };

/**
 * Hints about what a tool does. They come from the server and prove nothing. Where one is absent the specification's
 * default holds: not read-only, destructive, not idempotent, open-world.
 */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool */
export interface ToolDefinition {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonSchema & { type: 'object' };
  outputSchema?: JsonSchema;
  annotations?: ToolAnnotations;
  icons?: Icon[];
  _meta?: Meta;
}

/** @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result */
export interface CallToolResult {
  content: ContentBlock[];
  /** Any JSON value since 2026-07-28, an object before. */
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Meta;
}

export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
}

export interface PromptDefinition {
  name: string;
  title?: string;
  description?: string;
  arguments?: PromptArgument[];
  icons?: Icon[];
  _meta?: Meta;
}

export interface PromptMessage {
  role: Role;
  content: ContentBlock;
}

export interface GetPromptResult {
  description?: string;
  messages: PromptMessage[];
  _meta?: Meta;
}

export interface ReadResourceResult extends CacheHints {
  contents: ResourceContents[];
  _meta?: Meta;
}

/** One page of a list. */
export interface Page extends CacheHints {
  nextCursor?: string;
  _meta?: Meta;
}
export interface ListToolsResult extends Page {
  tools: ToolDefinition[];
}
export interface ListPromptsResult extends Page {
  prompts: PromptDefinition[];
}
export interface ListResourcesResult extends Page {
  resources: Resource[];
}
export interface ListResourceTemplatesResult extends Page {
  resourceTemplates: ResourceTemplate[];
}

/** What a completion is asked for: an argument of a prompt, or a variable of a resource template. */
export type CompletionReference =
  | { type: 'ref/prompt'; name: string; title?: string }
  | { type: 'ref/resource'; uri: string };

export interface CompleteParams {
  ref: CompletionReference;
  argument: { name: string; value: string };
  context?: { arguments?: { [name: string]: string } };
}

export interface CompleteResult {
  completion: { values: string[]; total?: number; hasMore?: boolean };
  _meta?: Meta;
}

/** What a listener wants to hear of. Absent members are not wanted. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  /** URIs of resources whose changes are wanted. */
  resourceSubscriptions?: string[];
}

export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** A result of an unknown shape, as it came. */
export type Result = JsonObject;
