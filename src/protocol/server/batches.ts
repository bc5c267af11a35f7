import { classify, type JsonRpcMessage, type JsonRpcResponse, type RequestId } from '../../jsonrpc/index.ts';

/** What batches need of the connection they arrive on. */
export interface BatchHost {
  /** Handles one message of a batch. */
  receive(item: unknown): void;
  /** Refuses one message of a batch. */
  refuse(reason: string, id: RequestId | undefined): void;
  isAnswering(id: RequestId): boolean;
  send(answers: readonly JsonRpcResponse[]): void;
}

interface Batch {
  readonly waiting: Set<RequestId>;
  readonly answers: JsonRpcResponse[];
}

/**
 * Arrays of messages: each is handled by itself, and the answers are held back until they can go out as one array.
 *
 * @see https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 */
export class Batches {
  readonly #host: BatchHost;
  readonly #waiting = new Map<RequestId, Batch>();
  #receiving: Batch | undefined;

  constructor(host: BatchHost) {
    this.#host = host;
  }

  receive(items: readonly unknown[]): void {
    const batch: Batch = { waiting: new Set(), answers: [] };
    this.#receiving = batch;
    for (const item of items) this.#receiveOne(item, batch);
    this.#receiving = undefined;
    this.#sendWhenDone(batch);
  }

  /** Keeps an answer that belongs to a batch; false for every other message. */
  take(message: JsonRpcMessage): boolean {
    if (!this.#receiving && this.#waiting.size === 0) return false;
    if ('method' in message) return false;
    const id = message.id ?? undefined;
    // What is answered while a batch is read belongs to it, with or without an id.
    const batch = (id === undefined ? undefined : this.#waiting.get(id)) ?? this.#receiving;
    if (!batch) return false;
    batch.answers.push(message);
    if (id !== undefined) this.#settle(id, batch);
    return true;
  }

  /** There will be no answer to this request. */
  drop(id: unknown): void {
    // Sound: a key of another type is simply not found.
    const batch = this.#waiting.get(id as RequestId);
    if (batch) this.#settle(id as RequestId, batch);
  }

  #receiveOne(item: unknown, batch: Batch): void {
    const classified = classify(item);
    if (classified.kind === 'batch') {
      this.#host.refuse('a batch cannot hold another', undefined);
      return;
    }
    if (classified.kind === 'request') {
      const { id, method } = classified.message;
      if (method === 'initialize') {
        this.#host.refuse('initialize cannot be part of a batch', id);
        return;
      }
      if (!this.#host.isAnswering(id)) {
        batch.waiting.add(id);
        this.#waiting.set(id, batch);
      }
    }
    this.#host.receive(item);
  }

  #settle(id: RequestId, batch: Batch): void {
    if (!batch.waiting.delete(id)) return;
    this.#waiting.delete(id);
    if (batch !== this.#receiving) this.#sendWhenDone(batch);
  }

  #sendWhenDone(batch: Batch): void {
    if (batch.waiting.size === 0 && batch.answers.length > 0) this.#host.send(batch.answers.splice(0));
  }
}
