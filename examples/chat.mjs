// @ts-check
// Streams the answer of an OpenAI-compatible endpoint as blocks: text as it comes, calls of tools once they are whole.
import { SseDecoder } from 'mcpwire';

const {
  MCPWIRE_BASE_URL: baseUrl = 'http://127.0.0.1:11434/v1',
  MCPWIRE_MODEL: model = 'qwen3',
  MCPWIRE_API_KEY: apiKey,
} = process.env;

/**
 * @param {object[]} messages The talk so far.
 * @param {readonly { name: string, description?: string, inputSchema: object }[]} tools
 * @returns {AsyncGenerator<import('mcpwire').StreamBlock>}
 */
export async function* chat(messages, tools) {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) },
    body: JSON.stringify({
      model,
      stream: true,
      messages,
      tools: tools.map(({ name, description, inputSchema: parameters }) => ({
        type: 'function',
        function: { name, description, parameters },
      })),
    }),
  });
  if (!response.ok || !response.body) {
    throw new Error(`The model's endpoint answered ${response.status}: ${await response.text()}`);
  }
  /** @type {Map<number, import('mcpwire').ToolCallBlock & { arguments: string }>} */
  const calls = new Map();
  for await (const { error, choices } of events(response.body)) {
    if (error) throw new Error(`The model's endpoint failed: ${JSON.stringify(error)}`);
    const { content, tool_calls: parts } = choices?.[0]?.delta ?? {};
    if (content) yield { type: 'text', text: content };
    // The first part of a call has its id and name; all of them have a piece of its arguments.
    for (const { index, id, function: { name, arguments: piece } = {} } of parts ?? []) {
      const call = calls.get(index) ?? { type: 'toolCall', id, name, arguments: '' };
      call.arguments += piece ?? '';
      calls.set(index, call);
    }
  }
  yield* calls.values();
}

/** What the assistant said, and what its calls gave, as messages for the next turn. */
export function turnMessages(
  /** @type {string} */ text,
  /** @type {any[]} */ calls,
  /** @type {any[]} */ results,
) {
  const toolCalls = calls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }));
  return [
    { role: 'assistant', content: text, ...(toolCalls.length > 0 && { tool_calls: toolCalls }) },
    ...results.map(({ toolCallId, output }) => ({ role: 'tool', tool_call_id: toolCallId, content: output })),
  ];
}

async function* events(/** @type {ReadableStream<Uint8Array>} */ body) {
  /** @type {(string | Error)[]} */
  const waiting = [];
  const decoder = new SseDecoder({
    event: ({ data }) => waiting.push(data),
    error: (error) => waiting.push(error),
  });
  for await (const bytes of body) {
    decoder.push(bytes);
    for (const data of waiting.splice(0)) {
      if (data instanceof Error) throw data;
      if (data !== '[DONE]') yield JSON.parse(data);
    }
  }
}
