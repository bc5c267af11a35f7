import { type JsonRpcMessage, McpError } from '../jsonrpc/index.ts';
import type { Transport, TransportSink } from './transport.ts';

/** After this many microtasks in a row timers and sockets get their turn, lest two busy ends shut them out. */
const MAX_BURST = 256;

/**
 * Makes two transports that are each other's other end, in one process. Messages are handed over as they are, not
 * copied: neither side may change one after sending it. Delivery is asynchronous, in order, many messages a turn.
 */
export function createLinkedPair(name = 'in-process'): [Transport, Transport] {
  const left = new MemoryTransport(name);
  const right = new MemoryTransport(name);
  left.link(right);
  right.link(left);
  return [left, right];
}

class MemoryTransport implements Transport {
  readonly name: string;
  #other: MemoryTransport | undefined;
  #sink: TransportSink | undefined;
  #queue: JsonRpcMessage[] = [];
  #scheduled = false;
  #burst = 0;
  #closed = false;

  constructor(name: string) {
    this.name = name;
  }

  link(other: MemoryTransport): void {
    this.#other = other;
  }

  async start(sink: TransportSink): Promise<void> {
    if (this.#closed) throw new McpError('CLOSED', `Cannot start "${this.name}": it is closed`);
    if (this.#sink) throw new McpError('CLOSED', `Cannot start "${this.name}": it was started before`);
    this.#sink = sink;
    this.#schedule();
  }

  send(message: JsonRpcMessage): void {
    if (this.#closed) throw new McpError('CLOSED', `Cannot send to "${this.name}": it is closed`);
    this.#other?.accept(message);
  }

  async close(): Promise<void> {
    this.#end();
    this.#other?.hangUp();
  }

  accept(message: JsonRpcMessage): void {
    this.#queue.push(message);
    if (this.#queue.length === 1) this.#schedule();
  }

  /** The other end closed: what it sent before is still delivered. */
  hangUp(): void {
    queueMicrotask(() => {
      this.#deliver();
      this.#end(new McpError('CLOSED', `The other end of "${this.name}" closed`));
    });
  }

  #schedule(): void {
    if (this.#scheduled || !this.#sink || this.#queue.length === 0) return;
    this.#scheduled = true;
    this.#burst += 1;
    if (this.#burst < MAX_BURST) {
      queueMicrotask(this.#run);
    } else {
      this.#burst = 0;
      setImmediate(this.#run);
    }
  }

  readonly #run = (): void => {
    this.#scheduled = false;
    this.#deliver();
  };

  #deliver(): void {
    const sink = this.#sink;
    if (!sink) return;
    const messages = this.#queue;
    this.#queue = [];
    for (const message of messages) {
      if (this.#closed) return;
      sink.message(message);
    }
  }

  #end(reason?: McpError): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue = [];
    this.#sink?.close(reason);
  }
}
