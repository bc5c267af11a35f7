import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { listenSocket, type SocketListener } from '../../src/transport/index.ts';
import { RecordingSink } from '../transport/recording-sink.ts';

let listener: SocketListener;
afterEach(() => listener.close());

/** Listens on a free port; the promise is that of the first client's sink. */
async function listen() {
  const sink = new RecordingSink();
  listener = await listenSocket({ port: 0, maxLineBytes: 1000 }, (transport) => transport.start(sink));
  return { sink, port: listener.target.port as number };
}

const MESSAGE = '{"jsonrpc":"2.0","method":"tools/call","id":1}';

describe('a client of a socket whose first line is no message is cut off', () => {
  it('so that the body of an HTTP request, which any web page can send, is never read', async () => {
    const { sink, port } = await listen();
    const http = request({ port, host: '127.0.0.1', method: 'POST' });
    const [[error]] = await Promise.all([once(http, 'error'), http.end(`\n${MESSAGE}\n${MESSAGE}\n`)]);
    expect(error).toBeInstanceOf(Error);
    const reason = await sink.closed();
    expect(reason).toMatchObject({
      code: 'TRANSPORT_FAILED',
      message: expect.stringMatching(/its first line is no message: .*POST \/ HTTP/),
    });
    expect(sink.messages).toEqual([]);
  });

  it('even where the line and the messages behind it come in one piece', async () => {
    const { sink, port } = await listen();
    const socket = connect(port, '127.0.0.1');
    socket.end(`GET / HTTP/1.1\r\n\r\n${MESSAGE}\n`);
    await sink.closed();
    expect(sink.messages).toEqual([]);
    expect(sink.errors).toEqual([]);
    socket.destroy();
  });

  it('and so is one whose first line does not end', async () => {
    const { sink, port } = await listen();
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {}); // It is cut off while it writes.
    socket.write('x'.repeat(2000));
    expect((await sink.closed())?.message).toMatch(/exceeds 1000 bytes/);
    socket.destroy();
  });

  it('but one that showed that it speaks JSON may err later', async () => {
    const { sink, port } = await listen();
    const socket = connect(port, '127.0.0.1');
    socket.write(`${MESSAGE}\nnonsense\n${MESSAGE}\n`);
    await sink.messageNumber(2);
    expect(sink.errors.map((error) => error.code)).toEqual(['INVALID_JSON']);
    expect(sink.closes).toEqual([]);
    socket.destroy();
  });
});
