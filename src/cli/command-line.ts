import { parseArgs } from 'node:util';
import type { ClientOptions, SubscriptionFilter } from '../protocol/index.ts';
import type { HeaderMap } from '../transport/index.ts';
import { parseAddress, parseHeaders, parseProcess, type Target } from './target.ts';
import { parseArguments, type ToolArguments } from './tool-arguments.ts';
import { UsageError } from './usage.ts';

/** What the command is asked to do. */
export type Command =
  | { name: 'help' }
  | { name: 'version' }
  | ({ name: 'discover' | 'tools' | 'resources' | 'prompts' } & Connect)
  | ({ name: 'call'; tool: string; toolArguments: ToolArguments } & Connect)
  | ({ name: 'read'; uri: string; file: string | undefined } & Connect)
  | ({ name: 'prompt'; prompt: string; promptArguments: { [name: string]: string } } & Connect)
  | ({ name: 'listen'; filter: SubscriptionFilter } & Connect)
  | ({ name: 'login'; url: string; scopes: string[] | undefined } & Connect)
  | ({ name: 'logout'; url: string } & Connect);

/** Which server to speak to, and how. */
export interface Connect {
  target: Target;
  headers: HeaderMap;
  credentials: Credentials;
  /** Whether an authorization server may be in a private network. */
  allowPrivateAddresses: boolean;
  dialect: NonNullable<ClientOptions['dialect']>;
  /** Undefined: the library's default. */
  timeoutMs: number | undefined;
  json: boolean;
  verbose: boolean;
}

/** What the command line says about authorization; where it says nothing, tokens that are kept are used. */
export type Credentials =
  | { by: 'token'; token: string }
  | { by: 'client'; clientId: string; clientSecret: string | undefined }
  | { by: 'store' };

