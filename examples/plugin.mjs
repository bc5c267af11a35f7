// @ts-check
// A plugin in a model's stream. The server is this file itself, started once more with --mcp-add-server: it adds. The model
// calls it in its first answer, and says the result in its second.
import { fileURLToPath } from 'node:url';
import { applyPlugins, McpPlugin, McpServer, serveStdio } from 'mcpwire';
import { chat, turnMessages } from './chat.mjs';

if (process.argv.includes('--mcp-add-server')) await serveAdd();
else await talk('What is 17 plus 25? Use the tool.');

async function serveAdd() {
  const server = new McpServer({ name: 'adder', version: '1.0.0' });
  const number = { type: 'number' };
  server.tool(
    {
      name: 'add',
      description: 'Adds two numbers',
      inputSchema: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] },
    },
    ({ a, b }) => String(Number(a) + Number(b)),
  );
  await serveStdio(server).waiting();
}

async function talk(/** @type {string} */ question) {
  const self = [fileURLToPath(import.meta.url), '--mcp-add-server'];
  const plugin = await McpPlugin.connectStdio({ command: process.execPath, args: self });
  try {
    console.log(`user: ${question}`);
    /** @type {object[]} */
    const messages = [{ role: 'user', content: question }];
    for (let turn = 1; turn <= 5; turn++) {
      const { text, calls, results } = await answer(messages, plugin);
      if (text) console.log(`assistant: ${text}`);
      for (const { toolCallId, output } of results) console.log(`${toolCallId}: ${output}`);
      if (calls.length === 0) return;
      messages.push(...turnMessages(text, calls, results));
    }
  } finally {
    await plugin.close();
  }
}

async function answer(/** @type {object[]} */ messages, /** @type {McpPlugin} */ plugin) {
  let text = '';
  /** @type {import('mcpwire').ToolCallBlock[]} */
  const calls = [];
  /** @type {import('mcpwire').ToolResultBlock[]} */
  const results = [];
  // Stands before the other: in its stream the calls have become results.
  /** @type {import('mcpwire').Plugin} */
  const recorder = {
    name: 'recorder',
    onStreamChunk: (block) => {
      if (block.type === 'toolCall') calls.push(block);
      return block;
    },
  };
  for await (const block of applyPlugins(chat(messages, plugin.tools()), [recorder, plugin])) {
    if (block.type === 'text') text += block.text;
    else if (block.type === 'toolResult') results.push(block);
  }
  return { text, calls, results };
}
