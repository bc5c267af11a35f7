import { isJsonObject, type JsonObject, type JsonRpcMessage } from '../../../src/jsonrpc/index.ts';
import {
  type ClientCapabilities,
  type McpServer,
  REVISIONS,
  type Revision,
} from '../../../src/protocol/index.ts';
import { createLinkedPair, type Transport } from '../../../src/transport/index.ts';

export const STATELESS = '2026-07-28';

/** The `_meta` that every request of the stateless dialect carries. */
export function statelessMeta(capabilities: ClientCapabilities = {}, more: JsonObject = {}): JsonObject {
  return {
    'io.modelcontextprotocol/protocolVersion': STATELESS,
    'io.modelcontextprotocol/clientInfo': { name: 'wire', version: '0' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...more,
  };
}

/**
 * The client's end of an in-memory connection, in the hands of a test. What it receives is copied through JSON, so that a
 * test sees what a wire would carry; messages wait until the test takes them.
 */
export class WireClient {
  readonly received: JsonObject[] = [];
  closed = false;
  readonly #transport: Transport;
  readonly #unread: JsonObject[] = [];
  readonly #waiting = new Set<() => void>();
  #nextId = 1;

  private constructor(transport: Transport) {
    this.#transport = transport;
  }

  static async connect(server: McpServer): Promise<WireClient> {
    const [ours, theirs] = createLinkedPair();
    server.connect(theirs);
    const client = new WireClient(ours);
    await ours.start({
      message: (value) => client.#onMessage(JSON.parse(JSON.stringify(value))),
      error: () => {},
      close: () => {
        client.closed = true;
        client.#wake();
      },
    });
    return client;
  }

  /** Opens a session, or makes requests that need none: what the revision has. */
  static async speak(
    server: McpServer,
    revision: Revision,
    capabilities: ClientCapabilities = {},
  ): Promise<SpeakingClient> {
    const client = await WireClient.connect(server);
    if (REVISIONS[revision].dialect === 'session') {
      const answer = await client.request('initialize', {
        protocolVersion: revision,
        capabilities,
        clientInfo: { name: 'wire', version: '0' },
      });
      client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
      return new SpeakingClient(client, revision, () => ({}), answer);
    }
    return new SpeakingClient(client, revision, (more) => statelessMeta(capabilities, more), undefined);
  }

  /** Sends any value, legal or not. */
  send(...messages: unknown[]): void {
    // Sound: it is the point of these tests to send what no type allows.
    for (const message of messages) void this.#transport.send(message as JsonRpcMessage);
  }

  /** Sends a request and takes its answer; other messages stay where they are. */
  async request(method: string, params?: JsonObject): Promise<JsonObject> {
    const id = this.#nextId++;
    this.send({ jsonrpc: '2.0', id, method, ...(params && { params }) });
    return this.take((message) => message.id === id && message.method === undefined);
  }

  /** Takes the next message, or the next of a kind, when it is there. Rejects when the connection ends before. */
  async take(wanted: (message: JsonObject) => boolean = () => true): Promise<JsonObject> {
    for (;;) {
      const index = this.#unread.findIndex(wanted);
      if (index !== -1) return this.#unread.splice(index, 1)[0] as JsonObject;
      if (this.closed) throw new Error('The connection ended');
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  /** Takes the next message with this method. */
  takeCalled(method: string): Promise<JsonObject> {
    return this.take((message) => message.method === method);
  }

  /** What has come and was not taken, once the server has had its turn. */
  async rest(): Promise<JsonObject[]> {
    await new Promise((resolve) => setImmediate(resolve));
    return this.#unread.splice(0);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #onMessage(message: unknown): void {
    // Batches come as arrays, and are kept as they are.
    const received = isJsonObject(message) ? message : { batch: message };
    this.received.push(received);
    this.#unread.push(received);
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

/** A {@link WireClient} that speaks one revision. */
export class SpeakingClient {
  readonly wire: WireClient;
  readonly revision: Revision;
  /** The answer to `initialize`, where there was one. */
  readonly opened: JsonObject | undefined;
  readonly #meta: (more: JsonObject) => JsonObject;

  constructor(
    wire: WireClient,
    revision: Revision,
    meta: (more: JsonObject) => JsonObject,
    opened: JsonObject | undefined,
  ) {
    this.wire = wire;
    this.revision = revision;
    this.opened = opened;
    this.#meta = meta;
  }

  /** Completes params with what the revision puts into every request; `_meta` in them is kept. */
  params(params: JsonObject = {}): JsonObject {
    const own = isJsonObject(params._meta) ? params._meta : {};
    const meta = { ...own, ...this.#meta({}) };
    return Object.keys(meta).length > 0 ? { ...params, _meta: meta } : params;
  }

  /** Sends a request and returns its answer, whole. */
  request(method: string, params?: JsonObject): Promise<JsonObject> {
    return this.wire.request(method, this.params(params));
  }

  /** Sends a request and returns its result. Rejects when it is an error. */
  async result(method: string, params?: JsonObject): Promise<JsonObject> {
    const { result, error } = await this.request(method, params);
    if (isJsonObject(result)) return result;
    throw new Error(`Answered with an error: ${JSON.stringify(error)}`);
  }

  /** Sends a request and returns its error. Rejects when it is a result. */
  async error(method: string, params?: JsonObject): Promise<JsonObject> {
    const { result, error } = await this.request(method, params);
    if (isJsonObject(error)) return error;
    throw new Error(`Answered with a result: ${JSON.stringify(result)}`);
  }
}
