// @ts-check
// A tool that asks the person at the client, and a client that answers and follows what changes. Both in one process.
import { McpClient, McpServer } from 'mcpwire';

const server = new McpServer({ name: 'shop', version: '1.0.0' });
server.tool(
  { name: 'order', description: 'Orders', inputSchema: { type: 'object' } },
  async (_args, context) => {
    // In the stateless dialect the handler runs again from its start once the answer is there: ask before you act.
    const answer = await context.elicit({
      message: 'Which size?',
      requestedSchema: { type: 'object', properties: { size: { type: 'string', enum: ['S', 'M', 'L'] } } },
    });
    return answer.action === 'accept' ? `Ordered size ${answer.content?.size}` : 'Ordered nothing';
  },
);

const client = await McpClient.inProcess(server, {
  onElicit: ({ message }) => {
    console.log(`asked: ${message}`);
    return { action: 'accept', content: { size: 'M' } };
  },
});
const { content } = await client.callTool('order');
console.log(content);

const changes = await client.listen({ toolsListChanged: true });
server.tool({ name: 'cancel', inputSchema: { type: 'object' } }, () => 'Cancelled');
for await (const change of changes) {
  console.log(change.type, (await client.listTools()).map(({ name }) => name).join(', '));
  break;
}
await client.close();
