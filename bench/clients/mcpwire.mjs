import { McpClient } from '../../dist/index.js';

const CLIENT_INFO = { clientInfo: { name: 'bench', version: '1.0.0' } };

export async function openStdio({ command, args, dialect }) {
  return wrap(await McpClient.stdio({ command, args }, { dialect, ...CLIENT_INFO }));
}

export async function openHttp({ url, dialect, pooling = 'auto' }) {
  return wrap(await McpClient.http(url, { dialect, pooling, ...CLIENT_INFO }));
}

export async function openInProcess({ dialect }) {
  const { createServer } = await import('../servers/mcpwire.mjs');
  return wrap(await McpClient.inProcess(createServer(), { dialect, ...CLIENT_INFO }));
}

function wrap(client) {
  const content = async (name, args, options) => (await client.callTool(name, args, options)).content;
  return {
    echo: (text) => content('echo', { text }),
    large: (chars) => content('large', { chars }),
    work: (steps, onProgress) => content('work', { steps }, { onProgress }),
    close: () => client.close(),
  };
}
