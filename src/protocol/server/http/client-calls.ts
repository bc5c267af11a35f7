import {
  type CallOptions,
  type JsonObject,
  type JsonRpcMessage,
  type JsonRpcNotification,
  McpError,
  Peer,
  type RequestId,
} from '../../../jsonrpc/index.ts';
import type { LoggedStream } from './logged-stream.ts';

/** Requests of ours to the client of one session, each on the stream that it was sent on. Most sessions never make any. */
export class ClientCalls {
  readonly #peer: Peer;
  /** Where each of our requests was sent. */
  readonly #routes = new Map<RequestId, LoggedStream>();

  constructor(report: (error: McpError) => void) {
    this.#peer = new Peer({
      name: 'client',
      send: (message) => this.#route(message),
      onAbandon: ({ id: call, reason }) => {
        const params = { requestId: call, reason: reason.message };
        void this.#routes.get(call)?.send(notification('notifications/cancelled', params));
      },
      onError: report,
    });
  }

  async call(
    stream: LoggedStream,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<JsonObject> {
    const id = this.#peer.nextId();
    this.#routes.set(id, stream);
    try {
      return await this.#peer.call(method, params, { ...options, id });
    } finally {
      this.#routes.delete(id);
    }
  }

  /** Takes the client's answer to a request of ours. */
  responded(response: unknown): void {
    this.#peer.receive(response);
  }

  progress(params: JsonObject): void {
    this.#peer.progress(params.progressToken, params);
  }

  close(reason: McpError): void {
    this.#peer.close(reason);
  }

  #route(message: JsonRpcMessage): void | Promise<void> {
    const id = 'id' in message ? message.id : undefined;
    const stream = id === undefined || id === null ? undefined : this.#routes.get(id);
    if (!stream) throw new McpError('CLOSED', 'Cannot send to the client: its stream is gone');
    return stream.send(message);
  }
}

export function notification(method: string, params: JsonObject | undefined): JsonRpcNotification {
  return params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params };
}
