import type { McpError, RequestId } from '../../src/jsonrpc/index.ts';
import type { TransportSink } from '../../src/transport/index.ts';

/** Keeps what a transport delivers, in order, and lets a test wait for it. */
export class RecordingSink implements TransportSink {
  readonly messages: unknown[] = [];
  readonly errors: McpError[] = [];
  /** One entry for each time the transport said that it has ended. */
  readonly closes: (McpError | undefined)[] = [];
  readonly waits: [RequestId, boolean][] = [];
  readonly #waiting = new Set<() => void>();

  message(value: unknown): void {
    this.messages.push(value);
    this.#wake();
  }

  error(error: McpError): void {
    this.errors.push(error);
    this.#wake();
  }

  waiting(id: RequestId, isWaiting: boolean): void {
    this.waits.push([id, isWaiting]);
    this.#wake();
  }

  close(reason?: McpError): void {
    this.closes.push(reason);
    this.#wake();
  }

  /** Resolves with the message number `count`, counted from one. */
  async messageNumber(count: number): Promise<unknown> {
    await this.#until(() => this.messages.length >= count);
    return this.messages[count - 1];
  }

  async firstError(): Promise<McpError | undefined> {
    await this.#until(() => this.errors.length > 0);
    return this.errors[0];
  }

  async closed(): Promise<McpError | undefined> {
    await this.#until(() => this.closes.length > 0);
    return this.closes[0];
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        if (!condition()) return;
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
      wake();
    });
  }
}
