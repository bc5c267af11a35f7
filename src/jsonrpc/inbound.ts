import type { McpError } from './error.ts';
import type { RequestId } from './message.ts';

/** A request from the other side that is being worked on. */
export interface InboundRequest {
  readonly id: RequestId;
  /** Aborted when the request is cancelled or the peer closes: nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Whether {@link InboundRequest.signal} is aborted: asking for this makes no signal. */
  readonly aborted: boolean;
}

/** The signal is made only when a handler asks for it: most never do. */
export class Inbound implements InboundRequest {
  readonly id: RequestId;
  readonly method: string;
  #controller: AbortController | undefined;
  #reason: McpError | undefined;

  constructor(id: RequestId, method: string) {
    this.id = id;
    this.method = method;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  abort(reason: McpError): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
  }
}
