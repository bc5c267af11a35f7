export { type AdapterOptions, McpServerAdapter } from './adapter.ts';
export { type ConvertOptions, convertContent } from './convert.ts';
export { exportOutput, exportTool, MAX_STRUCTURED_DEPTH } from './export.ts';
export { McpToolProvider, PREFIX_SEPARATOR, type ProviderOptions } from './provider.ts';
export { type RegistryEvent, type RegistryOptions, ToolRegistry, type ToolSchema } from './registry.ts';
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
