import { Console } from 'node:console';
import type { Readable, Writable } from 'node:stream';
import { StreamTransport } from '../../transport/index.ts';
import { assertServer, type McpServer } from './server.ts';

/** How long a process may live on after its client has gone, while something keeps it alive. */
const LINGER_MS = 1000;

export interface ServeStdioOptions {
  /** Where the client writes. Default the standard input of this process. */
  input?: Readable;
  /** Where the client reads. Default the standard output of this process. */
  output?: Writable;
  /** Whether `console.log` and its like write to the standard error: the output is the client's. Default true. */
  redirectConsole?: boolean;
  /**
   * Whether the process exits when the client has gone and all is answered, even if something would keep it alive: one
   * second later, so that who awaits {@link StdioServer.waiting} can tidy up. Default true where the input is that of
   * this process.
   */
  exit?: boolean;
  /** How long requests may take to be answered once the client has ended its input, in milliseconds. Default 1500. */
  drainMs?: number;
  /** The longest accepted line, in bytes; a longer one is answered with an error. Default 67108864 (64 MiB). */
  maxLineBytes?: number;
}

/** A server that talks to the process that started it. */
export interface StdioServer {
  /** Resolves when the channel has ended and everything said has been written. Never rejects. */
  waiting(): Promise<void>;
  /** Ends the channel, once what is being worked on is answered. Idempotent, never rejects. */
  close(): Promise<void>;
}

/**
 * Serves one client over the standard streams, until it ends its input.
 *
 * @throws TypeError when the server is none.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
export function serveStdio(server: McpServer, options: ServeStdioOptions = {}): StdioServer {
  assertServer(server);
  const {
    input = process.stdin,
    output = process.stdout,
    redirectConsole = true,
    drainMs,
    maxLineBytes,
  } = options;
  const { exit = input === process.stdin } = options;
  const restoreConsole = redirectConsole ? writeConsoleToStderr() : () => {};
  const transport = new StreamTransport(input, output, {
    name: 'stdio',
    pauseWhenFull: true,
    ...(maxLineBytes !== undefined && { maxLineBytes }),
  });
  const connection = server.connect(transport, drainMs === undefined ? {} : { drainMs });
  const ended = connection.closed.then(() => {
    restoreConsole();
    if (exit) setTimeout(() => process.exit(), LINGER_MS).unref();
  });
  return { waiting: () => ended, close: () => connection.close() };
}

/** The methods of a console that write to the standard output. */
const STDOUT_METHODS = [
  'log',
  'info',
  'debug',
  'dir',
  'dirxml',
  'table',
  'group',
  'groupCollapsed',
  'groupEnd',
  'count',
  'timeEnd',
  'timeLog',
] as const;

/** Returns what undoes it. */
function writeConsoleToStderr(): () => void {
  // The client may have closed that stream as well, and must not bring the process down by it.
  process.stderr.on('error', ignore);
  const onStderr = new Console(process.stderr);
  const methodsOf = (from: Console) => Object.fromEntries(STDOUT_METHODS.map((name) => [name, from[name]]));
  const before = methodsOf(console);
  Object.assign(console, methodsOf(onStderr));
  return () => Object.assign(console, before);
}

function ignore(): void {}
