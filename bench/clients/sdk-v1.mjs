import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';

export function openStdio({ command, args }) {
  return connect(new StdioClientTransport({ command, args }));
}

export function openHttp({ url }) {
  return connect(new StreamableHTTPClientTransport(new URL(url)));
}

export async function openInProcess() {
  const { createServer } = await import('../servers/sdk-v1.mjs');
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createServer().connect(theirs);
  return connect(ours);
}

async function connect(transport) {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(transport);
  const content = async (name, args, options) =>
    (await client.callTool({ name, arguments: args }, undefined, options)).content;
  return {
    echo: (text) => content('echo', { text }),
    large: (chars) => content('large', { chars }),
    work: (steps, onprogress) => content('work', { steps }, { onprogress }),
    close: () => client.close(),
  };
}
