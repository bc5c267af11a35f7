// The official SDK, version 2, over stdio: it answers both dialects, by how the client opens.
import { acceptedContent, fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const object = (properties, required = Object.keys(properties)) =>
  fromJsonSchema({ type: 'object', properties, required });

serveStdio(() => {
  const server = new McpServer(
    { name: 'sdk-v2', version: '2.0.0' },
    { capabilities: { tools: {}, logging: {} }, instructions: 'For tests' },
  );

  server.registerTool('echo', { inputSchema: object({ text: { type: 'string' } }) }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }));

  server.registerTool(
    'add',
    {
      title: 'Add',
      description: 'Adds two numbers',
      inputSchema: object({ a: { type: 'number' }, b: { type: 'number' } }),
      outputSchema: object({ sum: { type: 'number' } }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ a, b }) => ({
      content: [{ type: 'text', text: JSON.stringify({ sum: a + b }) }],
      structuredContent: { sum: a + b },
    }),
  );

  server.registerTool('fail', { inputSchema: object({}) }, () => {
    throw new Error('this tool always fails');
  });

  server.registerTool(
    'work',
    { inputSchema: object({ steps: { type: 'integer' } }) },
    async ({ steps }, context) => {
      const { progressToken } = context.mcpReq._meta ?? {};
      for (let step = 1; step <= steps && progressToken !== undefined; step++) {
        await context.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress: step, total: steps, message: `step ${step}` },
        });
      }
      return { content: [{ type: 'text', text: `${steps} steps` }] };
    },
  );

  server.registerTool('wait', { inputSchema: object({}) }, (_args, { mcpReq: { signal } }) => {
    console.error('waiting');
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        console.error('cancelled');
        reject(new Error('cancelled'));
      });
    });
  });

  server.registerTool('greet', { inputSchema: object({}) }, async (_args, { mcpReq }) => {
    const question = {
      message: 'Who are you?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    };
    if (mcpReq.envelope) {
      const answer = acceptedContent(mcpReq.inputResponses, 'who');
      if (!answer)
        return inputRequired({
          inputRequests: { who: inputRequired.elicit(question) },
          requestState: 'asked',
        });
      return { content: [{ type: 'text', text: `Hello, ${answer.name} (${mcpReq.requestState()})` }] };
    }
    const { content } = await mcpReq.elicitInput({ mode: 'form', ...question });
    return { content: [{ type: 'text', text: `Hello, ${content.name} (asked)` }] };
  });

  let grown;
  server.registerTool('grow', { inputSchema: object({}) }, () => {
    if (grown) grown.remove();
    grown = grown
      ? undefined
      : server.registerTool('grown', { inputSchema: object({}) }, () => ({
          content: [{ type: 'text', text: 'new' }],
        }));
    return { content: [{ type: 'text', text: grown ? 'grown' : 'shrunk' }] };
  });

  return server;
});
