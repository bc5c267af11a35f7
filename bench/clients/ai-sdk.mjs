import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';

export function openStdio({ command, args }) {
  return connect(new Experimental_StdioMCPTransport({ command, args }));
}

export function openHttp({ url }) {
  return connect({ type: 'http', url });
}

async function connect(transport) {
  const client = await createMCPClient({ transport });
  const tools = await client.tools();
  const content = async (name, args) =>
    (await tools[name].execute(args, { messages: [], toolCallId: 'bench' })).content;
  return {
    echo: (text) => content('echo', { text }),
    large: (chars) => content('large', { chars }),
    close: () => client.close(),
  };
}
