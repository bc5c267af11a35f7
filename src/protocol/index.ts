export { bearer } from './auth/bearer.ts';
export type { ClientCredentials, SigningAlgorithm } from './auth/client-auth.ts';
export { type ClientCredentialsOptions, clientCredentials } from './auth/client-credentials.ts';
export type { RedirectWait } from './auth/code-flow.ts';
export { type EnterpriseOptions, enterpriseManaged, type IdentityProvider } from './auth/enterprise.ts';
export { fileTokenStore } from './auth/file-store.ts';
export type { LoopbackOptions } from './auth/loopback.ts';
export { DEFAULT_LOGIN_TIMEOUT_MS, type OAuthAuthorizer, type OAuthOptions, oauth } from './auth/oauth.ts';
export type { TokenAuthMethod } from './auth/records.ts';
export type { ClientRegistration } from './auth/registration.ts';
export type { GrantOptions } from './auth/server-tokens.ts';
export { memoryTokenStore, type TokenStore } from './auth/store.ts';
export { type AssertionAudience, type WorkloadIdentityOptions, workloadIdentity } from './auth/workload.ts';
export type { BackoffOptions } from './client/backoff.ts';
export type { CacheOptions } from './client/cache.ts';
export type { ListenEvent } from './client/changes.ts';
export {
  type HttpConnectOptions,
  type InProcessServer,
  type ListOptions,
  McpClient,
  type SocketClientOptions,
  type StdioOptions,
  type WebSocketClientOptions,
} from './client/client.ts';
export type { ServerDescription } from './client/dialect.ts';
export type { InputContext, InputHandlers } from './client/input.ts';
export type { RequestOptions } from './client/link.ts';
export type { Subscription } from './client/listen.ts';
export type { Verdict } from './client/negotiate.ts';
export { type ClientOptions, DEFAULT_PROBE_TIMEOUT_MS, type Notification } from './client/options.ts';
export { DEFAULT_MAX_PAGES } from './client/pages.ts';
export { DEFAULT_MAX_ROUNDS } from './client/rounds.ts';
export {
  HEADER_MISMATCH,
  MISSING_REQUIRED_CLIENT_CAPABILITY,
  RESOURCE_NOT_FOUND,
  UNSUPPORTED_PROTOCOL_VERSION,
} from './errors.ts';
export {
  type CompiledSchema,
  compileSchema,
  type InspectOptions,
  inspectSchema,
  MAX_CACHED_SCHEMAS,
  MAX_PATTERN_CHARS,
  MAX_SCHEMA_BRANCHES,
  MAX_SCHEMA_CHARS,
  MAX_SCHEMA_DEPTH,
  MAX_SCHEMA_VALUES,
  MAX_SUBSCHEMAS,
  MAX_VALIDATION_STEPS,
  SCHEMA_DIALECTS,
  type SchemaDialect,
  type SchemaFault,
  schemaFingerprint,
  type Violation,
} from './json-schema.ts';
export {
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_PROTOCOL_VERSION,
  META_SERVER_INFO,
  META_SUBSCRIPTION_ID,
} from './meta.ts';
export {
  type DialectName,
  isSessionRevision,
  isStatelessRevision,
  REVISIONS,
  type Revision,
  type RevisionTraits,
  SESSION_REVISIONS,
  type SessionRevision,
  STATELESS_REVISIONS,
  type StatelessRevision,
} from './revisions.ts';
export type { Completer, Completers, SuggestionPage, Suggestions } from './server/completion.ts';
export type { ConnectOptions, ServerConnection } from './server/connection.ts';
export type { RequestContext } from './server/context.ts';
export type { Middleware } from './server/core.ts';
export type { ClientDescription } from './server/dialect.ts';
export {
  DEFAULT_MAX_LOG_BYTES,
  type EventLog,
  type LoggedEvent,
  MemoryEventLog,
} from './server/http/event-log.ts';
export {
  type HttpHandlerOptions,
  type ServeHttpOptions,
  serveHttp,
  toFetchHandler,
  toNodeHandler,
} from './server/http/serve.ts';
export type { SessionOptions } from './server/http/sessions.ts';
export {
  type Answers,
  type AnswerTo,
  type AskOptions,
  elicit,
  listRoots,
  type Questions,
  sample,
} from './server/input.ts';
export type { ServerCacheOptions, ServerOptions } from './server/options.ts';
export type { PromptArguments, PromptHandler, PromptOptions } from './server/prompts.ts';
export type { RequestStateOptions } from './server/request-state.ts';
export type {
  ResourceOptions,
  ResourceReader,
  ResourceTemplateOptions,
  TemplateReader,
} from './server/resources.ts';
export type { PromptReturn, ResourceReturn, ToolReturn } from './server/results.ts';
export { McpServer } from './server/server.ts';
export { serveSocket } from './server/socket.ts';
export { type ServeStdioOptions, type StdioServer, serveStdio } from './server/stdio.ts';
export type { StructuredReturn, ToolDeclaration, ToolHandler, ToolSource } from './server/tools.ts';
export type { UriVariables } from './server/uri-matcher.ts';
export type { UriValues } from './server/uri-parts.ts';
export type { TemplateVariables } from './server/uri-template.ts';
export {
  MAX_TEMPLATE_CHARS,
  MAX_URI_CHARS,
  parseUriTemplate,
  type UriTemplate,
} from './server/uri-template.ts';
export { serveWebSocket } from './server/websocket.ts';
export {
  type Checked,
  checkValue,
  type InferInput,
  type InferOutput,
  isStandardSchema,
  type SchemaLike,
  type StandardIssue,
  type StandardResult,
  type StandardSchema,
  toJsonSchema,
} from './standard-schema.ts';
export type * from './types/content.ts';
export type * from './types/features.ts';
export {
  type CacheHints,
  type ClientCapabilities,
  type Icon,
  type Implementation,
  LOGGING_LEVELS,
  type LoggingLevel,
  type Meta,
  type ServerCapabilities,
} from './types/identity.ts';
export type * from './types/input.ts';
