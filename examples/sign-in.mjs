// Signs a user in at a protected server, once: the tokens are kept in tokens.json, and renewed.
// node examples/sign-in.mjs https://example.com/mcp
import { fileTokenStore, McpClient, oauth } from 'mcpwire';

const authorizer = oauth({
  onRedirect: (address) => console.log(`Sign in at ${address}`),
  store: fileTokenStore('tokens.json'),
});
const client = await McpClient.http(process.argv[2], { authorizer });
try {
  for (const { name } of await client.listTools()) console.log(name);
} finally {
  await client.close();
}
