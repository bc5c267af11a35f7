// A program that has installed the package, compiled with every library check on and then run.
import {
  McpClient,
  type McpError,
  McpPlugin,
  McpServer,
  McpToolProvider,
  serveStdio,
  type Tool,
  type ToolOutput,
  ToolRegistry,
} from 'mcpwire';
import { convertContent } from 'mcpwire/bridge';
import { classify, encodeLine, LineDecoder, Peer, type PeerOptions, RpcError } from 'mcpwire/jsonrpc';
import { type ClientOptions, SESSION_REVISIONS } from 'mcpwire/protocol';
import { createLinkedPair, type ProcessSpec, StreamTransport, type Transport } from 'mcpwire/transport';

const server = new McpServer({ name: 'consumer', version: '1.0.0' });
server.tool({ name: 'add', inputSchema: { type: 'object' } }, ({ a, b }) => String(Number(a) + Number(b)));

// It starts itself again as a server, for a plugin that lives in a thread.
if (process.argv.includes('--serve')) {
  await serveStdio(server).waiting();
  process.exit();
}
const self = { command: process.execPath, args: [process.argv[1] ?? '', '--serve'] };
const plugin: McpPlugin = await McpPlugin.connectStdio(self, { worker: true });
console.log(plugin.callToolSync('add', { a: 2, b: 3 }));
await plugin.close();

const options: ClientOptions = { clientInfo: { name: 'consumer', version: '1.0.0' } };
const client: McpClient = await McpClient.inProcess(server, options);
const provider = await McpToolProvider.connect(client, { prefix: 'local' });
const registry = new ToolRegistry({ onWarning: (warning: McpError) => console.error(warning.code) });
provider.registerInto(registry);
const tool: Tool | undefined = registry.get('local__add');
const output: ToolOutput | undefined = await tool?.call({ a: 1, b: 2 });
console.log(JSON.stringify(output?.content));
await client.close();

const peerOptions: PeerOptions = { name: 'other', send: () => {}, onError: () => {} };
new Peer(peerOptions).close();
new LineDecoder({
  message: (value) => console.log(classify(value).kind),
  error: (error: McpError) => console.error(error.code),
}).push(new TextEncoder().encode(encodeLine({ jsonrpc: '2.0', id: 1, method: 'ping' })));

const spec: ProcessSpec = { command: 'server' };
const transports: Transport[] = createLinkedPair();
console.log(typeof convertContent, typeof StreamTransport, spec.command, transports.length);
console.log(SESSION_REVISIONS.length, new RpcError(-32601, 'm').rpcCode);
