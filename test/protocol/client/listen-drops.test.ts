import { expect, it, vi } from 'vitest';
import { McpClient } from '../../../src/protocol/index.ts';
import { STATELESS, WireServer } from '../wire-server.ts';

const attempts: number[] = [];

// Delays are drawn at random; the number that they grow with tells how long they may be.
vi.mock('../../../src/protocol/client/backoff.ts', async (importOriginal) => ({
  ...(await importOriginal<typeof import('../../../src/protocol/client/backoff.ts')>()),
  backoffDelay: (_: unknown, attempt: number) => {
    attempts.push(attempt);
    return 0;
  },
}));

it('a subscription that drops time after time, as soon as it is open, is opened again ever later', async () => {
  const server = new WireServer(STATELESS);
  const client = await McpClient.inProcess(server);
  const listening = client.listen({ toolsListChanged: true });
  for (let drops = 0; drops < 4; drops++) {
    const { id } = await server.next();
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
    server.notify('notifications/subscriptions/acknowledged', { _meta, notifications: {} });
    server.notify('notifications/cancelled', { requestId: id });
  }
  await listening;
  await server.next();
  expect(attempts).toEqual([1, 2, 3, 4]);
  await client.close();
});
