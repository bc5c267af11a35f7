import { basename } from 'node:path';
import { finished, type Readable } from 'node:stream';
import { isJsonObject, type JsonRpcMessage, McpError, toError } from '../jsonrpc/index.ts';
import { assertObject, kindOf, misuse, shown } from '../jsonrpc/option.ts';
import { serverEnvironment } from './environment.ts';
import { exitError, spawnError } from './process-error.ts';
import { type ServerProcess, spawnServer } from './server-process.ts';
import { StderrReader } from './stderr.ts';
import { type StreamOptions, StreamTransport, withDefaults } from './stream.ts';
import type { Transport, TransportSink } from './transport.ts';
import { createDeferred, resolvesWithin } from './wait.ts';

/** The default of {@link ProcessOptions.graceMs}: 3 s. */
export const DEFAULT_GRACE_MS = 3000;

/** How long an error waits to learn how the process ended. */
const EXPLAIN_MS = 500;
/** How long an exited process's stderr is still read: a descendant may hold it open for ever. */
const STDERR_DRAIN_MS = 200;
const MAX_NAME_CHARS = 80;
const STDERR_MODES: readonly string[] = ['inherit', 'ignore', 'pipe'];

/** How to start a server: plain data, from which any number of transports can be made, one after the other. */
export interface ProcessSpec {
  /** A program found on PATH, or a path. No shell reads it. */
  command: string;
  /** Its arguments, each handed over as it is. Default none. */
  args?: readonly string[];
  /** Variables beside those of {@link safeEnvironment}, or in their place. */
  env?: Readonly<Record<string, string>>;
  /** The folder it starts in. Default: that of this process. */
  cwd?: string;
}

export interface ProcessOptions extends Omit<StreamOptions, 'pauseWhenFull'> {
  /** What error messages call the server. Default: the command and its first argument that is no option. */
  name?: string;
  /** Whether the server gets the whole environment of this process, secrets included. Default false. */
  inheritEnv?: boolean;
  /**
   * Where its stderr goes: to that of this process, nowhere, only into error messages (`pipe`), or line by line to a
   * function, and into error messages too. It is read as fast as it comes; a line beyond 64 KiB comes in pieces.
   * Default `inherit`.
   */
  stderr?: 'inherit' | 'ignore' | 'pipe' | ((line: string) => void);
  /**
   * How long {@link ProcessTransport.close} may take, in milliseconds: the first half for a server that leaves when its
   * input ends, a third more for one that leaves on SIGTERM, then SIGKILL. `0` kills at once. Default 3000.
   */
  graceMs?: number;
}

