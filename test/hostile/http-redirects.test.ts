import { describe, expect, it } from 'vitest';
import { httpErrorOf } from '../../src/transport/index.ts';
import { connected, failure, request } from '../transport/http/connected.ts';
import {
  type Answer,
  resultFor,
  ScriptedServer,
  sendJson,
  startEvents,
} from '../transport/http/scripted-server.ts';

const answer: Answer = (received, response) => {
  if (received.message.method === 'initialize') response.setHeader('mcp-session-id', 'secret-session');
  sendJson(response, resultFor(received));
};
const redirectTo =
  (location: () => string, status = 307): Answer =>
  (_, response) =>
    void response.writeHead(status, { location: location() }).end('<a>elsewhere</a>');
const credentials = { authorization: 'Bearer secret', 'x-api-key': 'secret' };

describe('a server that redirects', () => {
  it.each([307, 308])(
    'within its origin, with %i, gets the POST again with all that belongs to it',
    async (status) => {
      const server = await ScriptedServer.start((received, response) => {
        if (received.path === '/mcp') response.writeHead(status, { location: '/mcp/' }).end();
        else answer(received, response);
      });
      const { transport, sink } = await connected(server.url, { headers: credentials });
      await transport.send(request(1, 'initialize'), { headers: { 'mcp-method': 'initialize' } });
      await transport.send(request(2));
      expect(sink.messages).toHaveLength(2);
      expect(server.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
        'POST /mcp',
        'POST /mcp/',
        'POST /mcp',
        'POST /mcp/',
      ]);
      expect(server.received[1]).toMatchObject({
        message: request(1, 'initialize'),
        headers: { ...credentials, 'mcp-method': 'initialize', 'content-type': 'application/json' },
      });
      expect(server.received[3]?.headers['mcp-session-id']).toBe('secret-session');
    },
  );

  it.each([301, 302, 303])('with %i, which would make the POST a GET, is not followed', async (status) => {
    const server = await ScriptedServer.start(redirectTo(() => '/other', status));
    const { transport } = await connected(server.url);
    const error = await failure(transport.send(request(1)));
    expect(httpErrorOf(error)).toMatchObject({ status });
    expect(String(error)).toMatch(/"\/other".*GET/);
    expect(server.received).toHaveLength(1);
  });

  it('to another origin is not followed unless asked', async () => {
    const other = await ScriptedServer.start(answer);
    const server = await ScriptedServer.start(redirectTo(() => other.url));
    const { transport } = await connected(server.url);
    const error = await failure(transport.send(request(1)));
    expect(httpErrorOf(error)).toMatchObject({ status: 307 });
    expect(String(error)).toMatch(/another origin.*'follow'/);
    expect(other.received).toEqual([]);
  });

  it('to another origin gets no credentials there when followed, nor a session of its own origin', async () => {
    const other = await ScriptedServer.start((received, response) => sendJson(response, resultFor(received)));
    let leads = false;
    const server = await ScriptedServer.start((received, response) => {
      if (leads) redirectTo(() => other.url)(received, response);
      else answer(received, response);
    });
    const asked: string[] = [];
    const { transport, sink } = await connected(server.url, {
      redirect: 'follow',
      headers: credentials,
      authorizer: {
        authorize: ({ url }) => {
          asked.push(url);
          return { dpop: 'secret' };
        },
        challenge: () => true,
      },
    });
    await transport.send(request(1, 'initialize'));
    leads = true;
    await transport.send(request(2), { headers: { 'mcp-method': 'tools/call' } });
    expect(sink.messages).toHaveLength(2);
    expect(other.received[0]).toMatchObject({ message: request(2), headers: { 'mcp-method': 'tools/call' } });
    expect(JSON.stringify(other.received[0]?.headers)).not.toContain('secret');
    expect(server.received[1]?.headers).toMatchObject({
      ...credentials,
      dpop: 'secret',
      'mcp-session-id': 'secret-session',
    });
    expect(asked).toEqual([server.url, server.url]);
  });

  it('to another origin that opens a session keeps that session to that origin', async () => {
    const other = await ScriptedServer.start(answer);
    const server = await ScriptedServer.start(redirectTo(() => other.url));
    const { transport } = await connected(server.url, { redirect: 'follow' });
    await transport.send(request(1, 'initialize'));
    await transport.send(request(2));
    expect(server.received.map(({ headers }) => headers['mcp-session-id'])).toEqual([undefined, undefined]);
    expect(other.received.map(({ headers }) => headers['mcp-session-id'])).toEqual([
      undefined,
      'secret-session',
    ]);
  });

  it('in a circle is left after a few rounds', async () => {
    const server = await ScriptedServer.start(redirectTo(() => '/mcp'));
    const { transport } = await connected(server.url);
    expect(String(await failure(transport.send(request(1))))).toMatch(/5 redirects/);
    expect(server.received).toHaveLength(6);
  });

  it('with a body that does not end is followed all the same', async () => {
    const server = await ScriptedServer.start((received, response) => {
      if (received.path !== '/mcp') {
        answer(received, response);
        return;
      }
      response.writeHead(307, { location: '/there' });
      const more = () => response.write('x'.repeat(10_000)) || response.once('drain', more);
      const timer = setInterval(more, 1);
      response.on('close', () => clearInterval(timer));
    });
    const { transport, sink } = await connected(server.url);
    await transport.send(request(1));
    expect(sink.messages).toHaveLength(1);
  });

  it('nowhere is refused like any other', async () => {
    const server = await ScriptedServer.start((_, response) => void response.writeHead(307).end('?'));
    const { transport } = await connected(server.url);
    expect(await failure(transport.send(request(1)))).toMatchObject({ status: 307, bodyPreview: '?' });
  });

  it('can be refused altogether', async () => {
    const server = await ScriptedServer.start(redirectTo(() => '/other'));
    const { transport } = await connected(server.url, { redirect: 'error' });
    expect(await failure(transport.send(request(1)))).toMatchObject({ status: 307 });
    expect(server.received).toHaveLength(1);
  });

  it('a GET for its stream is followed with any redirect status', async () => {
    const server = await ScriptedServer.start((received, response) => {
      if (received.path === '/mcp') response.writeHead(302, { location: '/stream' }).end();
      else startEvents(response);
    });
    const { transport } = await connected(server.url);
    expect(await transport.openStream()).toBe(true);
  });
});
