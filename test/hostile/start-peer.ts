import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect } from 'vitest';
import { McpToolProvider, type ProviderOptions, type Tool } from '../../src/bridge/index.ts';
import type { McpError } from '../../src/jsonrpc/index.ts';
import { McpClient, type StdioOptions } from '../../src/protocol/index.ts';
import { processesIn } from '../left-behind.ts';

/** A connection to a peer, and what was heard of it. */
export interface Peer {
  client: McpClient;
  warnings: McpError[];
  /** What the peer wrote to its stderr. */
  stderr: string[];
  codes(): string[];
  /** Imports its tools; `tool` is the first. */
  imported(options?: ProviderOptions): Promise<{ provider: McpToolProvider; tool: Tool }>;
}

let folder: string;
let clients: McpClient[];

/** To be called once in a test file: every peer that is left after a test, in whatever way, fails it. */
export function watchForLeftovers(): void {
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'mcpwire-hostile-')));
    clients = [];
  });
  afterEach(async () => {
    await Promise.all(clients.map((client) => client.close()));
    expect(processesIn(folder)).toEqual([]);
    rmSync(folder, { recursive: true, force: true });
  });
}

/** Starts one of the peers and connects to it. */
export async function startPeer(
  name: string,
  args: string[] = [],
  options: StdioOptions = {},
): Promise<Peer> {
  const warnings: McpError[] = [];
  const stderr: string[] = [];
  const script = fileURLToPath(new URL(`peers/${name}.mjs`, import.meta.url));
  const client = await McpClient.stdio(
    { command: process.execPath, args: [script, ...args], cwd: folder },
    { stderr: (line) => stderr.push(line), onWarning: (warning) => warnings.push(warning), ...options },
  );
  clients.push(client);
  return {
    client,
    warnings,
    stderr,
    codes: () => warnings.map(({ code }) => code),
    imported: async (providerOptions) => {
      const provider = await McpToolProvider.connect(client, providerOptions);
      const [tool] = provider.tools();
      if (!tool) throw new Error(`${name} has no tool`);
      return { provider, tool };
    },
  };
}
