// A server with everything that the scenarios of the official conformance suite ask for. It prints where it listens, and
// serves until it is killed. `--port` takes the port to listen on; 0, the default, takes a free one.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { elicit, listRoots, McpServer, type RequestContext, sample, serveHttp } from 'mcpwire';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';
const NO_ARGUMENTS = { type: 'object', properties: {} } as const;

const server = new McpServer({
  name: 'mcpwire-everything',
  version: '1.0.0',
  title: 'mcpwire conformance server',
  instructions: 'Offers what the official conformance suite asks for.',
  cache: { ttlMs: 1000, cacheScope: 'public', read: { ttlMs: 0, cacheScope: 'private' } },
  onError: (error) => console.error(error.message),
});

type Handler = Parameters<typeof server.tool>[1];

/** Registers a tool that takes no arguments. */
function tool(name: string, description: string, handler: Handler): () => void {
  return server.tool({ name, description, inputSchema: NO_ARGUMENTS }, handler);
}

function textOf(content: unknown): string {
  const [first] = Array.isArray(content) ? content : [content];
  return typeof first === 'object' && first !== null && 'text' in first ? String(first.text) : 'no text';
}

// Content

tool('test_simple_text', 'Returns plain text', () => 'This is a simple text response for testing.');
tool('test_image_content', 'Returns an image', () => [{ type: 'image', data: PNG, mimeType: 'image/png' }]);
tool('test_audio_content', 'Returns audio', () => [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }]);
tool('test_embedded_resource', 'Returns an embedded resource', () => [
  {
    type: 'resource',
    resource: {
      uri: 'test://embedded-resource',
      mimeType: 'text/plain',
      text: 'This is an embedded resource content.',
    },
  },
]);
tool('test_multiple_content_types', 'Returns text, an image and a resource', () => [
  { type: 'text', text: 'Multiple content types test:' },
  { type: 'image', data: PNG, mimeType: 'image/png' },
  {
    type: 'resource',
    resource: {
      uri: 'test://mixed-content-resource',
      mimeType: 'application/json',
      text: JSON.stringify({ test: 'data', value: 123 }),
    },
  },
]);
tool('test_error_handling', 'Always fails', () => {
  throw new Error('This tool intentionally returns an error for testing');
});

// In the course of a call

tool('test_tool_with_logging', 'Logs three messages', async (_args, context) => {
  await context.log('info', 'Tool execution started');
  await sleep(50);
  await context.log('info', 'Tool processing data');
  await sleep(50);
  await context.log('info', 'Tool execution completed');
  return 'Logged three messages';
});
tool('test_logging_tool', 'Logs a message of each level', async (_args, context) => {
  for (const level of ['debug', 'info', 'warning', 'error'] as const) await context.log(level, `A ${level}`);
  return 'Logged';
});
tool('test_tool_with_progress', 'Reports progress three times', async (_args, context) => {
  for (const progress of [0, 50, 100]) {
    await context.progress(progress, 100);
    if (progress < 100) await sleep(50);
  }
  return 'Done';
});
tool('test_reconnection', 'Lets go of its stream while it works', async (_args, context) => {
  context.closeStream();
  await sleep(100);
  return 'The stream was closed, and the client came back.';
});

// Questions to the client

