import type { Socket } from 'node:net';
import type { GoneWatcher } from './channel.ts';

/** Who watches a socket: nearly always one, the exchange that it carries. */
interface Watch {
  first: GoneWatcher | undefined;
  /** The exchanges of requests that a client sent before it had the answer to the first. */
  others: Set<GoneWatcher> | undefined;
}

const WATCHES = new WeakMap<Socket, Watch>();

/** Tells the watcher of the socket's end. A socket has one listener, however many requests it carries at once. */
export function watchSocket(socket: Socket, watcher: GoneWatcher): void {
  const watch = WATCHES.get(socket);
  if (!watch) {
    WATCHES.set(socket, { first: watcher, others: undefined });
    socket.on('close', tellWatchers);
  } else if (!watch.first) {
    watch.first = watcher;
  } else {
    watch.others ??= new Set();
    watch.others.add(watcher);
  }
}

export function unwatchSocket(socket: Socket, watcher: GoneWatcher): void {
  const watch = WATCHES.get(socket);
  if (watch?.first === watcher) watch.first = undefined;
  else watch?.others?.delete(watcher);
}

/** One function for all sockets: none of them holds a closure. */
function tellWatchers(this: Socket): void {
  const watch = WATCHES.get(this);
  watch?.first?.leave();
  for (const watcher of watch?.others ?? []) watcher.leave();
}
