import { type JsonRpcMessage, McpError, TimeoutError } from '../jsonrpc/index.ts';
import { timerMs } from '../jsonrpc/option.ts';
import type { Transport, TransportSink } from './transport.ts';

export interface DialOptions {
  /** What is dialled, for error messages. */
  readonly name: string;
  /** How long {@link DialOptions.open} may take, in milliseconds; the option that says so is named in the error. */
  readonly timeout: { readonly option: string; readonly ms: number };
  /** Makes the channel. The signal gives up: whatever was begun is undone, and the signal's reason thrown. */
  open(signal: AbortSignal): Promise<Transport>;
}

/**
 * A channel to a server that listens somewhere: made when it is started, within a time, unless it is closed before.
 */
export class Dial implements Transport {
  readonly name: string;
  readonly #options: DialOptions;
  readonly #giveUp = new AbortController();
  #opening: Promise<Transport> | undefined;
  #channel: Transport | undefined;

  /** @throws TypeError when the timeout makes no sense. */
  constructor(options: DialOptions) {
    const { option, ms } = options.timeout;
    timerMs(option, ms);
    this.name = options.name;
    this.#options = options;
  }

  async start(sink: TransportSink): Promise<void> {
    if (this.#opening || this.#giveUp.signal.aborted) {
      throw new McpError('CLOSED', `Cannot start "${this.name}": it was started or closed before`);
    }
    this.#opening = this.#open();
    this.#channel = await this.#opening;
    await this.#channel.start(sink);
  }

  send(message: JsonRpcMessage): void | Promise<void> {
    if (!this.#channel) throw new McpError('CLOSED', `Cannot send to "${this.name}": it is not open`);
    return this.#channel.send(message);
  }

  async close(): Promise<void> {
    this.#giveUp.abort(new McpError('CLOSED', `Cannot connect to "${this.name}": it was closed meanwhile`));
    const channel = await this.#opening?.catch(() => undefined); // Whoever started it hears of the failure.
    await channel?.close();
  }

  async #open(): Promise<Transport> {
    const { option, ms } = this.#options.timeout;
    const timer = setTimeout(() => {
      const message = `Cannot connect to "${this.name}" within ${ms} ms; raise ${option} for a slower server`;
      this.#giveUp.abort(new TimeoutError(message, ms));
    }, ms);
    try {
      return await this.#options.open(this.#giveUp.signal);
    } finally {
      clearTimeout(timer);
    }
  }
}
