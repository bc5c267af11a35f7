import { isJsonObject, McpError, toError } from '../jsonrpc/index.ts';
import type { ProcessSpec } from '../transport/index.ts';

/**
 * Where to find a server: the command that starts it, or an address. Members that are not named here are left alone, for
 * files of this form carry those of many hosts.
 */
export interface McpServerEntry {
  /** `stdio`, `http`, `streamable-http`, `streamableHttp`, `sse`, `ws` or `websocket`. Default: as the other members say. */
  type?: string;
  command?: string;
  args?: string[];
  env?: { [name: string]: string };
  cwd?: string;
  /** An `http:`, `https:`, `ws:` or `wss:` address. */
  url?: string;
  headers?: { [name: string]: string };
  /** Whether it is left alone. Default false. */
  disabled?: boolean;
}

/** The form in which many hosts name their servers. */
export interface McpServersConfig {
  mcpServers: { [name: string]: McpServerEntry };
}

/** Variables that an entry may refer to. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** An entry with its variables filled in. */
export type ServerTarget =
  | { type: 'stdio'; spec: ProcessSpec }
  | { type: 'http' | 'webSocket'; url: URL; headers: { [name: string]: string } };

const LOCAL_TYPE = 'stdio';
const REMOTE_TYPES = ['http', 'streamable-http', 'streamableHttp', 'sse', 'ws', 'websocket'];
const PROTOCOLS: { readonly [protocol: string]: 'http' | 'webSocket' } = {
  'http:': 'http',
  'https:': 'http',
  'ws:': 'webSocket',
  'wss:': 'webSocket',
};
/** `${NAME}`, or `${NAME:-what to take where it is unset or empty}`. */
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Takes the entries out of a configuration, or of the file at a path, in their order.
 *
 * @throws McpError `INVALID_CONFIG` when it cannot be read or has no `mcpServers`.
 */
export async function readConfig(source: McpServersConfig | string | URL): Promise<[string, unknown][]> {
  const isFile = typeof source === 'string' || source instanceof URL;
  const config: unknown = isFile ? await readJson(source) : source;
  if (!isJsonObject(config) || !isJsonObject(config.mcpServers)) {
    const what = isFile ? `"${source}"` : 'the configuration';
    throw invalid(`Cannot read the servers of ${what}: it has no "mcpServers" that is an object`);
  }
  return Object.entries(config.mcpServers);
}

/** Whether an entry is to be left alone. Anything but true and false is for {@link readEntry} to refuse. */
export function isDisabled(entry: unknown): boolean {
  return isJsonObject(entry) && entry.disabled === true;
}

/**
 * Checks an entry and fills its variables in. No message has a value of an environment, a header or a variable in it.
 *
 * @throws McpError `INVALID_CONFIG` that says what is wrong.
 */
export function readEntry(entry: unknown, variables: Variables): ServerTarget {
  if (!isJsonObject(entry)) throw invalid('it is no object');
  const { type, command, url, disabled } = entry;
  if (disabled !== undefined && typeof disabled !== 'boolean')
    throw invalid('"disabled" is neither true nor false');
  if (type !== undefined && type !== LOCAL_TYPE && !REMOTE_TYPES.includes(type as string)) {
    throw invalid(`"type" is ${JSON.stringify(type)}; it may be ${[LOCAL_TYPE, ...REMOTE_TYPES].join(', ')}`);
  }
  if (command === undefined && url === undefined) {
    throw invalid('it has neither "command" nor "url"; it needs one of them');
  }
  if (command !== undefined && url !== undefined) {
    throw invalid('it has both "command" and "url"; it needs one of them');
  }
  if (type !== undefined && (type === LOCAL_TYPE) !== (url === undefined)) {
    throw invalid(`"type" is "${type}", but it has "${url === undefined ? 'command' : 'url'}"`);
  }
  const expand = (text: unknown, where: string) => expandIn(text, where, variables);
  return url === undefined ? readLocal(entry, expand) : readRemote(entry, expand);
}

type Expand = (text: unknown, where: string) => string;

function readLocal({ command, args, env, cwd }: { [member: string]: unknown }, expand: Expand): ServerTarget {
  if (args !== undefined && !Array.isArray(args)) throw invalid('"args" is no array');
  const spec: ProcessSpec = { command: expand(command, 'command') };
  if (args) spec.args = args.map((arg, index) => expand(arg, `args[${index}]`));
  if (env !== undefined) spec.env = readStrings(env, 'env', expand);
  if (cwd !== undefined) spec.cwd = expand(cwd, 'cwd');
  return { type: 'stdio', spec };
}

function readRemote({ url, headers }: { [member: string]: unknown }, expand: Expand): ServerTarget {
  const address = expand(url, 'url');
  // The address may have a secret in it: it is not named.
  const parsed = URL.canParse(address) ? new URL(address) : undefined;
  const type = parsed && PROTOCOLS[parsed.protocol];
  if (!parsed || !type) throw invalid('"url" is no http:, https:, ws: or wss: address');
  return { type, url: parsed, headers: headers === undefined ? {} : readStrings(headers, 'headers', expand) };
}

function readStrings(value: unknown, where: string, expand: Expand): { [name: string]: string } {
  if (!isJsonObject(value)) throw invalid(`"${where}" is no object`);
  return Object.fromEntries(
    Object.entries(value).map(([name, text]) => [name, expand(text, `${where}.${name}`)]),
  );
}

function expandIn(text: unknown, where: string, variables: Variables): string {
  if (typeof text !== 'string') throw invalid(`"${where}" is no string`);
  const expanded = text.replace(VARIABLE, (_, name: string, otherwise: string | undefined) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (otherwise !== undefined) return value === undefined || value === '' ? otherwise : value;
    if (value === undefined) throw invalid(`"${where}" refers to the variable ${name}, which is not set`);
    return value;
  });
  // No process and no header takes one, and their complaints would show the value.
  if (expanded.includes('\0')) throw invalid(`"${where}" has a null character in it`);
  return expanded;
}

async function readJson(file: string | URL): Promise<unknown> {
  try {
    const { readFile } = await import('node:fs/promises');
    return JSON.parse((await readFile(file, 'utf8')).replace(/^\ufeff/, ''));
  } catch (cause) {
    throw invalid(`Cannot read the servers of "${file}": ${toError(cause).message}`, cause);
  }
}

function invalid(message: string, cause?: unknown): McpError {
  return new McpError('INVALID_CONFIG', message, { cause });
}
