// A client that does what the scenarios of the official conformance suite ask for. The last argument is the server's
// address; the suite names its scenario in MCP_CONFORMANCE_SCENARIO, and more about it in MCP_CONFORMANCE_CONTEXT.

import { McpClient } from 'mcpwire';
import { type AuthorizationContext, authorizerFor } from './authorizers.ts';

interface ToolCall {
  name: string;
  arguments?: Record<string, unknown>;
}

const url = process.argv.at(-1) ?? '';
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context: AuthorizationContext & { toolCalls?: ToolCall[] } = JSON.parse(
  process.env.MCP_CONFORMANCE_CONTEXT ?? '{}',
);
const authorizer = authorizerFor(scenario, context);

const client = await McpClient.http(url, {
  clientInfo: { name: 'mcpwire-everything-client', version: '1.0.0' },
  onWarning: (warning) => console.error(warning.message),
  onElicit: () => ({ action: 'accept', content: {} }),
  onSample: () => ({ role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'none' }),
  roots: [],
  ...(authorizer && { authorizer }),
});
try {
  await scenarioOf(scenario)();
} finally {
  await client.close();
}

function scenarioOf(name: string): () => Promise<void> {
  switch (name) {
    case 'tools_call':
      return () => call({ name: 'add_numbers', arguments: { a: 5, b: 3 } });
    case 'http-standard-headers':
      return useEverything;
    case 'http-custom-headers':
      return () => call(...(context.toolCalls ?? []));
    case 'json-schema-ref-no-deref':
      return async () => void (await client.listTools());
    case 'json-schema-2020-12-preservation':
      return echoSchema;
    case 'sep-2322-client-request-state':
      return callAllAtOnce;
    default:
      return callEverything;
  }
}

async function call(...calls: ToolCall[]): Promise<void> {
  await client.listTools();
  for (const { name, arguments: args } of calls) {
    const result = await client.callTool(name, args);
    console.error(name, JSON.stringify(result.content));
  }
}

/** Calls each tool that there is, without arguments. */
async function callEverything(): Promise<void> {
  const tools = await client.listTools();
  for (const { name } of tools) await client.callTool(name, {});
}

async function callAllAtOnce(): Promise<void> {
  const tools = await client.listTools();
  await Promise.all(tools.map(({ name }) => client.callTool(name, {})));
}

async function useEverything(): Promise<void> {
  await callEverything();
  for (const { uri } of await client.listResources()) await client.readResource(uri);
  for (const { name } of await client.listPrompts()) await client.getPrompt(name);
}

/** Gives the server back the schema of one of its tools, as it is known here. */
async function echoSchema(): Promise<void> {
  const tools = await client.listTools();
  const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema;
  await client.callTool('json_schema_echo', { schema });
}
