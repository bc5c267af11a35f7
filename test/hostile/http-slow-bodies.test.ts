import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { connected, failure, request } from '../transport/http/connected.ts';
import { ScriptedServer } from '../transport/http/scripted-server.ts';

describe('a body that does not come to its end', () => {
  it('of an error page is waited for a while, then what came of it is told', async () => {
    const server = await ScriptedServer.start((_, response) => {
      response.writeHead(503, { 'content-type': 'text/plain' }).write('busy');
      const timer = setInterval(() => response.write('.'), 100);
      response.on('close', () => clearInterval(timer));
    });
    const { transport } = await connected(server.url);
    const error = await failure(transport.send(request(1)));
    expect(error).toMatchObject({ status: 503, bodyPreview: expect.stringMatching(/^busy/) });
  });

  it('of JSON is waited for as long as its caller waits', async () => {
    let closed: Promise<unknown> | undefined;
    const server = await ScriptedServer.start((_, response) => {
      closed = once(response, 'close');
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":');
    });
    const { transport, sink } = await connected(server.url);
    const sent = transport.send(request(1));
    await server.requestNumber(1);
    transport.abandon(1);
    await Promise.all([sent, closed]);
    expect(sink.messages).toEqual([]);
  });
});
