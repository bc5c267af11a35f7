import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { connected, notification, request } from '../transport/http/connected.ts';
import { event, resultFor, ScriptedServer, startEvents } from '../transport/http/scripted-server.ts';

describe('a stream that stays open behind the response', () => {
  it('delays nothing and is closed by the client after a while', async () => {
    const closed: Promise<unknown>[] = [];
    const server = await ScriptedServer.start((received, response) => {
      closed.push(once(response, 'close'));
      startEvents(response).write(received.message.id ? event(resultFor(received)) : ':\n');
    });
    const { transport, sink } = await connected(server.url);
    await transport.send(request(1));
    await transport.send(request(2));
    await transport.send(notification);
    expect(sink.messages).toHaveLength(2);
    await Promise.all(closed);
    expect(sink.errors).toEqual([]);
  });
});
