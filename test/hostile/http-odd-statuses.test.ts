import { describe, expect, it } from 'vitest';
import { HttpError } from '../../src/transport/index.ts';
import { connected, failure, notification, request } from '../transport/http/connected.ts';
import { resultFor, ScriptedServer, sendJson, startRawServer } from '../transport/http/scripted-server.ts';

const STATUSES = [
  201, 203, 205, 206, 299, 300, 304, 305, 399, 400, 402, 405, 406, 408, 409, 410, 413, 415, 418, 421, 425,
  429, 451, 499, 500, 501, 503, 504, 511, 599, 600, 999,
];

describe('a server with odd statuses', () => {
  it('fails each request with the status, and harms no later one', async () => {
    const server = await ScriptedServer.start((received, response) => {
      const status = Number(received.headers['x-status']);
      if (status === 0) sendJson(response, resultFor(received));
      else response.writeHead(status).end();
    });
    const { transport, sink } = await connected(server.url);
    for (const [id, status] of STATUSES.entries()) {
      const error = await failure(transport.send(request(id), { headers: { 'x-status': String(status) } }));
      expect(error).toBeInstanceOf(HttpError);
      expect(error).toMatchObject({ status });
    }
    await transport.send(request('last'), { headers: { 'x-status': '0' } });
    expect(sink.messages).toEqual([{ jsonrpc: '2.0', id: 'last', result: {} }]);
    expect(sink.errors).toEqual([]);
  });

  it('is taken at its word about notifications: 2xx is yes, anything else is no', async () => {
    const server = await ScriptedServer.start((received, response) => {
      response.writeHead(Number(received.headers['x-status'])).end();
    });
    const { transport } = await connected(server.url);
    for (const status of STATUSES) {
      const sent = transport.send(notification, { headers: { 'x-status': String(status) } });
      if (status < 300) await sent;
      else expect(await failure(sent)).toMatchObject({ status });
    }
  });

  it('may send interim replies first', async () => {
    const body = '{"jsonrpc":"2.0","id":1,"result":{}}';
    const url = await startRawServer((_, socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n');
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    });
    const { transport, sink } = await connected(url);
    await transport.send(request(1));
    expect(sink.messages).toHaveLength(1);
  });

  it.each([100, 101])('that answers with nothing but %i is reported', async (status) => {
    const url = await startRawServer((_, socket) => {
      socket.write(
        `HTTP/1.1 ${status} X\r\n${status === 101 ? 'connection: upgrade\r\nupgrade: x\r\n' : ''}\r\n`,
      );
    });
    const { transport } = await connected(url);
    expect(await failure(transport.send(request(1)))).toMatchObject({ code: 'TRANSPORT_FAILED' });
  });
});
