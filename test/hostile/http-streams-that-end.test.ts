import { describe, expect, it } from 'vitest';
import { connected, failure, request } from '../transport/http/connected.ts';
import { startRawServer } from '../transport/http/scripted-server.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n';
const result = '{"jsonrpc":"2.0","id":1,"result":{"text":"世界"}}';
const event = Buffer.from(`data: ${result}\n\n`);

async function serve(headers: string, body: Buffer | string, end: 'end' | 'reset') {
  const requests: string[] = [];
  const url = await startRawServer((text, socket) => {
    requests.push(text);
    socket.write(`${HEAD}${headers}\r\n`);
    socket.write(body, () => (end === 'end' ? socket.end() : socket.resetAndDestroy()));
  });
  return { ...(await connected(url)), requests };
}

describe('a stream that ends', () => {
  it('at any byte of the response fails the request, or delivers it whole', async () => {
    const whole = event.length - 2;
    for (const length of [0, 3, 6, 7, 30, event.indexOf('世') + 1, whole - 1, whole, whole + 1, whole + 2]) {
      const { transport, sink, requests } = await serve('', event.subarray(0, length), 'end');
      if (length < whole) {
        expect(await failure(transport.send(request(1)))).toMatchObject({ code: 'TRANSPORT_FAILED' });
        expect(sink.messages).toEqual([]);
      } else {
        await transport.send(request(1));
        expect(sink.messages).toEqual([JSON.parse(result)]);
      }
      expect(requests).toHaveLength(1);
    }
  });

  it.each(['end', 'reset'] as const)('inside a chunk, by %s, fails the request', async (end) => {
    const { transport, requests } = await serve(
      'transfer-encoding: chunked\r\n',
      'ff\r\ndata: {"jsonrpc"',
      end,
    );
    expect(await failure(transport.send(request(1)))).toMatchObject({ code: 'TRANSPORT_FAILED' });
    expect(requests).toHaveLength(1);
  });

  it('before its announced length, behind a whole response, does not harm the response', async () => {
    const { transport, sink } = await serve('content-length: 1000\r\n', event, 'end');
    await transport.send(request(1));
    expect(sink.messages).toEqual([JSON.parse(result)]);
  });

  it('with more behind the response than it may does not harm the response', async () => {
    const { transport, sink } = await serve(
      '',
      Buffer.concat([event, event, Buffer.from('data: {"jso')]),
      'end',
    );
    await transport.send(request(1));
    expect(sink.messages[0]).toEqual(JSON.parse(result));
  });
});
