import { describe, expect, it } from 'vitest';
import { connected, failure, request } from '../transport/http/connected.ts';
import { startRawServer } from '../transport/http/scripted-server.ts';

const JSON_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

describe('a server that does not speak HTTP', () => {
  it.each([
    ['noise', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['nothing', ''],
    ['zeroes', '\0\0\0\0'],
    ['half a head', 'HTTP/1.1 200 OK\r\ncontent-'],
    ['two lengths', `${JSON_HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`],
    ['a negative length', `${JSON_HEAD}content-length: -1\r\n\r\n{}`],
    ['a broken chunk', `${JSON_HEAD}transfer-encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n`],
    ['less than it announced', `${JSON_HEAD}content-length: 50\r\n\r\n{}`],
  ])('but sends %s fails the request', async (_, bytes) => {
    const url = await startRawServer((__, socket) => void socket.end(bytes));
    const { transport, sink } = await connected(url);
    expect(await failure(transport.send(request(1)))).toMatchObject({ code: 'TRANSPORT_FAILED' });
    expect(sink.messages).toEqual([]);
  });

  it('but sends a second reply that nobody asked for harms no later request', async () => {
    const body = (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{"by":"server"}}`;
    const reply = (id: number) => `${JSON_HEAD}content-length: ${body(id).length}\r\n\r\n${body(id)}`;
    const url = await startRawServer((text, socket) => {
      const id = Number(/"id":(\d+)/.exec(text)?.[1]);
      socket.write(reply(id) + reply(id + 1).replace('server', 'forger'));
    });
    const { transport, sink } = await connected(url);
    await transport.send(request(1));
    await transport.send(request(2));
    expect(JSON.stringify(sink.messages)).not.toContain('forger');
    expect(sink.messages).toHaveLength(2);
  });
});
