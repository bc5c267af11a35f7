import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export function openStdio({ command, args, dialect }) {
  return connect(new StdioClientTransport({ command, args }), dialect);
}

export function openHttp({ url, dialect }) {
  return connect(new StreamableHTTPClientTransport(new URL(url)), dialect);
}

export async function openInProcess({ dialect }) {
  const { createServer } = await import('../servers/sdk-v2.mjs');
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createServer().connect(theirs);
  return connect(ours, dialect);
}

async function connect(transport, dialect) {
  const mode = dialect === 'session' ? 'legacy' : { pin: '2026-07-28' };
  const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  const content = async (name, args, options) =>
    (await client.callTool({ name, arguments: args }, options)).content;
  return {
    echo: (text) => content('echo', { text }),
    large: (chars) => content('large', { chars }),
    work: (steps, onprogress) => content('work', { steps }, { onprogress }),
    close: () => client.close(),
  };
}
