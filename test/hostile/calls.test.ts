import { describe, expect, it } from 'vitest';
import { gone } from '../transport/running.ts';
import { startPeer, watchForLeftovers } from './start-peer.ts';

watchForLeftovers();

/** A soft error: what an agent loop sees of a server that misbehaves. */
const failed = (kind: string, code: string) => ({ isError: true, error: { kind, cause: { code } } });

describe('a call of an imported tool', () => {
  it.each([
    ['exits-mid-call', /exited with code 7[\s\S]*out of cheese/],
    ['killed-mid-call', /SIGKILL/],
    ['closes-stdout', /closed its output/],
    ['child-holds-the-pipe', /exited with code 0/],
  ])('fails softly when the server %s, and so does the next one', async (peer, message) => {
    const { imported, stderr } = await startPeer(peer);
    const { tool } = await imported();
    const output = await tool.call({});
    expect(output).toMatchObject({ isError: true, content: expect.stringMatching(message) });
    expect(output).toMatchObject(failed('execution', 'PROCESS_EXITED'));
    expect(await tool.call({})).toMatchObject(failed('execution', 'PROCESS_EXITED'));
    // The one descendant that is out of reach, as its peer says: it is for the test to end.
    const orphan = /^child (\d+)$/.exec(stderr[0] ?? '')?.[1];
    if (orphan) {
      process.kill(Number(orphan));
      await gone(Number(orphan));
    }
  });

  it('fails softly when the server stops reading', async () => {
    const { imported } = await startPeer('closes-stdin');
    const { tool } = await imported({ callTimeoutMs: 10_000 });
    await tool.call({});
    expect(await tool.call({})).toMatchObject({ isError: true, error: { kind: 'execution' } });
  });

  it('ends at the hard maximum when progress never does, and is cancelled at the server', async () => {
    const { imported, client, stderr } = await startPeer('progress-without-end');
    const { tool } = await imported({ callTimeoutMs: 1000, maxCallTimeoutMs: 1500 });
    let progress = 0;
    const output = await tool.call({}, { onProgress: () => progress++ });
    expect(output).toMatchObject(failed('timeout', 'TIMEOUT'));
    expect(progress).toBeGreaterThan(10);
    await client.ping();
    await expect.poll(() => stderr).toEqual(['cancelled']);
  });

  it('fails softly on a result of an unknown type', async () => {
    const { imported } = await startPeer('unknown-result-type');
    const { tool } = await imported();
    expect(await tool.call({})).toMatchObject({
      isError: true,
      content: expect.stringContaining('"task"'),
      error: { kind: 'execution', cause: { code: 'INVALID_RESULT' } },
    });
  });

  it('fails softly at once when the server asks and nobody can answer', async () => {
    const { imported, stderr } = await startPeer('asks-without-end');
    const { tool } = await imported();
    expect(await tool.call({})).toMatchObject(failed('execution', 'INPUT_REQUIRED'));
    await expect.poll(() => stderr).toEqual(['round 1']);
  });

  it.each([
    ['question', []],
    ['state', ['state']],
  ])('fails softly after maxRounds when the server never stops asking with a %s', async (_, args) => {
    const { imported, stderr } = await startPeer('asks-without-end', args, {
      maxRounds: 3,
      onElicit: () => ({ action: 'accept', content: {} }),
    });
    const { tool } = await imported();
    expect(await tool.call({})).toMatchObject(failed('execution', 'ROUNDS_EXCEEDED'));
    await expect.poll(() => stderr).toEqual(['round 1', 'round 2', 'round 3', 'round 4']);
  });

  it.each([
    ['content-as-text', 'INVALID_RESULT'],
    ['content-as-object', 'INVALID_RESULT'],
    ['no-result', 'INVALID_MESSAGE'],
    ['array-result', 'INVALID_MESSAGE'],
    ['text-result', 'INVALID_MESSAGE'],
    ['odd-error', 'INVALID_MESSAGE'],
    ['no-error', 'INVALID_MESSAGE'],
  ])('fails softly on what is no result: %s', async (answer, code) => {
    const { imported } = await startPeer('malformed-results');
    const { tool } = await imported();
    expect(await tool.call({ answer })).toMatchObject(failed('execution', code));
  });

  it('shows blocks that are none as notes', async () => {
    const { imported } = await startPeer('malformed-results');
    const { tool } = await imported();
    const output = await tool.call({ answer: 'odd-blocks' });
    expect(output.isError).toBeUndefined();
    expect(output.content).toHaveLength(6);
  });

  it('fails where the result says isError, and only where it says true', async () => {
    const { imported } = await startPeer('malformed-results');
    const { tool } = await imported();
    expect(await tool.call({ answer: 'is-error-without-content' })).toMatchObject({
      isError: true,
      content: 'Tool "echo" failed and gave no reason',
    });
    expect(await tool.call({ answer: 'is-error-as-text' })).toEqual({ content: [] });
  });
});

describe('closing a client', () => {
  it.each(['ignores-end-of-input', 'ignores-sigterm', 'leaves-slowly'])(
    'ends a server that %s',
    async (peer) => {
      const { client } = await startPeer(peer, [], { graceMs: 1000 });
      await client.close();
      await expect(client.listTools()).rejects.toMatchObject({ code: 'CLOSED' });
    },
  );

  it('ends what a server started, too', async () => {
    const { client, stderr } = await startPeer('leaves-grandchildren', ['plain', 'stubborn', 'detached'], {
      graceMs: 1000,
    });
    expect(stderr).toHaveLength(3);
    await client.close();
  });
});
