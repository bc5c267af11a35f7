import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { isJsonObject, type JsonRpcMessage } from '../jsonrpc/index.ts';
import { kindOf, misuse, shown } from '../jsonrpc/option.ts';
import { connectError } from './connect-error.ts';
import { Dial } from './dial.ts';
import { type StreamOptions, StreamTransport, withDefaults } from './stream.ts';
import type { Transport, TransportSink } from './transport.ts';

/** Where a server listens: a Unix domain socket (on Windows: a named pipe), or a TCP port. `host` defaults to 127.0.0.1. */
export type SocketTarget =
  | { path: string; host?: never; port?: never }
  | { host?: string; port: number; path?: never };

export interface SocketOptions extends Omit<StreamOptions, 'pauseWhenFull'> {
  /** What error messages call the server. Default: where it listens, such as `unix:/run/mcp.sock`. */
  name?: string;
  /** How long connecting may take, in milliseconds. Default 30000. */
  connectTimeoutMs?: number;
}

/** The host of a {@link SocketTarget} that names none. */
export const DEFAULT_HOST = '127.0.0.1';
/** After this silence the system asks whether the other end of a TCP connection is still there. */
export const TCP_KEEP_ALIVE_MS = 30_000;

const DEFAULT_CONNECT_TIMEOUT_MS = 30_000;
/** Longer paths are cut off without a word by some systems; a named pipe of Windows may be longer. */
const MAX_PATH_BYTES = process.platform === 'win32' ? 255 : process.platform === 'linux' ? 107 : 103;

/**
 * The client's end of a Unix domain socket or TCP connection: newline-delimited JSON, as over standard streams. It
 * connects once: for the next connection, make another.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#custom-transports
 */
export class SocketTransport implements Transport {
  readonly name: string;
  readonly #dial: Dial;

  /** @throws TypeError when the target or an option makes no sense. */
  constructor(target: SocketTarget, options: SocketOptions = {}) {
    const { connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS } = options;
    const where = readTarget(target);
    const streamOptions = withDefaults({ name: targetName(where), ...options });
    const { name } = streamOptions;
    this.name = name;
    this.#dial = new Dial({
      name,
      timeout: { option: 'connectTimeoutMs', ms: connectTimeoutMs },
      open: async (signal) => {
        const socket = await connectSocket(where, name, signal);
        return new StreamTransport(socket, socket, streamOptions);
      },
    });
  }

  /**
   * Connects.
   *
   * @throws McpError `TRANSPORT_FAILED` when there is no connection; TimeoutError after `connectTimeoutMs`.
   */
  start(sink: TransportSink): Promise<void> {
    return this.#dial.start(sink);
  }

  send(message: JsonRpcMessage): void | Promise<void> {
    return this.#dial.send(message);
  }

  close(): Promise<void> {
    return this.#dial.close();
  }
}

/**
 * Checks a target and fills in its host.
 *
 * @throws TypeError when it makes no sense.
 */
export function readTarget(target: SocketTarget): SocketTarget {
  if (!isJsonObject(target)) misuse('target', 'an object with a path or a port', kindOf(target));
  const { path, host = DEFAULT_HOST, port } = target;
  if (path === undefined) {
    if (!(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
      misuse('port', 'from 0 to 65535, where there is no path', shown(port));
    }
    return { host, port };
  }
  if (port !== undefined) throw new TypeError('path and port exclude each other: a socket has one of them');
  if (typeof path !== 'string' || path === '' || path.includes('\0'))
    misuse('path', 'the path of a socket', shown(path));
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new TypeError(
      `path must not exceed the ${MAX_PATH_BYTES} bytes that this system allows: "${path}"`,
    );
  }
  return { path };
}

export function targetName({ path, host, port }: SocketTarget): string {
  if (path !== undefined) return `unix:${path}`;
  return host?.includes(':') ? `tcp:[${host}]:${port}` : `tcp:${host}:${port}`;
}

function connectSocket(target: SocketTarget, name: string, signal: AbortSignal): Promise<Socket> {
  const options: NetConnectOpts =
    target.path === undefined
      ? { ...target, noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS }
      : target;
  return new Promise((resolve, reject) => {
    const socket = connect(options);
    const onAbort = () => {
      socket.destroy();
      reject(signal.reason);
    };
    const settle = () => signal.removeEventListener('abort', onAbort);
    signal.addEventListener('abort', onAbort);
    socket.once('connect', () => {
      settle();
      resolve(socket);
    });
    socket.once('error', (cause) => {
      settle();
      reject(connectError(name, cause));
    });
  });
}
