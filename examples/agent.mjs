// @ts-check
// A small agent: node agent.mjs servers.json "what to do". Its tools are those of the servers in an mcpServers file, its
// model that of any OpenAI-compatible endpoint: MCPWIRE_BASE_URL, MCPWIRE_MODEL, MCPWIRE_API_KEY.
import { McpClientGroup, textOf } from 'mcpwire';
import { chat, turnMessages } from './chat.mjs';

const MAX_TURNS = 20;
const [file, task] = process.argv.slice(2);
if (!file || !task) {
  console.error('Usage: node agent.mjs <mcpServers file> <task>');
  process.exit(2);
}

const group = await McpClientGroup.fromConfig(file, {
  provider: { names: 'model-safe' },
  process: { stderr: 'ignore' },
  onWarning: (warning) => console.error(warning.message),
});
try {
  console.log(`${group.registry.size} tools of ${group.members.size} servers`);
  await work(task);
} finally {
  await group.close();
}

async function work(/** @type {string} */ wanted) {
  /** @type {object[]} */
  const messages = [{ role: 'user', content: wanted }];
  for (let turn = 1; turn <= MAX_TURNS; turn++) {
    let text = '';
    /** @type {import('mcpwire').ToolCallBlock[]} */
    const calls = [];
    for await (const block of chat(messages, group.registry.schemas())) {
      if (block.type === 'text') text += block.text;
      else if (block.type === 'toolCall') calls.push(block);
    }
    if (text) console.log(`assistant: ${text}`);
    if (calls.length === 0) return;
    const results = [];
    // In their order: an imported tool never claims that its calls may run at the same time.
    for (const each of calls) results.push(await call(each));
    messages.push(...turnMessages(text, calls, results));
  }
  console.error(`Not done after ${MAX_TURNS} turns`);
  process.exitCode = 1;
}

/** Whatever goes wrong, the model is told: it may know what to do. */
async function call(/** @type {import('mcpwire').ToolCallBlock} */ { id, name, arguments: args }) {
  console.log(`calls ${name} ${args}`);
  const output = await result(name, String(args));
  console.log(`  ${output.replaceAll('\n', '\n  ')}`);
  return { toolCallId: id, output };
}

async function result(/** @type {string} */ name, /** @type {string} */ args) {
  const tool = group.registry.get(name);
  if (!tool) return `There is no tool ${name}`;
  try {
    return textOf(await tool.call(args === '' ? {} : JSON.parse(args)));
  } catch (error) {
    return `The arguments are no JSON: ${error}`;
  }
}
