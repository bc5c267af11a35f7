import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { McpError, toError } from '../jsonrpc/index.ts';
import { type SocketTarget, targetName } from './socket.ts';

/** Only the owner may read and write: what connecting to a socket file needs. */
const OWNER_ONLY = 0o600;
const OWNER_ONLY_MASK = 0o077;
/** How long a socket file's server may take to show that it lives. */
const PROBE_MS = 1000;

/**
 * Makes a server listen. A socket file belongs to its owner alone from the first moment; one that nobody listens on
 * any more is replaced.
 *
 * @returns Where it listens, with the port that was picked.
 * @throws McpError `TRANSPORT_FAILED` when it cannot listen there.
 */
export async function bind(server: Server, target: SocketTarget): Promise<SocketTarget> {
  const { path } = target;
  const isFile = path !== undefined && process.platform !== 'win32';
  try {
    await listen(server, target).catch(async (error) => {
      if (!isFile || !hasCode(error, 'EADDRINUSE')) throw error;
      await removeStale(path);
      await listen(server, target);
    });
    if (isFile) chmodSync(path, OWNER_ONLY);
  } catch (thrown) {
    server.close();
    const cause = toError(thrown);
    const advice = hasCode(cause, 'EADDRINUSE') ? '; another server listens there' : '';
    throw new McpError(
      'TRANSPORT_FAILED',
      `Cannot listen on "${targetName(target)}": ${cause.message}${advice}`,
      { cause },
    );
  }
  const address = server.address();
  return typeof address === 'object' && address !== null
    ? { host: address.address, port: address.port }
    : target;
}

function listen(server: Server, target: SocketTarget): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error) => {
      server.off('listening', onListening);
      reject(error);
    };
    const onListening = () => {
      server.off('error', onError);
      resolve();
    };
    server.once('error', onError);
    server.once('listening', onListening);
    if (target.path === undefined) server.listen(target);
    else privately(() => server.listen(target));
  });
}

/** Runs what makes a file with a mask that keeps others out. Worker threads have no mask of their own to set. */
function privately(make: () => void): void {
  if (!process.getBuiltinModule('node:worker_threads').isMainThread) {
    make();
    return;
  }
  const mask = process.umask(OWNER_ONLY_MASK);
  make();
  process.umask(mask);
}

/** @throws Error when somebody listens, or what is there is no socket. */
async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isSocket()) throw new Error('what has this path is no socket; remove it or choose another path');
  if (await answers(path)) throw new Error('another server listens there');
  const now = lstatSync(path, { throwIfNoEntry: false });
  if (!now) return;
  // Another server may have replaced the file meanwhile.
  if (now.ino !== found.ino || now.ctimeMs !== found.ctimeMs) throw new Error('another server came first');
  unlinkSync(path);
}

/** Tells whether somebody may listen; only a refusal shows that nobody does. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const settle = (answer: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => settle(true), PROBE_MS);
    socket.on('connect', () => settle(true));
    socket.on('error', (error) => settle(!hasCode(error, 'ECONNREFUSED')));
  });
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