server.tool(
  {
    name: 'test_sampling',
    description: 'Asks the model of the client',
    inputSchema: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
  },
  async ({ prompt }, context) => {
    const answer = await context.sample(question(String(prompt), 100));
    return `LLM response: ${textOf(answer.content)}`;
  },
);
server.tool(
  {
    name: 'test_elicitation',
    description: 'Asks the person at the client',
    inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  },
  async ({ message }, context) => {
    const answer = await context.elicit({
      message: String(message),
      requestedSchema: {
        type: 'object',
        properties: {
          username: { type: 'string', description: "User's response" },
          email: { type: 'string', description: "User's email address" },
        },
        required: ['username', 'email'],
      },
    });
    return `User response: ${JSON.stringify(answer)}`;
  },
);
tool('test_elicitation_sep1034_defaults', 'Asks with defaults', async (_args, context) => {
  const answer = await context.elicit({
    message: 'Please review and update the form fields with defaults',
    requestedSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      },
    },
  });
  return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`;
});
tool('test_elicitation_sep1330_enums', 'Asks with every kind of choice', async (_args, context) => {
  const options = ['option1', 'option2', 'option3'];
  const titled = [
    { const: 'value1', title: 'First Option' },
    { const: 'value2', title: 'Second Option' },
    { const: 'value3', title: 'Third Option' },
  ];
  const answer = await context.elicit({
    message: 'Please choose',
    requestedSchema: {
      type: 'object',
      properties: {
        untitledSingle: { type: 'string', enum: options },
        titledSingle: { type: 'string', oneOf: titled },
        legacyEnum: {
          type: 'string',
          enum: ['opt1', 'opt2', 'opt3'],
          enumNames: ['Option One', 'Option Two', 'Option Three'],
        },
        untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
        titledMulti: { type: 'array', items: { anyOf: titled } },
      },
    },
  });
  return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`;
});
tool('test_missing_capability', 'Needs a client with a model', async (_args, context) => {
  return textOf((await context.sample(question('Hello', 10))).content);
});
tool('test_streaming_elicitation', 'Reports progress, then asks', async (_args, context) => {
  await context.progress(1, 2);
  await context.log('info', 'About to ask');
  const answer = await context.elicit({
    message: 'Go on?',
    requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  });
  return answer.action;
});

// Rounds

const askName = elicit({
  message: 'What is your name?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
});
const confirm = elicit({
  message: 'Please confirm',
  requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
});

tool('test_input_required_result_elicitation', 'Asks for a name', async (_args, context) => {
  const { user_name } = await context.inputs({ user_name: askName });
  return `Hello, ${user_name.content?.name ?? 'stranger'}!`;
});
tool('test_input_required_result_sampling', 'Asks the model for a capital', async (_args, context) => {
  const { capital_question } = await context.inputs({
    capital_question: sample(question('What is the capital of France?', 100)),
  });
  return `The model says: ${textOf(capital_question.content)}`;
});
tool('test_input_required_result_list_roots', 'Asks for the roots', async (_args, context) => {
  const { client_roots } = await context.inputs({ client_roots: listRoots() });
  return `Roots: ${client_roots.roots.map(({ uri }) => uri).join(', ')}`;
});
tool('test_input_required_result_request_state', 'Keeps a state over a round', async (_args, context) => {
  const before = context.state;
  context.state = { step: 'confirm' };
  await context.inputs({ confirm });
  return before === undefined ? 'No state came back' : 'state-ok: confirmed';
});
tool('test_input_required_result_multiple_inputs', 'Asks three things at once', async (_args, context) => {
  context.state = { step: 'all' };
  const { user_name, greeting, client_roots } = await context.inputs({
    user_name: askName,
    greeting: sample(question('Generate a greeting', 50)),
    client_roots: listRoots(),
  });
  return `${textOf(greeting.content)} ${user_name.content?.name}, you have ${client_roots.roots.length} roots`;
});
tool('test_input_required_result_multi_round', 'Asks twice', async (_args, context) => {
  context.state = { round: 1 };
  const { step1 } = await context.inputs({
    step1: elicit({
      message: 'Step 1: What is your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    }),
  });
  context.state = { round: 2, name: step1.content?.name };
  const { step2 } = await context.inputs({
    step2: elicit({
      message: 'Step 2: What is your favorite color?',
      requestedSchema: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
    }),
  });
  return `${step1.content?.name} likes ${step2.content?.color}`;
});
tool(
  'test_input_required_result_tampered_state',
  'Keeps a state that must come back whole',
  async (_args, context) => {
    context.state = { secret: 'untouched' };
    await context.inputs({ confirm });
    return 'The state came back whole';
  },
);
tool('test_input_required_result_capabilities', 'Asks what the client can answer', async (_args, context) => {
  const { capabilities } = context.client;
  const { user_name, greeting } = await context.inputs({
    ...(capabilities.elicitation && { user_name: askName }),
    ...(capabilities.sampling && { greeting: sample(question('Generate a greeting', 50)) }),
  });
  return `Asked ${[user_name && 'the person', greeting && 'the model'].filter(Boolean).join(' and ') || 'nobody'}`;
});

function question(text: string, maxTokens: number) {
  return { messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }], maxTokens };
}

