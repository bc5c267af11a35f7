import { describe, expect, it } from 'vitest';
import { connected, request } from '../transport/http/connected.ts';
import { ScriptedServer, startEvents } from '../transport/http/scripted-server.ts';

const note = '{"jsonrpc":"2.0","method":"n"}';
const result = '{"jsonrpc":"2.0","id":1,"result":{"text":"é"}}';
const LINES = ['\ufeff: hello', '', 'event: message', 'id: 1', `data: ${note}`, '', `data:${result}`, '', ''];

const ENDINGS: [string, (line: number) => string][] = [
  ['LF', () => '\n'],
  ['CR', () => '\r'],
  ['CRLF', () => '\r\n'],
  ['all three in turn', (line) => ['\n', '\r', '\r\n'][line % 3] ?? ''],
  // Not LF behind CR: together they are one line end.
  ['CRLF and CR in turn', (line) => ['\r\n', '\r'][line % 2] ?? ''],
];

describe('a server that ends its lines with', () => {
  it.each(ENDINGS)('%s is understood, whole and byte by byte', async (_, ending) => {
    const bytes = Buffer.from(LINES.map((line, index) => line + ending(index)).join(''));
    const server = await ScriptedServer.start(async (__, response) => {
      startEvents(response);
      if (server.received.length === 1) {
        response.end(bytes);
        return;
      }
      for (const byte of bytes) await new Promise((resolve) => response.write(Buffer.of(byte), resolve));
      response.end();
    });
    const { transport, sink } = await connected(server.url);
    const both = [JSON.parse(note), JSON.parse(result)];
    await transport.send(request(1));
    expect(sink.messages).toEqual(both);
    await transport.send(request(1));
    expect(sink.messages).toEqual([...both, ...both]);
    expect(sink.errors).toEqual([]);
  });
});
