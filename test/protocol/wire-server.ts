import type { JsonObject, JsonRpcRequest } from '../../src/jsonrpc/index.ts';
import type { InProcessServer } from '../../src/protocol/index.ts';
import type { Transport } from '../../src/transport/index.ts';

/** What a script answers with: a result, or `undefined` where it answers itself, later or never. */
type Answer = JsonObject | undefined;
type Script = { [method: string]: (message: JsonRpcRequest, server: WireServer) => Answer };

/**
 * The server's end of an in-memory connection, in the hands of a test. Methods that the script names are answered by
 * it; all other messages wait until the test takes them with `next`. What was received is copied through JSON, so that
 * a test sees what a wire would carry.
 */
export class WireServer implements InProcessServer {
  readonly received: JsonObject[] = [];
  closed = false;
  readonly #script: Script;
  readonly #unread: JsonObject[] = [];
  #waiting: ((message: JsonObject) => void) | undefined;
  #transport: Transport | undefined;

  constructor(script: Script = {}) {
    this.#script = script;
  }

  async connect(transport: Transport): Promise<void> {
    this.#transport = transport;
    this.closed = false;
    await transport.start({
      message: (value) => this.#onMessage(JSON.parse(JSON.stringify(value))),
      error: () => {},
      close: () => {
        this.closed = true;
      },
    });
  }

  /** Sends any value, legal or not; nothing once the connection is closed. */
  send(message: unknown): void {
    if (this.closed) return;
    // Sound: it is the point of these tests to send what no type allows.
    void this.#transport?.send(message as JsonRpcRequest);
  }

  result(id: unknown, result: unknown): void {
    this.send({ jsonrpc: '2.0', id, result });
  }

  error(id: unknown, code: number, message: string, data?: unknown): void {
    this.send({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } });
  }

  notify(method: string, params?: JsonObject): void {
    this.send({ jsonrpc: '2.0', method, ...(params && { params }) });
  }

  async close(): Promise<void> {
    await this.#transport?.close();
  }

  /** The next message that no script answered. */
  next(): Promise<JsonObject> {
    const waiting = this.#unread.shift();
    if (waiting) return Promise.resolve(waiting);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** The methods received so far, responses as "response". */
  get methods(): unknown[] {
    return this.received.map((message) => message.method ?? 'response');
  }

  #onMessage(message: JsonObject): void {
    this.received.push(message);
    const { method } = message;
    const script =
      typeof method === 'string' && Object.hasOwn(this.#script, method) ? this.#script[method] : undefined;
    if (script) {
      // Sound: a message with a method and an id is a request; scripts of notifications do not read the id.
      const answer = script(message as unknown as JsonRpcRequest, this);
      if (answer !== undefined) this.result(message.id, answer);
    } else if (this.#waiting) {
      const resolve = this.#waiting;
      this.#waiting = undefined;
      resolve(message);
    } else {
      this.#unread.push(message);
    }
  }
}

/** What makes a server of the session dialect. */
export const SESSION: Script = {
  'server/discover': ({ id }, server) => {
    server.error(id, -32601, 'Method not found');
    return undefined;
  },
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'wire', version: '1.0.0' },
  }),
  'notifications/initialized': () => undefined,
};

/** What makes a server of the stateless dialect. */
export const STATELESS: Script = {
  'server/discover': () => ({
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'wire', version: '1.0.0' } },
  }),
};

/** A tool list of one page. */
export function listing(...tools: JsonObject[]): Script {
  return { 'tools/list': () => ({ resultType: 'complete', tools }) };
}
