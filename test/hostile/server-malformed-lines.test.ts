import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { call, HostileClient, refused } from './hostile-client.ts';

describe('a server whose client sends what is no message', () => {
  it('answers each bad line once, without an id where none can be read, and goes on', async () => {
    const client = new HostileClient();
    const lines: [string | Uint8Array, object][] = [
      ['{\n', refused(-32700)],
      ['hello\n', refused(-32700)],
      ['{"jsonrpc":"2.0","id":1,"method":"ping"}}\n', refused(-32700)],
      ['{"jsonrpc":"2.0","id":1 "method":"ping"}\n', refused(-32700)],
      [Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]), refused(-32700)],
      ['NaN\n', refused(-32700)],
      ['null\n', refused(-32600)],
      ['"text"\n', refused(-32600)],
      ['5\n', refused(-32600)],
      ['[]\n', refused(-32600)],
      ['{}\n', refused(-32600)],
      ['{"jsonrpc":"2.0"}\n', refused(-32600)],
      ['{"jsonrpc":"1.0","id":1,"method":"ping"}\n', { id: 1, error: { code: -32600 } }],
      ['{"id":"a","method":"ping"}\n', { id: 'a', error: { code: -32600 } }],
      ['{"jsonrpc":"2.0","id":2}\n', { id: 2, error: { code: -32600 } }],
      ['{"jsonrpc":"2.0","id":3,"method":null}\n', { id: 3, error: { code: -32600 } }],
      ['{"jsonrpc":"2.0","id":4,"method":"ping","params":[]}\n', { id: 4, error: { code: -32600 } }],
      ['{"jsonrpc":"2.0","id":5,"method":"ping","params":null}\n', { id: 5, error: { code: -32600 } }],
      ['{"jsonrpc":"2.0","id":6,"method":"ping","result":{}}\n', { id: 6, error: { code: -32600 } }],
    ];
    for (const [line, answer] of lines) {
      client.write(line);
      await client.stillServes(answer);
    }
  });

  it('answers nothing to blank lines, notifications and responses, good or bad', async () => {
    const client = new HostileClient();
    const lines = [
      '\n\n   \n\r\n\t\n',
      '{"jsonrpc":"2.0","method":"notifications/unknown"}\n',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}\n',
      '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"linger"}}\n',
      '{"jsonrpc":"2.0","id":1,"result":{}}\n',
      '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}\n',
      '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}\n',
      '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}\n',
    ];
    for (const line of lines) {
      client.write(line);
      await client.stillServes();
    }
  });

  it('reads messages however they are cut and whatever ends their lines', async () => {
    const client = new HostileClient();
    const text = `${JSON.stringify(call(1, 'echo', { text: 'ünï🙂' }))}\r\n${JSON.stringify(call(2, 'echo', { text: 'b' }))}\n`;
    for (const byte of Buffer.from(text)) client.write(Buffer.of(byte));
    expect(await client.next()).toMatchObject({ id: 1, result: { content: [{ text: 'ünï🙂' }] } });
    expect(await client.next()).toMatchObject({ id: 2, result: { content: [{ text: 'b' }] } });
  });

  it.each([
    ['before its long value', '{"jsonrpc":"2.0","id":1,"method":"', '"}\n'],
    ['behind it', '{"method":"ping","params":{"text":"', '"},"jsonrpc":"2.0","id":1}\n'],
  ])('refuses a request that is too long under its id, which stands %s', async (_where, begin, end) => {
    const client = new HostileClient();
    const piece = 'x'.repeat(1024 * 1024);
    client.write(begin);
    for (let written = 0; written < 65; written++) client.write(piece);
    client.write(end);
    await client.stillServes({
      id: 1,
      error: { code: -32600, message: expect.stringMatching(/maxLineBytes/) },
    });
  });

  it('refuses a line that is too long without an id where none can be told, and reads the next one', async () => {
    const client = new HostileClient();
    const piece = 'x'.repeat(1024 * 1024);
    client.write('{"jsonrpc":"2.0","method":"');
    for (let written = 0; written < 65; written++) client.write(piece);
    client.write('"}\n');
    await client.stillServes(refused(-32700));
  });

  it('tells of very many bad lines in a row only how many there were', async () => {
    const client = new HostileClient();
    client.write('{}\n'.repeat(1000));
    for (let told = 0; told < 32; told++) expect(await client.next()).toMatchObject(refused(-32600));
    client.write(JSON.stringify(call('known', 'echo', { text: 'x' })), '\n', 'y\n'.repeat(1000));
    expect(await client.next()).toMatchObject({ id: 'known' });
    for (let told = 0; told < 32; told++) expect(await client.next()).toMatchObject(refused(-32700));
    const counted = { code: -32700, message: expect.stringMatching(/^Cannot read \d+ more lines in a row/) };
    expect(await client.next()).toMatchObject({ error: counted });
  });
});
