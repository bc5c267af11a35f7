import { access, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { McpError } from '../jsonrpc/index.ts';

const SHOWN_LINES = 10;

/** How a process ended: with a code, or by a signal. */
export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A server's process did not start (`SPAWN_FAILED`), or ended or hung up by itself (`PROCESS_EXITED`). */
export class ProcessError extends McpError {
  /** The exit code; null when the process did not start, was killed by a signal, or had not ended yet. */
  readonly exitCode: number | null;
  /** The signal that killed the process, or null. */
  readonly signal: NodeJS.Signals | null;
  /** The last 8192 characters of its stderr at most; empty unless `stderr` is piped. */
  readonly stderrTail: string;

  constructor(
    code: 'SPAWN_FAILED' | 'PROCESS_EXITED',
    message: string,
    options: { exit?: ProcessExit | undefined; stderrTail?: string; cause?: unknown } = {},
  ) {
    super(code, message, { cause: options.cause });
    this.exitCode = options.exit?.code ?? null;
    this.signal = options.exit?.signal ?? null;
    this.stderrTail = options.stderrTail ?? '';
  }
}

/** Says why a command could not be started; for a missing file, which one. */
export async function spawnError(
  name: string,
  spec: { command: string; cwd?: string },
  cause: NodeJS.ErrnoException,
): Promise<ProcessError> {
  return new ProcessError('SPAWN_FAILED', `Cannot start "${name}": ${await findFault(spec, cause)}`, {
    cause,
  });
}

/** Says how a server ended that was not asked to. `fault` is what is known when it has not exited. */
export function exitError(
  name: string,
  what: { exit: ProcessExit | undefined; fault: string; silent: boolean; stderrTail: string; cause: unknown },
): ProcessError {
  const { exit, fault, silent, stderrTail, cause } = what;
  const event = exit ? describe(exit) : `it ${fault} and has not exited`;
  const when = silent ? ' before it sent a message' : '';
  const message = `The server "${name}" is gone: ${event}${when}${quoteTail(stderrTail)}`;
  return new ProcessError('PROCESS_EXITED', message, { exit, stderrTail, cause });
}

async function findFault(
  spec: { command: string; cwd?: string },
  cause: NodeJS.ErrnoException,
): Promise<string> {
  const { command, cwd } = spec;
  // The system reports a missing folder as if the command were missing.
  if (cwd !== undefined) {
    const folder = await stat(cwd).catch(() => undefined);
    if (!folder) return `the folder ${JSON.stringify(cwd)} does not exist; correct "cwd"`;
    if (!folder.isDirectory()) return `${JSON.stringify(cwd)} is no folder; correct "cwd"`;
  }
  const quoted = JSON.stringify(command);
  if (cause.code === 'ENOENT') {
    if (!/[/\\]/.test(command))
      return `the command ${quoted} was not found; install it, or correct "command" or PATH`;
    const exists = await access(resolve(cwd ?? '.', command)).then(
      () => true,
      () => false,
    );
    return exists
      ? `the interpreter that the first line of ${quoted} names was not found`
      : `the file ${quoted} does not exist; correct "command"`;
  }
  if (cause.code === 'EACCES')
    return `${quoted} may not be executed (EACCES); make it executable, or correct "command"`;
  return cause.message;
}

function describe({ code, signal }: ProcessExit): string {
  return signal === null ? `it exited with code ${code}` : `it was killed by ${signal}`;
}

function quoteTail(stderrTail: string): string {
  const lines = stripVTControlCharacters(stderrTail)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '');
  if (lines.length === 0) return '';
  return `; its last words on stderr:\n${lines.slice(-SHOWN_LINES).join('\n')}`;
}
