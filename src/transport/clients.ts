import { McpError, toError } from '../jsonrpc/index.ts';
import type { Transport } from './transport.ts';

/** What serves a client: closing it ends the client's connection, in good order. */
export interface Serving {
  close(): Promise<void>;
}

/**
 * Takes a client that has connected: a transport that was not started yet. What it returns is closed when the listener
 * closes; without it the transport is. One that throws costs the client its connection.
 */
export type OnClient<Details extends unknown[] = []> = (
  transport: Transport,
  ...details: Details
) => Serving | void | Promise<Serving> | Promise<void>;

/** The clients of a listener: handed to the application one by one, ended together. */
export class Clients {
  readonly #onError: (error: McpError) => void;
  readonly #clients = new Map<Transport, Serving>();

  constructor(onError: (error: McpError) => void) {
    this.#onError = onError;
  }

  get size(): number {
    return this.#clients.size;
  }

  /** Hands a client over. `letGo` ends it when that fails. */
  async add(
    transport: Transport,
    onClient: () => ReturnType<OnClient>,
    letGo: () => Promise<void> = () => transport.close(),
  ): Promise<void> {
    this.#clients.set(transport, transport);
    try {
      const serving = await onClient();
      if (serving && this.#clients.has(transport)) this.#clients.set(transport, serving);
    } catch (thrown) {
      this.#report(`Cannot serve "${transport.name}"`, thrown);
      await letGo();
    }
  }

  delete(transport: Transport): void {
    this.#clients.delete(transport);
  }

  /** Ends all clients that are there. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients].map(([transport, serving]) => this.#end(transport, serving)));
    // Their sockets are gone, and will say so themselves only in a moment.
    this.#clients.clear();
  }

  async #end(transport: Transport, serving: Serving): Promise<void> {
    try {
      await serving.close();
    } catch (thrown) {
      this.#report(`Cannot end the service of "${transport.name}" in good order`, thrown);
    }
    await transport.close();
  }

  #report(what: string, thrown: unknown): void {
    const cause = toError(thrown);
    this.#onError(new McpError('HANDLER_FAILED', `${what}: ${cause.message}`, { cause }));
  }
}
