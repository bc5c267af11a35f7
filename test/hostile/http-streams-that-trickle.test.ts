import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { connected, request } from '../transport/http/connected.ts';
import { event, resultFor, ScriptedServer, startEvents } from '../transport/http/scripted-server.ts';

describe('a stream that trickles', () => {
  it('keep-alives and single bytes is read to its end', async () => {
    const server = await ScriptedServer.start(async (received, response) => {
      startEvents(response);
      for (const byte of Buffer.from(
        `:\r\n: still here\r\n\r\n${event(resultFor(received, { text: '🌍' }))}`,
      )) {
        response.write(Buffer.of(byte));
        await delay(2);
      }
      response.end();
    });
    const { transport, sink } = await connected(server.url);
    await transport.send(request(1));
    expect(sink.messages).toEqual([{ jsonrpc: '2.0', id: 1, result: { text: '🌍' } }]);
    expect(sink.errors).toEqual([]);
  });
});
