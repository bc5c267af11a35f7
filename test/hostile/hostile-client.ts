import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect } from 'vitest';
import type { JsonObject } from '../../src/jsonrpc/index.ts';

const HOST = fileURLToPath(new URL('../protocol/server/hosts/serves-stdio.mjs', import.meta.url));

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
};

/** A call of a tool, as a well-behaved client of the stateless dialect sends it. */
export function call(id: unknown, name: string, args: unknown = {}): JsonObject {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, _meta: META } };
}

/** Our server in a process of its own, and its input in the hands of a client that misbehaves. */
export class HostileClient {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #goodCalls = 0;

  constructor() {
    this.child = spawn(process.execPath, [HOST]);
    this.child.stderr.resume();
    this.#lines = createInterface(this.child.stdout)[Symbol.asyncIterator]();
    running.push(this);
  }

  /** Writes text as it is, and other values as a line of JSON each. */
  write(...lines: (string | Uint8Array | JsonObject | unknown[])[]): void {
    for (const line of lines) {
      const isRaw = typeof line === 'string' || line instanceof Uint8Array;
      this.child.stdin.write(isRaw ? line : `${JSON.stringify(line)}\n`);
    }
  }

  /** The next message of the server. */
  async next(): Promise<JsonObject> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('The server ended its output');
    return JSON.parse(value);
  }

  /** Checks that a good request is answered, and that nothing comes before that but `expected`. */
  async stillServes(...expected: object[]): Promise<void> {
    const id = `good-${this.#goodCalls++}`;
    this.write(call(id, 'echo', { text: id }));
    for (const each of expected) expect(await this.next()).toMatchObject(each);
    expect(await this.next()).toMatchObject({ id, result: { content: [{ text: id }] } });
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }
}

const running: HostileClient[] = [];

afterEach(async () => {
  for (const client of running.splice(0)) await client.stop();
});

/** An error without an id. */
export const refused = (code: number) => ({ jsonrpc: '2.0', error: { code, message: expect.any(String) } });