// Schemas and headers

server.tool(
  {
    name: 'json_schema_2020_12_tool',
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: the JSON Schema keyword
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
  },
  (args) => JSON.stringify(args),
);
server.tool(
  {
    name: 'test_header_params',
    description: 'Has arguments that are mirrored into headers',
    inputSchema: {
      type: 'object',
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        priority: { type: 'integer', 'x-mcp-header': 'Priority' },
        verbose: { type: 'boolean', 'x-mcp-header': 'Verbose' },
        query: { type: 'string' },
      },
    },
  },
  (args) => JSON.stringify(args),
);

// Changes

let changes = 0;
tool('test_trigger_tool_change', 'Changes the list of tools', () => {
  const remove = tool(`test_changed_${++changes}`, 'Is there for a moment', () => 'here');
  remove();
  return 'Changed';
});
tool('test_trigger_prompt_change', 'Changes the list of prompts', () => {
  const name = `test_changed_${++changes}`;
  const remove = server.prompt({ name, description: 'Is there for a moment' }, () => 'here');
  remove();
  return 'Changed';
});

// Resources

server.resource(
  {
    uri: 'test://static-text',
    name: 'Static text',
    description: 'Text that never changes',
    mimeType: 'text/plain',
  },
  () => 'This is the content of the static text resource.',
);
server.resource(
  {
    uri: 'test://static-binary',
    name: 'Static binary',
    description: 'An image that never changes',
    mimeType: 'image/png',
  },
  () => ({ contents: [{ uri: 'test://static-binary', mimeType: 'image/png', blob: PNG }] }),
);
server.resource(
  {
    uri: 'test://watched-resource',
    name: 'Watched resource',
    description: 'Can be subscribed to',
    mimeType: 'text/plain',
  },
  () => 'Watched',
);
server.resourceTemplate(
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'Template',
    description: 'Data by id',
    mimeType: 'application/json',
  },
  (_uri, { id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
);

// Prompts

server.prompt(
  { name: 'test_simple_prompt', description: 'Takes nothing' },
  () => 'This is a simple prompt for testing.',
);
server.prompt(
  {
    name: 'test_prompt_with_arguments',
    description: 'Takes two arguments',
    arguments: [
      { name: 'arg1', description: 'First test argument', required: true },
      { name: 'arg2', description: 'Second test argument', required: true },
    ],
  },
  ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  { complete: { arg1: (value) => ['paris', 'park', 'party'].filter((word) => word.startsWith(value)) } },
);
server.prompt(
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'Embeds a resource',
    arguments: [{ name: 'resourceUri', description: 'What to embed', required: true }],
  },
  ({ resourceUri }) => ({
    messages: [
      {
        role: 'user',
        content: {
          type: 'resource',
          resource: {
            uri: resourceUri,
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        },
      },
      { role: 'user', content: { type: 'text', text: 'Please process the embedded resource above.' } },
    ],
  }),
);
server.prompt({ name: 'test_prompt_with_image', description: 'Holds an image' }, () => ({
  messages: [
    { role: 'user', content: { type: 'image', data: PNG, mimeType: 'image/png' } },
    { role: 'user', content: { type: 'text', text: 'Please analyze the image above.' } },
  ],
}));
server.prompt(
  { name: 'test_input_required_result_prompt', description: 'Asks for its context' },
  async (_args: unknown, context: RequestContext) => {
    const { user_context } = await context.inputs({
      user_context: elicit({
        message: 'What context should the prompt use?',
        requestedSchema: {
          type: 'object',
          properties: { context: { type: 'string' } },
          required: ['context'],
        },
      }),
    });
    return `Context: ${user_context.content?.context}`;
  },
);

const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } });
const { url } = await serveHttp(server, { port: Number(values.port), sessions: { retryMs: 100 } });
console.log(`LISTENING ${url}`);
