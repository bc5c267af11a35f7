import { convertContent, textOf } from '../bridge/index.ts';
import { isJsonObject } from '../jsonrpc/index.ts';
import type {
  CallToolResult,
  GetPromptResult,
  Implementation,
  JsonSchema,
  ListenEvent,
  McpClient,
  Progress,
  PromptDefinition,
  Resource,
  ResourceTemplate,
  ToolDefinition,
} from '../protocol/index.ts';
import { typesOf } from './tool-arguments.ts';

/** A column is padded to its longest cell, but not beyond this: one long cell must not push all others away. */
const MAX_PADDING = 48;

export function renderServer(client: McpClient): string {
  const { serverInfo, serverCapabilities, instructions } = client;
  const rows = [
    ['Server', serverInfo ? renderIdentity(serverInfo) : '(does not say)'],
    ['Dialect', client.dialect],
    ['Revision', client.protocolVersion],
    ['Offers', Object.keys(serverCapabilities).join(', ') || '(nothing)'],
  ];
  const table = renderTable(rows, Number.POSITIVE_INFINITY);
  return instructions === undefined ? table : `${table}\n\n${instructions.trim()}`;
}

function renderIdentity({ name, version, title }: Implementation): string {
  return title === undefined || title === name ? `${name} ${version}` : `${name} ${version} (${title})`;
}

export function renderTools(tools: readonly ToolDefinition[], columns: number): string {
  if (tools.length === 0) return 'The server has no tools';
  const rows = tools.map(({ name, description, inputSchema }) => [
    name,
    renderParameters(inputSchema),
    firstLine(description),
  ]);
  return renderTable([['NAME', 'ARGUMENTS', 'DESCRIPTION'], ...rows], columns);
}

export function renderResources(
  resources: readonly Resource[],
  templates: readonly ResourceTemplate[],
  columns: number,
): string {
  if (resources.length + templates.length === 0) return 'The server has no resources';
  const rows = [
    ...resources.map(({ uri, name, mimeType, description }) => [
      uri,
      name,
      mimeType ?? '',
      firstLine(description),
    ]),
    ...templates.map(({ uriTemplate, name, mimeType, description }) => [
      uriTemplate,
      name,
      mimeType ?? '',
      firstLine(description),
    ]),
  ];
  return renderTable([['URI', 'NAME', 'TYPE', 'DESCRIPTION'], ...rows], columns);
}

export function renderPrompts(prompts: readonly PromptDefinition[], columns: number): string {
  if (prompts.length === 0) return 'The server has no prompts';
  const rows = prompts.map(({ name, description, arguments: args = [] }) => [
    name,
    args.map((argument) => `${argument.name}${argument.required ? '' : '?'}`).join(', '),
    firstLine(description),
  ]);
  return renderTable([['NAME', 'ARGUMENTS', 'DESCRIPTION'], ...rows], columns);
}

export function renderPrompt({ messages }: GetPromptResult): string {
  return messages
    .map(({ role, content }) => `${role}: ${textOf({ content: convertContent([content]) })}`)
    .join('\n\n');
}

export function renderEvent(event: ListenEvent): string {
  switch (event.type) {
    case 'toolsListChanged':
      return 'The tools have changed';
    case 'promptsListChanged':
      return 'The prompts have changed';
    case 'resourcesListChanged':
      return 'The resources have changed';
    case 'resourceUpdated':
      return `Resource ${event.uri} has changed`;
  }
}

/** `path: string, limit?: number` */
function renderParameters(schema: JsonSchema): string {
  const { properties, required } = schema;
  if (!isJsonObject(properties)) return '';
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(properties)
    .map(([name, property]) => `${name}${needed.includes(name) ? '' : '?'}: ${renderType(property)}`)
    .join(', ');
}

function renderType(schema: unknown): string {
  if (isJsonObject(schema) && Array.isArray(schema.enum)) {
    return schema.enum.map((choice) => JSON.stringify(choice)).join('|');
  }
  return typesOf(schema).join('|') || 'any';
}

/** What a tool gave, as text: everything that is no text is named. */
export function renderResult({ content, structuredContent }: CallToolResult): string {
  if (content.length === 0 && structuredContent !== undefined)
    return JSON.stringify(structuredContent, null, 2);
  return textOf({ content: convertContent(content) });
}

export function renderProgress({ progress, total, message }: Progress): string {
  const share = total === undefined ? `${progress}` : `${progress} of ${total}`;
  return message === undefined ? `Progress: ${share}` : `Progress: ${share}, ${message}`;
}

function firstLine(text: unknown): string {
  return typeof text === 'string' ? (text.trim().split('\n', 1)[0] ?? '') : '';
}

/** Rows of cells, aligned; a line that is longer than `columns` is cut with an ellipsis. */
function renderTable(rows: readonly (readonly string[])[], columns: number): string {
  const cells = rows.map((row) => row.map((cell) => cell.replace(/\s+/g, ' ')));
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.min(MAX_PADDING, Math.max(...cells.map((row) => row[column]?.length ?? 0))),
  );
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => (line.length > columns ? `${line.slice(0, columns - 1)}…` : line))
    .join('\n');
}
