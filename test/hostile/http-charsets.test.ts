import { describe, expect, it } from 'vitest';
import { connected, failure, request } from '../transport/http/connected.ts';
import { ScriptedServer } from '../transport/http/scripted-server.ts';

const result = { jsonrpc: '2.0', id: 1, result: { text: 'é世界' } };
const json = JSON.stringify(result);
const TYPES = [
  '; charset=iso-8859-1',
  ';charset="UTF-16"',
  '; charset=',
  ';;;',
  ' ; boundary=x; charset=utf-8',
];

async function serve(type: string, body: Buffer | string) {
  const server = await ScriptedServer.start(
    (_, response) => void response.setHeader('content-type', type).end(body),
  );
  return connected(server.url);
}

describe('a server that names another character set', () => {
  it.each(TYPES)('is read as UTF-8 all the same: %s', async (parameters) => {
    for (const [type, body] of [
      ['application/json', json],
      ['Text/Event-Stream', `data: ${json}\n\n`],
    ]) {
      const { transport, sink } = await serve(`${type}${parameters}`, body ?? '');
      await transport.send(request(1));
      expect(sink.messages).toEqual([result]);
    }
  });

  it('and means it fails the request rather than garble it', async () => {
    const { transport } = await serve('application/json; charset=latin1', Buffer.from(json, 'latin1'));
    expect(await failure(transport.send(request(1)))).toMatchObject({ code: 'INVALID_UTF8' });
  });
});

describe('a server that encodes a body though nobody asked', () => {
  it('is told so', async () => {
    const server = await ScriptedServer.start((_, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(Buffer.of(0x1f, 0x8b, 8));
    });
    const { transport } = await connected(server.url);
    expect(String(await failure(transport.send(request(1))))).toMatch(
      /encoding that was not asked for: gzip/,
    );
  });
});
