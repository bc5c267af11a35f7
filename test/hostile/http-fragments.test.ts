import { describe, expect, it } from 'vitest';
import { connected, request } from '../transport/http/connected.ts';
import { startRawServer } from '../transport/http/scripted-server.ts';

const result = '{"jsonrpc":"2.0","id":1,"result":{"text":"世界🌍"}}';
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const REPLIES: [string, string][] = [
  [
    'JSON',
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(result)}\r\n\r\n${result}`,
  ],
  [
    'JSON in chunks',
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${[...result].map(chunk).join('')}0\r\n\r\n`,
  ],
  [
    'an event stream in chunks',
    `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${[...`data: ${result}\r\n\r\n`].map(chunk).join('')}0\r\n\r\n`,
  ],
];

describe('a server that sends every byte by itself', () => {
  it.each(REPLIES)('is understood: %s', async (_, reply) => {
    const url = await startRawServer(async (__, socket) => {
      socket.setNoDelay(true);
      for (const byte of Buffer.from(reply)) {
        await new Promise((written) => socket.write(Buffer.of(byte), written));
        await new Promise(setImmediate);
      }
    });
    const { transport, sink } = await connected(url);
    await transport.send(request(1));
    expect(sink.messages).toEqual([JSON.parse(result)]);
    expect(sink.errors).toEqual([]);
  });
});
