import { createServer, type Server, type Socket } from 'node:net';
import { McpError } from '../jsonrpc/index.ts';
import { assertFunction, atLeastOne } from '../jsonrpc/option.ts';
import { AcceptedSocket } from './accepted-socket.ts';
import { bind } from './bind.ts';
import { Clients, type OnClient } from './clients.ts';
import { readTarget, type SocketTarget, TCP_KEEP_ALIVE_MS, targetName } from './socket.ts';
import { type StreamOptions, withDefaults } from './stream.ts';

/**
 * Where to listen, and within what limits. On a `path` a socket file is made that only this user may connect to; one that
 * a dead server left there is replaced. A `port` is open to whoever reaches `host`, by default every program on this
 * machine: nothing says who connects. Port 0 picks a free one.
 */
export type SocketListenOptions = SocketTarget & SocketListenLimits;

export interface SocketListenLimits {
  /** How many clients may be connected at once; one more is turned away. Default 256. */
  maxConnections?: number;
  /** The longest accepted line, in bytes; a longer one is skipped with an error. Default 4194304 (4 MiB). */
  maxLineBytes?: number;
  /**
   * How much may wait for a client that does not read, counted in UTF-16 units for what is not yet written. One message
   * more is refused with `TRANSPORT_FAILED`. Default 16777216 (16 MiB); `Infinity` means no bound.
   */
  maxBufferedBytes?: number;
  /** Hears of clients that were turned away and of callbacks that failed. Never throws. Default: nobody does. */
  onError?: (error: McpError) => void;
}

/** Where a server listens for clients, until it is closed. */
export interface SocketListener {
  /** What a client connects to; its port is the one that was picked. */
  readonly target: SocketTarget;
  /** How many clients are connected. */
  readonly connections: number;
  /** Listens no more, ends all connections and waits until they are gone. Idempotent, never rejects. */
  close(): Promise<void>;
}

const DEFAULT_MAX_CONNECTIONS = 256;
const DEFAULT_MAX_LINE_BYTES = 4 * 1024 * 1024;
const DEFAULT_MAX_BUFFERED_BYTES = 16 * 1024 * 1024;

/**
 * Serves newline-delimited JSON on a Unix domain socket or a TCP port. Each client is handed over as a transport that
 * was not started yet.
 *
 * @throws McpError `TRANSPORT_FAILED` when it cannot listen there.
 * @throws TypeError when an option makes no sense.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#custom-transports
 */
export async function listenSocket(
  options: SocketListenOptions,
  onClient: OnClient,
): Promise<SocketListener> {
  const settings = readOptions(options);
  const server = createServer({
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
  });
  server.maxConnections = settings.maxConnections;
  const target = await bind(server, settings.target);
  return new Listener(server, target, settings, onClient);
}

interface Settings {
  readonly target: SocketTarget;
  readonly maxConnections: number;
  readonly stream: StreamOptions;
  readonly onError: (error: McpError) => void;
}

class Listener implements SocketListener {
  readonly target: SocketTarget;
  readonly #server: Server;
  readonly #clients: Clients;
  #closing: Promise<void> | undefined;

  constructor(
    server: Server,
    target: SocketTarget,
    { maxConnections, stream, onError }: Settings,
    onClient: OnClient,
  ) {
    const name = targetName(target);
    this.target = target;
    this.#server = server;
    this.#clients = new Clients(onError);
    server.on('connection', (socket) => {
      const transport = new AcceptedSocket(socket, { ...stream, name: clientName(socket, name) });
      socket.on('close', () => this.#clients.delete(transport));
      void this.#clients.add(transport, () => onClient(transport));
    });
    server.on('drop', () => {
      const message = `Turned away a client of "${name}": ${maxConnections} are connected; raise maxConnections`;
      onError(new McpError('TRANSPORT_FAILED', message));
    });
    server.on('error', (cause) => {
      const message = `Cannot accept clients of "${name}": ${cause.message}`;
      onError(new McpError('TRANSPORT_FAILED', message, { cause }));
    });
  }

  get connections(): number {
    return this.#clients.size;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#clients.close();
    await closed;
  }
}

function readOptions(options: SocketListenOptions): Settings {
  const target = readTarget(options);
  const {
    maxConnections = DEFAULT_MAX_CONNECTIONS,
    maxLineBytes = DEFAULT_MAX_LINE_BYTES,
    maxBufferedBytes = DEFAULT_MAX_BUFFERED_BYTES,
    onError = () => {},
  } = options;
  atLeastOne('maxConnections', maxConnections);
  const stream = withDefaults({ maxLineBytes, maxBufferedBytes, pauseWhenFull: true });
  assertFunction('onError', onError);
  return { target, maxConnections, stream, onError };
}

/** What error messages call a client: where it comes from, or for a socket file where it came to. */
function clientName({ remoteAddress, remotePort }: Socket, listener: string): string {
  return remoteAddress === undefined
    ? `client of ${listener}`
    : targetName({ host: remoteAddress, port: remotePort ?? 0 });
}
