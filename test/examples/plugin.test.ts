import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processesIn } from '../left-behind.ts';
import { type ChatAnswer, ChatEndpoint, type ChatRequest } from './chat-endpoint.ts';
import { runExample } from './run-example.ts';

let folder: string;
let endpoint: ChatEndpoint | undefined;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'mcpwire-example-')));
});
afterEach(async () => {
  await endpoint?.close();
  endpoint = undefined;
  expect(processesIn(folder)).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
});

async function run(answer: (request: ChatRequest) => ChatAnswer | undefined) {
  endpoint = await ChatEndpoint.start(answer);
  const env = { MCPWIRE_BASE_URL: endpoint.url, MCPWIRE_MODEL: 'scripted', MCPWIRE_API_KEY: 'secret' };
  return { ended: await runExample('plugin.mjs', [], env, folder), received: endpoint.received };
}

/** Calls the tool, then answers from what it gave. */
function model({ messages }: ChatRequest): ChatAnswer {
  const last = messages.at(-1);
  if (last?.role === 'tool') return { text: `It is ${last.content}, élève 🎉` };
  return { text: 'I add.', calls: [{ id: 'call_1', name: 'add', arguments: '{"a": 17, "b": 25}' }] };
}

describe('examples/plugin.mjs', () => {
  it('has the tool of its own server called by the model, and answered from in a second turn', async () => {
    const { ended, received } = await run(model);
    expect(ended).toEqual({
      code: 0,
      stdout:
        'user: What is 17 plus 25? Use the tool.\nassistant: I add.\ncall_1: 42\nassistant: It is 42, élève 🎉\n',
      stderr: '',
    });
    expect(received.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/chat/completions']);
    const [first, second] = received;
    expect(first?.headers).toMatchObject({
      authorization: 'Bearer secret',
      'content-type': 'application/json',
    });
    expect(first?.body).toMatchObject({
      model: 'scripted',
      stream: true,
      tools: [{ type: 'function', function: { name: 'add', description: 'Adds two numbers' } }],
    });
    expect(second?.body.messages).toEqual([
      { role: 'user', content: 'What is 17 plus 25? Use the tool.' },
      {
        role: 'assistant',
        content: 'I add.',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a": 17, "b": 25}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '42' },
    ]);
  });

  it('has several calls of one answer carried out, their pieces among each other', async () => {
    const calls = [
      { id: 'x', name: 'add', arguments: '{"a":1,"b":2}' },
      { id: 'y', name: 'add', arguments: '{"a":"one","b":2}' },
      { id: 'z', name: 'add', arguments: '{"a":1000000,"b":2}' },
    ];
    const { ended } = await run(({ messages }) => (messages.length === 1 ? { calls } : { text: 'Done' }));
    expect(ended.stdout.split('\n').slice(1)).toEqual([
      'x: 3',
      expect.stringMatching(/^y: tool error: .*\/a must be number/),
      'z: 1000002',
      'assistant: Done',
      '',
    ]);
  });

  it('ends with what the endpoint says when it fails in the middle of an answer', async () => {
    const { ended } = await run(() => ({ text: 'I was about to', error: 'out of memory' }));
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('The model\'s endpoint failed: {"message":"out of memory"}');
  });

  it('ends with what the endpoint says when that fails, and leaves no server behind', async () => {
    const { ended } = await run(() => undefined);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('The model\'s endpoint answered 500: {"error":{"message":"overloaded"}}');
  });
});
