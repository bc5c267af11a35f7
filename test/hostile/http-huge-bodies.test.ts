import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { connected, failure, notification, request } from '../transport/http/connected.ts';
import { ScriptedServer, startRawServer } from '../transport/http/scripted-server.ts';

/** Writes without end, as fast as the client takes it; resolves with what was written when the client hangs up. */
async function writeForever(response: ServerResponse, piece: string): Promise<number> {
  let written = 0;
  response.on('error', () => {});
  while (!response.destroyed) {
    written += piece.length;
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    else await new Promise(setImmediate);
  }
  return written;
}

/** What such a server wrote before the client hung up: what was read, and what the sockets' buffers hold. */
async function serve(head: (response: ServerResponse) => void, piece: string) {
  let written: Promise<number> | undefined;
  const server = await ScriptedServer.start((_, response) => {
    head(response);
    written = writeForever(response, piece);
  });
  return { url: server.url, written: () => written };
}

describe('a body without end', () => {
  it('of an error page is cut off, and its first bytes are shown', async () => {
    const { url, written } = await serve(
      (response) => void response.writeHead(500),
      '<p>sorry</p>'.repeat(1000),
    );
    const { transport } = await connected(url);
    expect(await failure(transport.send(request(1)))).toMatchObject({
      status: 500,
      bodyPreview: expect.stringMatching(/^<p>sorry/),
    });
    expect(await written()).toBeLessThan(20_000_000);
  });

  it('of JSON is cut off at maxResponseBytes', async () => {
    const { url, written } = await serve(
      (response) => void response.setHeader('content-type', 'application/json'),
      '[[[['.repeat(1000),
    );
    const { transport } = await connected(url, { maxResponseBytes: 100_000 });
    expect(String(await failure(transport.send(request(1))))).toMatch(/exceeds 100000 bytes/);
    expect(await written()).toBeLessThan(20_000_000);
  });

  it('behind an accepted notification is cut off', async () => {
    const { url, written } = await serve((response) => void response.writeHead(202), 'thanks '.repeat(1000));
    const { transport, sink } = await connected(url);
    await transport.send(notification);
    expect(await written()).toBeLessThan(20_000_000);
    expect(sink.errors).toEqual([]);
  });

  it('of one event is skipped and costs no memory; giving the request up ends it', async () => {
    const { url, written } = await serve(
      (response) => void response.setHeader('content-type', 'text/event-stream'),
      'data: xxxxxxxx\n'.repeat(1000),
    );
    const { transport, sink } = await connected(url, { maxResponseBytes: 100_000 });
    const sent = transport.send(request(1));
    expect(await sink.firstError()).toMatchObject({ code: 'EVENT_TOO_LONG' });
    transport.abandon(1);
    await sent;
    await written();
    expect(sink.errors).toHaveLength(1);
  });
});

describe('a head without end', () => {
  it('fails the request', async () => {
    const url = await startRawServer((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const more = () => {
        while (!socket.destroyed && socket.write(`x-${'y'.repeat(1000)}: z\r\n`));
        socket.once('drain', more);
      };
      more();
    });
    const { transport } = await connected(url);
    expect(await failure(transport.send(request(1)))).toMatchObject({ code: 'TRANSPORT_FAILED' });
  });
});
