import { describe, expect, it } from 'vitest';
import type { JsonRpcMessage } from '../../src/jsonrpc/index.ts';
import { createLinkedPair } from '../../src/transport/index.ts';
import { RecordingSink } from './recording-sink.ts';

const note = (method: string): JsonRpcMessage => ({ jsonrpc: '2.0', method });

describe('createLinkedPair', () => {
  it('delivers in order what was sent, and never while it is sent', async () => {
    const [left, right] = createLinkedPair();
    const sink = new RecordingSink();
    await left.start(new RecordingSink());
    await right.start(sink);
    for (const method of ['one', 'two', 'three']) left.send(note(method));
    expect(sink.messages).toEqual([]);
    await sink.messageNumber(3);
    expect(sink.messages).toEqual([note('one'), note('two'), note('three')]);
  });

  it('keeps what arrives before it is started', async () => {
    const [left, right] = createLinkedPair();
    const sink = new RecordingSink();
    left.send(note('early'));
    await right.start(sink);
    expect(await sink.messageNumber(1)).toEqual(note('early'));
  });

  it('delivers what was sent before a close, then ends both ends once', async () => {
    const [left, right] = createLinkedPair('pair');
    const leftSink = new RecordingSink();
    const rightSink = new RecordingSink();
    await left.start(leftSink);
    await right.start(rightSink);
    left.send(note('last words'));
    await left.close();
    await left.close();
    expect(leftSink.closes).toEqual([undefined]);
    expect(await rightSink.closed()).toMatchObject({
      code: 'CLOSED',
      message: expect.stringContaining('pair'),
    });
    expect(rightSink.messages).toEqual([note('last words')]);
    await right.close();
    expect(rightSink.closes).toHaveLength(1);
  });

  it('delivers nothing any more to a sink that closes on a message', async () => {
    const [left, right] = createLinkedPair();
    const heard: unknown[] = [];
    await right.start({
      message: (value) => {
        heard.push(value);
        void right.close();
      },
      error: () => {},
      close: () => heard.push('closed'),
    });
    const leftSink = new RecordingSink();
    await left.start(leftSink);
    left.send(note('one'));
    left.send(note('two'));
    await leftSink.closed();
    expect(heard).toEqual([note('one'), 'closed']);
  });

  it('refuses to send on a closed end, to start twice, and to start after a close', async () => {
    const [left, right] = createLinkedPair();
    await left.start(new RecordingSink());
    await expect(left.start(new RecordingSink())).rejects.toMatchObject({ code: 'CLOSED' });
    await left.close();
    expect(() => left.send(note('late'))).toThrow(expect.objectContaining({ code: 'CLOSED' }));
    await right.close();
    await expect(right.start(new RecordingSink())).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('lets timers run while two ends talk without a pause', async () => {
    const [left, right] = createLinkedPair();
    let talking = true;
    await left.start({ message: () => talking && left.send(note('ping')), error: () => {}, close: () => {} });
    await right.start({ message: () => right.send(note('pong')), error: () => {}, close: () => {} });
    left.send(note('ping'));
    await new Promise((resolve) => setTimeout(resolve, 1));
    talking = false;
    await left.close();
  });
});
