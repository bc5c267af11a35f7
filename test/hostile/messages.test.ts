import { describe, expect, it } from 'vitest';
import type { Notification } from '../../src/protocol/index.ts';
import { startPeer, watchForLeftovers } from './start-peer.ts';

watchForLeftovers();

const sent = (text: string) => ({ content: [{ type: 'text', text }] });

describe('messages', () => {
  it('under ids that were never used settle no call, however close they are', async () => {
    const { client, codes } = await startPeer('odd-ids');
    expect(await client.callTool('echo', { text: 'first' })).toEqual(sent('first'));
    expect(await client.callTool('echo', { text: 'second' })).toEqual(sent('second'));
    expect(new Set(codes())).toEqual(new Set(['UNKNOWN_RESPONSE', 'INVALID_MESSAGE', 'RPC_ERROR']));
  });

  it('are in order before the session is: requests are answered by their ids, notifications delivered', async () => {
    const heard: Notification[] = [];
    const { client, warnings } = await startPeer('asks-before-initialized', [], {
      onNotification: (notification) => heard.push(notification),
    });
    const { content } = await client.callTool('echo');
    expect(JSON.parse((content[0] as { text: string }).text)).toEqual({
      'string ping-1': {},
      'number 0': {},
      'string ': -32601,
      'number -1': -32601,
    });
    expect(heard.map(({ method }) => method)).toEqual([
      'notifications/message',
      'notifications/tools/list_changed',
      'notifications/tools/list_changed',
    ]);
    expect(warnings).toEqual([]);
  });

  it('survive noise on stdout around every reply', async () => {
    const { client, codes } = await startPeer('noise-on-stdout');
    expect(await client.callTool('echo', { text: 'heard' })).toEqual(sent('heard'));
    expect(new Set(codes())).toEqual(new Set(['INVALID_JSON', 'INVALID_UTF8', 'INVALID_MESSAGE']));
  });

  it('may arrive byte by byte', async () => {
    const { client, warnings } = await startPeer('splits-code-points');
    expect(await client.callTool('echo', { text: 'né 🎉 \u2028' })).toEqual(sent('né 🎉 \u2028'));
    expect(warnings).toEqual([]);
  });

  it('are not held up by a megabyte of stderr before each of them', async () => {
    const { client } = await startPeer('megabyte-of-stderr', [], { stderr: 'pipe' });
    for (const text of ['a', 'b', 'c']) expect(await client.callTool('echo', { text })).toEqual(sent(text));
  });

  it('that never end cost one warning, and in the end the connection', async () => {
    const { client, codes } = await startPeer('never-ending-line', [], { maxLineBytes: 1024 * 1024 });
    await expect(client.callTool('echo')).rejects.toThrow(
      /among the last \d+ bytes it sent there was no message/,
    );
    expect(codes()).toEqual(['LINE_TOO_LONG']);
  });

  it('that are none hold up no deadline, however many there are', async () => {
    const junk = startPeer('junk-without-end', [], { probeTimeoutMs: 50, connectTimeoutMs: 100 });
    await expect(junk).rejects.toMatchObject({ code: 'CONNECT_FAILED' });
  });

  it('that are requests in the stateless dialect are not answered, with a warning each', async () => {
    const { client, codes } = await startPeer('requests-in-stateless', [], { roots: [] });
    await client.listTools();
    expect(await client.callTool('echo')).toMatchObject(sent('[]'));
    expect(codes()).toEqual(['INVALID_MESSAGE', 'INVALID_MESSAGE', 'INVALID_MESSAGE']);
  });
});
