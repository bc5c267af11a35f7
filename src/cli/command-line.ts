import { parseArgs } from 'node:util';
import type { ClientOptions } from '../protocol/index.ts';
import type { ProcessSpec } from '../transport/index.ts';
import { parseArguments, type ToolArguments } from './tool-arguments.ts';
import { UsageError } from './usage.ts';

/** What the command is asked to do. */
export type Command =
  | { name: 'help' }
  | { name: 'version' }
  | ({ name: 'discover' | 'tools' } & Connect)
  | ({ name: 'call'; tool: string; toolArguments: ToolArguments } & Connect);

/** Which server to speak to, and how. */
export interface Connect {
  target: ProcessSpec;
  dialect: NonNullable<ClientOptions['dialect']>;
  /** Undefined: the library's default. */
  timeoutMs: number | undefined;
  json: boolean;
  verbose: boolean;
}

const OPTIONS = {
  json: { type: 'boolean' },
  dialect: { type: 'string' },
  timeout: { type: 'string' },
  verbose: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

/** Reads the command line, without the program. @throws UsageError when it makes no sense. */
export function parseCommandLine(argv: readonly string[]): Command {
  const separator = argv.indexOf('--');
  const own = separator === -1 ? argv : argv.slice(0, separator);
  const { values, positionals } = parseOptions(own);
  if (values.help || (own.length === 0 && separator === -1)) return { name: 'help' };
  if (values.version) return { name: 'version' };
  const [name, ...rest] = positionals;
  if (name !== 'discover' && name !== 'tools' && name !== 'call') {
    throw new UsageError(
      name === undefined
        ? 'What to do is missing: discover, tools or call'
        : `Unknown command ${JSON.stringify(name)}: it must be discover, tools or call`,
    );
  }
  const connect: Connect = {
    target: parseTarget(separator === -1 ? [] : argv.slice(separator + 1)),
    dialect: parseDialect(values.dialect),
    timeoutMs: parseTimeout(values.timeout),
    json: values.json ?? false,
    verbose: values.verbose ?? false,
  };
  if (name === 'call') {
    const [tool, ...words] = rest;
    if (tool === undefined) throw new UsageError('The name of the tool to call is missing');
    return { name, tool, toolArguments: parseArguments(words), ...connect };
  }
  if (rest.length > 0) throw new UsageError(`"${name}" takes no ${JSON.stringify(rest[0])}`);
  return { name, ...connect };
}

function parseOptions(own: readonly string[]) {
  try {
    return parseArgs({ args: [...own], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    // What parseArgs throws is about the words it was given; the first sentence says which.
    throw new UsageError(error instanceof Error ? error.message.replace(/\. .*/s, '') : String(error));
  }
}

function parseTarget([command, ...args]: readonly string[]): ProcessSpec {
  if (!command) throw new UsageError('The server is missing: write -- and the command that starts it');
  return { command, args };
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
