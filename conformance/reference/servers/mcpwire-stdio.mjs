// Our server on its standard streams, with something of everything for clients that nobody here wrote.
import { McpServer, serveStdio } from '../../../dist/protocol/index.js';

const server = new McpServer({ name: 'fixture', version: '1.0.0', instructions: 'Be kind' });
const anything = { type: 'object' };

server.tool({ name: 'echo', description: 'Echoes', inputSchema: anything }, (args) => JSON.stringify(args));
server.tool(
  {
    name: 'add',
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
    outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
  },
  ({ a, b }) => ({ structuredContent: { sum: a + b } }),
);
server.tool({ name: 'fail' }, () => {
  throw new Error('it broke');
});
// Goes on when the client has seen each step.
let proceed = () => {};
server.tool({ name: 'work' }, async (_args, context) => {
  for (const step of [1, 2, 3]) {
    const seen = new Promise((resolve) => {
      proceed = resolve;
    });
    context.log('info', `step ${step}`);
    context.progress(step, 3, `step ${step}`);
    await seen;
  }
  return 'worked';
});
server.tool({ name: 'count' }, (_args, context) => {
  for (const step of [1, 2, 3]) context.progress(step, 3);
  return 'counted';
});
server.tool({ name: 'proceed' }, () => proceed());
let reportAborted = () => {};
const aborted = new Promise((resolve) => {
  reportAborted = resolve;
});
server.tool({ name: 'hang' }, async (_args, { signal }) => {
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  reportAborted('it was aborted');
});
server.tool({ name: 'aborted' }, () => aborted);
server.tool({ name: 'ask' }, async (_args, context) => {
  const person = await context.elicit({
    message: 'Name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  });
  context.state = { met: person.content?.name };
  const model = await context.sample({
    messages: [{ role: 'user', content: { type: 'text', text: 'Capital?' } }],
    maxTokens: 10,
  });
  const roots = await context.listRoots();
  return JSON.stringify([context.state.met, model.content, roots.length]);
});
server.tool({ name: 'change' }, () => {
  server.tool({ name: 'new' }, () => 'x')();
  server.notifyPromptsChanged();
  server.notifyResourcesChanged();
  server.notifyResourceUpdated('test://a');
});
server.resource({ uri: 'test://a', name: 'a', mimeType: 'text/plain' }, () => 'content of a');
server.resourceTemplate({ uriTemplate: 'test://t/{id}', name: 't' }, (_uri, { id }) => `number ${id}`, {
  complete: { id: (value) => [`${value}0`] },
});
server.prompt(
  { name: 'greet', arguments: [{ name: 'name', required: true }] },
  ({ name }) => `Hello ${name}`,
  { complete: { name: (value) => ['Ada', 'Alan'].filter((each) => each.startsWith(value)) } },
);

serveStdio(server);
