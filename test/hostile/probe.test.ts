import { describe, expect, it } from 'vitest';
import { startPeer, watchForLeftovers } from './start-peer.ts';

watchForLeftovers();

describe('a server that is probed', () => {
  it('and keeps silent gets initialize in the same process, and nothing about a cancellation', async () => {
    const { client, stderr } = await startPeer('silent-on-probe', [], { probeTimeoutMs: 300 });
    expect(client.dialect).toBe('session');
    expect(await client.listTools()).toHaveLength(1);
    // Two pipes: the answer may be read before the line that was written ahead of it.
    await client.close();
    expect(stderr).toEqual([
      'got server/discover',
      'got initialize',
      'got notifications/initialized',
      'got tools/list',
    ]);
  });

  it('and answers when a session is open already stays with the session', async () => {
    const { client, warnings } = await startPeer('answers-probe-late', [], { probeTimeoutMs: 300 });
    expect(client.dialect).toBe('session');
    expect(await client.listTools()).toHaveLength(1);
    expect(client.dialect).toBe('session');
    expect(warnings).toEqual([]);
  });

  it('and exits is started once more, and gets initialize first', async () => {
    const { client, stderr } = await startPeer('exits-on-probe');
    expect(client.dialect).toBe('session');
    expect(await client.callTool('echo', { text: 'alive' })).toMatchObject({ content: [{ text: 'alive' }] });
    expect(stderr).toEqual(['expected initialize']);
  });

  it('and answers, but exits then, is started once more', async () => {
    const { client } = await startPeer('refuses-probe-and-exits');
    expect(await client.callTool('echo', { text: 'alive' })).toMatchObject({ content: [{ text: 'alive' }] });
  });

  it('and exits on initialize as well is given up, with both ends in the error', async () => {
    await expect(startPeer('exits-on-everything')).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringMatching(
        /server\/discover: .*code 1[\s\S]*no discovery here[\s\S]*; initialize: .*code 2[\s\S]*no initialize either/,
      ),
    });
  });

  it('and exits before it reads anything is given up, with its last words in the error', async () => {
    await expect(startPeer('exits-at-once')).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringContaining('cannot open the database'),
    });
  });

  it('is not probed, and not started twice, when the session dialect is asked for', async () => {
    const { stderr } = await startPeer('exits-on-probe', [], { dialect: 'session' });
    expect(stderr).toEqual([]);
  });

  it('is not started twice when the stateless dialect is asked for', async () => {
    await expect(startPeer('exits-on-probe', [], { dialect: 'stateless' })).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.not.stringContaining('initialize:'),
    });
  });

  it.each([
    'code-as-id',
    'string-id',
    'null-id',
    'no-id',
    'no-jsonrpc',
    'code-zero',
    'code-as-string',
    'no-message',
    'error-as-string',
    'result-and-error',
    'null-result',
    'empty-result',
    'tool-result',
    'batch',
  ])('and gives an odd answer (%s) is spoken to in the session dialect', async (answer) => {
    const { client } = await startPeer('odd-probe-answer', [answer], { probeTimeoutMs: 500 });
    expect(client.dialect).toBe('session');
    expect(await client.callTool('echo', { text: answer })).toMatchObject({ content: [{ text: answer }] });
  });
});
