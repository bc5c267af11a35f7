#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { parseCommandLine } from './cli/command-line.ts';
import { login, logout } from './cli/login.ts';
import { Output } from './cli/output.ts';
import { run } from './cli/run.ts';
import { EXIT, USAGE, UsageError } from './cli/usage.ts';
import { McpError } from './jsonrpc/index.ts';

const output = new Output(process.stdout, process.stderr);

// Never process.exit(): what was printed would be cut where a pipe is slow. The process ends when nothing is left to do.
process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  try {
    const command = parseCommandLine(argv);
    switch (command.name) {
      case 'help':
        await output.print(USAGE);
        return EXIT.ok;
      case 'version':
        await output.print(readVersion());
        return EXIT.ok;
      case 'login':
        return await interruptible((signal) => login(command, { output, version: readVersion(), signal }));
      case 'logout':
        return await interruptible((signal) => logout(command, { output, version: readVersion(), signal }));
      default:
        return await interruptible((signal) => run(command, { output, version: readVersion(), signal }));
    }
  } catch (error) {
    if (error instanceof UsageError) {
      output.note(`mcpwire: ${error.message}\nTry mcpwire --help`);
      return EXIT.usage;
    }
    if (!(error instanceof McpError)) throw error;
    output.note(`mcpwire: ${error.message} (${error.code})`);
    return EXIT.request;
  }
}

/** Lets Ctrl-C and a request to end take the server along: the first aborts and closes, the second does not wait. */
async function interruptible(work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const controller = new AbortController();
  let status: number | undefined;
  const onSignal = (name: NodeJS.Signals) => {
    if (status !== undefined) process.exit(status);
    status = 128 + constants.signals[name];
    controller.abort(new Error(`Ended by ${name}`));
  };
  const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const name of signals) process.on(name, onSignal);
  try {
    const done = await work(controller.signal);
    return status ?? done;
  } catch (error) {
    if (status !== undefined) return status;
    throw error;
  } finally {
    for (const name of signals) process.off(name, onSignal);
  }
}

function readVersion(): string {
  const file = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  // Sound: it is this package's own file, and npm does not publish one without a version.
  return (JSON.parse(file) as { version: string }).version;
}