/**
 * Runs a server as a child process and speaks to it over its standard streams. Good for one run: for the next one,
 * make another transport from the same {@link ProcessSpec}.
 *
 * However the server ends unasked — it exits, dies of a signal, closes its output, stops reading — the sink hears of it
 * once, within a second, as one {@link ProcessError}. What it had sent by then is delivered before.
 *
 * On POSIX it leads a process group and a session of its own: Ctrl-C at a terminal does not reach it, and it has no
 * terminal to ask questions on. Closing ends the group, and every descendant that has left the group but can still be
 * traced to the server by its parents when closing begins. Not ended is what had both left the group and lost its
 * parent, as a daemon does, and what left the group of a server that exits unasked.
 *
 * The group does not outlive this process: not a normal exit, and, where there is a `/bin/sh`, not a crash. On Windows
 * the tree below the server is ended as far as it still hangs together.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
export class ProcessTransport implements Transport {
  readonly name: string;
  readonly #spec: ProcessSpec;
  readonly #options: ProcessOptions;
  readonly #streamOptions: Required<StreamOptions>;
  readonly #graceMs: number;
  readonly #stderr: StderrReader;
  readonly #ended = createDeferred<McpError>();
  /** `ending`: the channel broke, and why is being found out. */
  #state: 'new' | 'starting' | 'open' | 'ending' | 'closed' = 'new';
  #sink: TransportSink | undefined;
  #starting: Promise<ServerProcess> | undefined;
  #server: ServerProcess | undefined;
  #stream: StreamTransport | undefined;
  #stderrEnded: Promise<void> = Promise.resolve();
  #silent = true;
  #failure: McpError | undefined;
  #stopping: Promise<void> | undefined;

  /** @throws TypeError when the spec or an option makes no sense. */
  constructor(spec: ProcessSpec, options: ProcessOptions = {}) {
    const { graceMs = DEFAULT_GRACE_MS, stderr = 'inherit' } = options;
    assertSpec(spec);
    if (typeof graceMs !== 'number' || !(graceMs >= 0 && graceMs < Number.POSITIVE_INFINITY)) {
      misuse('graceMs', 'a number of milliseconds, 0 or more', shown(graceMs));
    }
    if (typeof stderr !== 'function' && !STDERR_MODES.includes(stderr)) {
      misuse('stderr', '"inherit", "ignore", "pipe" or a function', shown(stderr));
    }
    this.#streamOptions = withDefaults({ name: nameOf(spec), ...options });
    this.name = this.#streamOptions.name;
    this.#spec = spec;
    this.#options = options;
    this.#graceMs = graceMs;
    this.#stderr = new StderrReader(typeof stderr === 'function' ? this.#reporting(stderr) : undefined);
  }

  /** The process id; undefined before it is started. It stays when the process ends. */
  get pid(): number | undefined {
    return this.#server?.pid;
  }

  /** The last 8192 characters of its stderr at most; empty unless `stderr` is piped. */
  get stderrTail(): string {
    return this.#stderr.tail;
  }

  /**
   * Starts the process; resolves once it runs, which says nothing about its being a server.
   *
   * @throws ProcessError `SPAWN_FAILED` when it could not be started.
   */
  async start(sink: TransportSink): Promise<void> {
    if (this.#state !== 'new') {
      throw new McpError('CLOSED', `Cannot start "${this.name}": it was started or closed before`);
    }
    this.#state = 'starting';
    this.#starting = this.#spawn();
    const server = await this.#starting;
    if (this.#isClosed())
      throw new McpError('CLOSED', `Cannot start "${this.name}": it was closed meanwhile`);
    this.#state = 'open';
    this.#sink = sink;
    await this.#stream?.start({
      message: (value) => {
        this.#silent = false;
        if (this.#state !== 'closed') sink.message(value);
      },
      error: (error, lost) => {
        if (this.#state !== 'closed') sink.error(error, lost);
      },
      close: (reason) => {
        if (this.#state === 'open') void this.#explainEnd(server, reason);
      },
    });
  }

  send(message: JsonRpcMessage): void | Promise<void> {
    const stream = this.#stream;
    if (!stream || this.#isClosed()) {
      throw this.#failure ?? new McpError('CLOSED', `Cannot send to "${this.name}": it is not open`);
    }
    if (this.#state === 'ending' || !this.#server?.stdin.writable) return this.#refuse();
    return stream.send(message);
  }

  /** Ends the process and all it started, within `graceMs`. A server that leaves when its input ends sees no signal. */
  async close(): Promise<void> {
    if (this.#state !== 'ending') this.#finish();
    const server = await this.#starting?.catch(() => undefined);
    if (server) await this.#stop(server);
    await this.#ended.promise;
  }

  async #spawn(): Promise<ServerProcess> {
    const { command, args = [], env, cwd } = this.#spec;
    const { stderr = 'inherit', inheritEnv } = this.#options;
    let server: ServerProcess;
    try {
      server = await spawnServer(command, args, {
        env: serverEnvironment(env, inheritEnv),
        stdio: ['pipe', 'pipe', typeof stderr === 'function' ? 'pipe' : stderr],
        ...(cwd === undefined ? {} : { cwd }),
      });
    } catch (cause) {
      this.#failure = await spawnError(this.name, this.#spec, toError(cause));
      this.#finish();
      throw this.#failure;
    }
    this.#server = server;
    this.#stream = new StreamTransport(server.stdout, server.stdin, this.#streamOptions);
    if (server.stderr) this.#stderrEnded = this.#readStderr(server.stderr);
    return server;
  }

  #readStderr(stderr: Readable): Promise<void> {
    stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    return new Promise((resolve) => {
      finished(stderr, () => {
        this.#stderr.end();
        resolve();
      });
    });
  }

  /** The channel broke: says why, which is worth a moment's waiting, and ends what is left. */
  async #explainEnd(server: ServerProcess, cause: McpError | undefined): Promise<void> {
    this.#state = 'ending';
    if (this.#stream?.isFlooded) {
      void this.#stop(server);
      this.#finish(cause);
      return;
    }
    const fault = server.stdin.writable ? 'closed its output' : 'stopped reading its input';
    void this.#stop(server);
    if (await server.exitsWithin(EXPLAIN_MS)) await resolvesWithin(this.#stderrEnded, STDERR_DRAIN_MS);
    const { ownExit: exit } = server;
    const { tail: stderrTail } = this.#stderr;
    this.#finish(exitError(this.name, { exit, fault, silent: this.#silent, stderrTail, cause }));
  }

  #finish(failure?: McpError): void {
    if (this.#isClosed()) return;
    this.#state = 'closed';
    this.#failure ??= failure;
    this.#ended.resolve(
      this.#failure ?? new McpError('CLOSED', `The connection to "${this.name}" is closed`),
    );
    this.#sink?.close(failure);
  }

  /** Never rejects. */
  #stop(server: ServerProcess): Promise<void> {
    this.#stopping ??= server
      .stop(() => void this.#stream?.close(), this.#graceMs)
      .then(() => resolvesWithin(this.#stderrEnded, STDERR_DRAIN_MS))
      .then(() => {
        // What still runs, out of reach, may hold the other ends of these.
        for (const stream of [server.stdin, server.stdout, server.stderr]) stream?.destroy();
        return this.#stream?.close();
      });
    return this.#stopping;
  }

  async #refuse(): Promise<void> {
    throw await this.#ended.promise;
  }

  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  #reporting(onLine: (line: string) => void): (line: string) => void {
    return (line) => {
      try {
        onLine(line);
      } catch (cause) {
        const what = `The stderr function of "${this.name}" threw: ${toError(cause).message}`;
        if (!this.#isClosed()) this.#sink?.error(new McpError('HANDLER_FAILED', what, { cause }));
      }
    };
  }
}

/** What stands where a text should be may be a secret: only its kind is said. */
function assertSpec(spec: ProcessSpec): void {
  if (!isJsonObject(spec)) misuse('spec', 'an object with a command', kindOf(spec));
  const { command, args = [], env, cwd } = spec;
  if (typeof command !== 'string' || command === '') {
    misuse('command', 'the name or the path of a program', shown(command));
  }
  if (!Array.isArray(args)) misuse('args', 'an array of strings', kindOf(args));
  const wrong = args.findIndex((each) => typeof each !== 'string');
  if (wrong !== -1) misuse(`args[${wrong}]`, 'a string', kindOf(args[wrong]));
  assertObject('env', env);
  if (cwd !== undefined && typeof cwd !== 'string') misuse('cwd', 'the path of a folder', kindOf(cwd));
}

/** The arguments may hold keys and folders that do not belong in every message: one of them tells servers apart. */
function nameOf({ command, args = [] }: ProcessSpec): string {
  const argument = args.find((each) => !each.startsWith('-'));
  const name = [basename(command), argument ?? ''].join(' ').replace(/\s+/g, ' ').trim();
  return name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name;
}