const OPTIONS = {
  json: { type: 'boolean' },
  dialect: { type: 'string' },
  timeout: { type: 'string' },
  header: { type: 'string', multiple: true },
  token: { type: 'string' },
  'client-id': { type: 'string' },
  'client-secret': { type: 'string' },
  scope: { type: 'string', multiple: true },
  'allow-private-addresses': { type: 'boolean' },
  output: { type: 'string' },
  tools: { type: 'boolean' },
  prompts: { type: 'boolean' },
  resources: { type: 'boolean' },
  resource: { type: 'string', multiple: true },
  verbose: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

type Values = ReturnType<typeof parseOptions>['values'];

/** Options that belong to one command. */
const OWN_OPTIONS: { readonly [option in keyof Values]?: Command['name'] } = {
  scope: 'login',
  output: 'read',
  tools: 'listen',
  prompts: 'listen',
  resources: 'listen',
  resource: 'listen',
};

/** Reads the command line, without the program. @throws UsageError when it makes no sense. */
export function parseCommandLine(argv: readonly string[]): Command {
  const separator = argv.indexOf('--');
  const own = separator === -1 ? argv : argv.slice(0, separator);
  const { values, positionals } = parseOptions(own);
  if (values.help || (own.length === 0 && separator === -1)) return { name: 'help' };
  if (values.version) return { name: 'version' };
  const [name, ...rest] = positionals;
  refuseForeignOptions(name, values);
  // The server stands last, whichever way it is named, so that no other word can be taken for it.
  const target =
    separator === -1 ? () => parseAddress(rest.pop()) : () => parseProcess(argv.slice(separator + 1));
  return readCommand(name, rest, values, target);
}

function readCommand(
  name: string | undefined,
  rest: string[],
  values: Values,
  target: () => Target,
): Command {
  switch (name) {
    case 'discover':
    case 'tools':
    case 'resources':
    case 'prompts': {
      const connect = readConnect(values, target());
      refuseSurplus(name, rest);
      return { name, ...connect };
    }
    case 'listen': {
      const connect = readConnect(values, target());
      refuseSurplus(name, rest);
      return { name, filter: readFilter(values), ...connect };
    }
    case 'call': {
      const connect = readConnect(values, target());
      const [tool, ...words] = rest;
      if (tool === undefined) throw new UsageError('The name of the tool to call is missing');
      return { name, tool, toolArguments: parseArguments(words), ...connect };
    }
    case 'read': {
      const connect = readConnect(values, target());
      const [uri, ...surplus] = rest;
      if (uri === undefined) throw new UsageError('The URI of the resource to read is missing');
      refuseSurplus(name, surplus);
      return { name, uri, file: values.output, ...connect };
    }
    case 'prompt': {
      const connect = readConnect(values, target());
      const [prompt, ...words] = rest;
      if (prompt === undefined) throw new UsageError('The name of the prompt is missing');
      return { name, prompt, promptArguments: readPromptArguments(words), ...connect };
    }
    case 'login':
    case 'logout': {
      const connect = readConnect(values, target());
      refuseSurplus(name, rest);
      if (connect.target.by !== 'http') throw new UsageError(`"${name}" needs a server with an http address`);
      if (connect.credentials.by === 'token') throw new UsageError(`"${name}" takes no --token`);
      const { url } = connect.target;
      return name === 'login' ? { name, url, scopes: values.scope, ...connect } : { name, url, ...connect };
    }
    default: {
      const known = 'discover, tools, call, resources, read, prompts, prompt, listen, login or logout';
      throw new UsageError(
        name === undefined
          ? `What to do is missing: ${known}`
          : `Unknown command ${JSON.stringify(name)}: it must be ${known}`,
      );
    }
  }
}

function parseOptions(own: readonly string[]) {
  try {
    return parseArgs({ args: [...own], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    // What parseArgs throws is about the words it was given; the first sentence says which.
    throw new UsageError(error instanceof Error ? error.message.replace(/\. .*/s, '') : String(error));
  }
}

function refuseForeignOptions(name: string | undefined, values: Values): void {
  for (const [option, command] of Object.entries(OWN_OPTIONS)) {
    // Sound: the table's keys are options.
    if (values[option as keyof Values] !== undefined && name !== command) {
      throw new UsageError(`--${option} belongs to "${command}"`);
    }
  }
}

function refuseSurplus(name: string, [surplus]: readonly string[]): void {
  if (surplus !== undefined) throw new UsageError(`"${name}" takes no ${JSON.stringify(surplus)}`);
}

function readConnect(values: Values, target: Target): Connect {
  if (values.header && target.by !== 'http' && target.by !== 'webSocket') {
    throw new UsageError('--header needs a server with an http or ws address');
  }
  return {
    target,
    headers: parseHeaders(values.header ?? []),
    credentials: readCredentials(values, target),
    allowPrivateAddresses: values['allow-private-addresses'] ?? false,
    dialect: parseDialect(values.dialect),
    timeoutMs: parseTimeout(values.timeout),
    json: values.json ?? false,
    verbose: values.verbose ?? false,
  };
}

function readCredentials(values: Values, target: Target): Credentials {
  const { token, 'client-id': clientId, 'client-secret': clientSecret } = values;
  for (const option of ['token', 'client-id', 'client-secret'] as const) {
    if (values[option] === undefined) continue;
    if (target.by !== 'http') throw new UsageError(`--${option} needs a server with an http address`);
    if (values[option] === '') throw new UsageError(`--${option} is empty`);
  }
  if (values['allow-private-addresses'] && target.by !== 'http') {
    throw new UsageError('--allow-private-addresses needs a server with an http address');
  }
  if (clientSecret !== undefined && clientId === undefined) {
    throw new UsageError('--client-secret needs --client-id');
  }
  if (token !== undefined && clientId !== undefined) {
    throw new UsageError('--token and --client-id exclude each other');
  }
  if (token !== undefined) return { by: 'token', token };
  return clientId === undefined ? { by: 'store' } : { by: 'client', clientId, clientSecret };
}

/** Without a choice: all lists. */
function readFilter({ tools, prompts, resources, resource }: Values): SubscriptionFilter {
  const all = !tools && !prompts && !resources && !resource;
  return {
    ...((all || tools) && { toolsListChanged: true }),
    ...((all || prompts) && { promptsListChanged: true }),
    ...((all || resources) && { resourcesListChanged: true }),
    ...(resource && { resourceSubscriptions: resource }),
  };
}

function readPromptArguments(words: readonly string[]): { [name: string]: string } {
  const read = parseArguments(words);
  if (read.from === 'nothing') return {};
  if (read.from !== 'pairs') throw new UsageError('The arguments of a prompt must be key=value');
  return Object.fromEntries(read.pairs.map(({ key, text }) => [key, text]));
}

function parseDialect(value: string | undefined): Connect['dialect'] {
  if (value === undefined) return 'auto';
  if (value === 'auto' || value === 'stateless' || value === 'session') return value;
  throw new UsageError(`Unknown dialect ${JSON.stringify(value)}: it must be auto, stateless or session`);
}

function parseTimeout(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const seconds = value.trim() === '' ? Number.NaN : Number(value);
  if (seconds > 0 && Number.isFinite(seconds)) return seconds * 1000;
  throw new UsageError(`--timeout ${JSON.stringify(value)} is no positive number of seconds`);
}
