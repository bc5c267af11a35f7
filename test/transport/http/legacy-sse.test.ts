import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { TimeoutError } from '../../../src/jsonrpc/index.ts';
import { HttpError, type LegacySseOptions, LegacySseTransport } from '../../../src/transport/index.ts';
import { RecordingSink } from '../recording-sink.ts';
import { failure, notification, request } from './connected.ts';
import { type Answer, closeBehindTest, event, ScriptedServer, startEvents } from './scripted-server.ts';

const accept: Answer = (_, response) => void response.writeHead(202).end('Accepted');

/** A server of the old kind: `stream` is the event stream of its one client. */
async function startServer(endpoint = '/messages?session=1', onPost: Answer = accept) {
  const streams: ServerResponse[] = [];
  const server = await ScriptedServer.start((received, response) => {
    if (received.method !== 'GET') {
      onPost(received, response);
      return;
    }
    startEvents(response).write(`event: endpoint\ndata: ${endpoint}\n\n`);
    streams.push(response);
  });
  return { server, stream: () => streams[0] as ServerResponse };
}

async function connected(url: string, options?: LegacySseOptions) {
  const transport = new LegacySseTransport(url, options);
  const sink = new RecordingSink();
  closeBehindTest(() => transport.close());
  await transport.start(sink);
  return { transport, sink };
}

describe('LegacySseTransport', () => {
  it('posts messages to the address that the first event names and hears answers on the stream', async () => {
    const { server, stream } = await startServer();
    const { transport, sink } = await connected(server.url, { headers: { 'x-own': '1' } });
    await transport.send(request(1), { headers: { 'x-more': '2' } });
    const [get, post] = server.received;
    expect(get).toMatchObject({
      method: 'GET',
      path: '/mcp',
      headers: { accept: 'text/event-stream', 'x-own': '1' },
    });
    expect(post).toMatchObject({
      method: 'POST',
      path: '/messages?session=1',
      headers: { 'content-type': 'application/json', 'x-own': '1', 'x-more': '2' },
      message: request(1),
    });
    const answer = { jsonrpc: '2.0', id: 1, result: {} };
    stream().write(`event: message\n${event(answer)}`);
    expect(await sink.messageNumber(1)).toEqual(answer);
    await transport.send(notification);
    expect(server.received).toHaveLength(3);
  });

  it('takes an absolute address of the same origin', async () => {
    const { server } = await startServer();
    const other = await startServer(`${server.origin}/elsewhere`);
    expect(String(await failure(connected(other.server.url)))).toMatch(/not of its own origin/);
    const own = await ScriptedServer.start((received, response) => {
      if (received.method === 'GET')
        startEvents(response).write(`event: endpoint\ndata: ${own.origin}/m\n\n`);
      else accept(received, response);
    });
    const { transport } = await connected(own.url);
    await transport.send(notification);
    expect(own.received[1]?.path).toBe('/m');
  });

  it.each(['http://', 'javascript:1'])('refuses an address that is none: %s', async (endpoint) => {
    const { server } = await startServer(endpoint);
    expect(String(await failure(connected(server.url)))).toMatch(/not of its own origin/);
  });

  it('does not start where the server refuses the stream', async () => {
    const server = await ScriptedServer.start((_, response) => void response.writeHead(404).end());
    const error = await failure(connected(server.url));
    expect(error).toBeInstanceOf(HttpError);
    expect(error).toMatchObject({ status: 404 });
  });

  it('does not start where the stream ends without an address', async () => {
    const server = await ScriptedServer.start((_, response) => void startEvents(response).end(': hello\n\n'));
    expect(await failure(connected(server.url))).toMatchObject({ code: 'CLOSED' });
  });

  it('waits for the address no longer than endpointTimeoutMs', async () => {
    const server = await ScriptedServer.start(
      (_, response) => void startEvents(response).write(': hello\n\n'),
    );
    const error = await failure(connected(server.url, { endpointTimeoutMs: 100 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(String(error)).toMatch(/raise endpointTimeoutMs/);
  });

  it('can be closed while it waits for the address', async () => {
    const server = await ScriptedServer.start((_, response) => void startEvents(response));
    const transport = new LegacySseTransport(server.url);
    const started = failure(transport.start(new RecordingSink()));
    await server.requestNumber(1);
    await transport.close();
    expect(await started).toMatchObject({ code: 'CLOSED' });
  });

  it('closes when the stream ends, and rejects what was not accepted yet', async () => {
    const { server, stream } = await startServer('/messages', () => {});
    const { transport, sink } = await connected(server.url);
    const sent = failure(transport.send(request(1)));
    await server.requestNumber(2);
    stream().end();
    expect(await sink.closed()).toMatchObject({ code: 'CLOSED' });
    expect(await sent).toMatchObject({ code: 'CLOSED' });
    expect(() => transport.send(notification)).toThrow(/closed/);
    await transport.close();
    expect(sink.closes).toHaveLength(1);
  });

  it('closes the stream when it is closed, and tells the sink once', async () => {
    const { server, stream } = await startServer();
    const { transport, sink } = await connected(server.url);
    const closed = once(stream(), 'close');
    await transport.close();
    await transport.close();
    await closed;
    expect(sink.closes).toEqual([undefined]);
  });

  it('fails a message that the server does not accept', async () => {
    const { server } = await startServer(
      '/messages',
      (_, response) => void response.writeHead(400).end('no such session'),
    );
    const { transport } = await connected(server.url);
    const error = await failure(transport.send(request(1)));
    expect(error).toMatchObject({ status: 400, bodyPreview: 'no such session' });
    expect(String(error)).toContain('"tools/call"');
  });

  it('refuses a time limit of no use', () => {
    expect(() => new LegacySseTransport('http://x/', { endpointTimeoutMs: 0 })).toThrow(/endpointTimeoutMs/);
  });
});
