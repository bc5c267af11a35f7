export { type AdapterOptions, McpServerAdapter } from './adapter.ts';
export { type ApplyOptions, applyPlugins, createPluginStream } from './apply-plugins.ts';
export { type GroupMember, type GroupOptions, McpClientGroup } from './client-group.ts';
export type { McpServerEntry, McpServersConfig, Variables } from './config.ts';
export { MAX_DEFINITION_DEPTH, type StructuredPolicy } from './contract.ts';
export { type ConvertOptions, convertContent } from './convert.ts';
export { MAX_STRUCTURED_DEPTH } from './depth.ts';
export { exportOutput, exportTool } from './export.ts';
export type { Following } from './follow.ts';
export type {
  OtherBlock,
  Plugin,
  StreamBlock,
  StreamContext,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  ToolResultBlock,
} from './model-stream.ts';
export { McpPlugin, type PluginOptions } from './plugin.ts';
export type {
  HttpTarget,
  PluginConnectionOptions,
  PluginTarget,
  StdioTarget,
  WebSocketTarget,
} from './plugin-connection.ts';
export { PluginError, type PluginErrorKind } from './plugin-error.ts';
export { McpToolProvider, PREFIX_SEPARATOR, type ProviderOptions, type RefreshOptions } from './provider.ts';
export { type RegistryEvent, type RegistryOptions, ToolRegistry, type ToolSchema } from './registry.ts';
export { MAX_RAW_BYTES } from './structured.ts';
export type { SyncReport } from './sync.ts';
export {
  type AudioPart,
  createTool,
  type ImagePart,
  type TextPart,
  type Tool,
  type ToolContext,
  ToolError,
  type ToolErrorKind,
  type ToolFailure,
  type ToolOutput,
  type ToolPart,
  type ToolSpec,
  type ToolSuccess,
  textOf,
  toolFailure,
} from './tool.ts';
