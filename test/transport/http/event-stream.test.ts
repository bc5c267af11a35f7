import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { McpError } from '../../../src/jsonrpc/index.ts';
import { type EventSink, ServerEventStream } from '../../../src/transport/http/event-stream.ts';

class Sink implements EventSink {
  written: string[] = [];
  bufferedBytes = 0;
  hasRoom = true;
  state = 'open';

  write(text: string): boolean {
    this.written.push(text);
    return this.hasRoom;
  }

  end(): void {
    this.state = 'ended';
  }

  destroy(): void {
    this.state = 'destroyed';
  }
}

let sink: Sink;
let log: string[];

function open(keepAliveMs = 15_000, maxBufferedBytes = 1000): ServerEventStream {
  sink = new Sink();
  log = [];
  const limits = { keepAliveMs, maxBufferedBytes, stallMs: keepAliveMs * 4 };
  const stream = new ServerEventStream(limits, {
    streamEnded: () => log.push('end'),
    streamCutOff: (why) => log.push(why),
  });
  stream.open(sink);
  return stream;
}

describe('an event stream', () => {
  it('sends a message as the data of one event', () => {
    const stream = open();
    expect(stream.send({ jsonrpc: '2.0', method: 'a\nb' })).toBeUndefined();
    stream.send({ n: 1 }, { id: 'x-1' });
    expect(sink.written).toEqual([
      'data: {"jsonrpc":"2.0","method":"a\\nb"}\n\n',
      'id: x-1\ndata: {"n":1}\n\n',
    ]);
  });

  it('sends events that only name an id and a retry time', () => {
    open().event({ id: 'x-0', retry: 500, data: '' });
    expect(sink.written).toEqual(['id: x-0\nretry: 500\ndata: \n\n']);
  });

  it('keeps every line of a comment a comment', () => {
    open().comment('a\r\ndata: b\rc\nd');
    expect(sink.written).toEqual([':a\n:data: b\n:c\n:d\n\n']);
  });

  it('refuses a message that is no JSON and an id that would break the event', () => {
    const stream = open();
    expect(() => stream.send({ n: 1n })).toThrow(TypeError);
    expect(() => stream.send({}, { id: 'a\ndata: b' })).toThrow(TypeError);
    expect(sink.written).toEqual([]);
    expect(stream.closed).toBe(false);
  });

  it('makes the sender wait while the reader is behind, and all senders for the same drain', async () => {
    const stream = open();
    sink.hasRoom = false;
    const first = stream.send({});
    const second = stream.send({});
    expect(first).toBeInstanceOf(Promise);
    expect(second).toBe(first);
    stream.drained();
    await first;
    sink.hasRoom = true;
    expect(stream.send({})).toBeUndefined();
  });

  it('lets a waiting sender go when it closes', async () => {
    const stream = open();
    sink.hasRoom = false;
    const wait = stream.send({});
    stream.leave();
    await wait;
    expect(stream.closed).toBe(true);
  });

  it('ends once, and then refuses to send', () => {
    const stream = open();
    stream.end();
    stream.end();
    expect(sink.state).toBe('ended');
    expect(log).toEqual(['end']);
    expect(stream.closed).toBe(true);
    expect(() => stream.send({})).toThrow(expect.objectContaining({ code: 'CLOSED' }));
    expect(() => stream.comment()).toThrow(McpError);
  });

  it('lets one event of any size pass, and cuts a reader off that leaves too much unread', () => {
    const stream = open();
    stream.send({ text: 'x'.repeat(5000) });
    sink.bufferedBytes = 1000;
    stream.send({});
    sink.bufferedBytes = 1001;
    expect(() => stream.send({})).toThrow(expect.objectContaining({ code: 'CLOSED' }));
    expect(sink.state).toBe('destroyed');
    expect(log).toEqual(['its reader left 1001 bytes unread; raise maxBufferedBytes to allow that']);
    expect(stream.closed).toBe(true);
  });

  it('cuts a reader off that stalls', () => {
    const stream = open();
    stream.stalled();
    stream.stalled();
    expect(sink.state).toBe('destroyed');
    expect(log).toEqual(['its reader took nothing for 60000 ms']);
  });
});

describe('keep-alive comments', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('come in every period while the stream is open', () => {
    const stream = open(15_000);
    vi.advanceTimersByTime(14_999);
    expect(sink.written).toEqual([]);
    vi.advanceTimersByTime(30_001);
    expect(sink.written).toEqual([':\n\n', ':\n\n', ':\n\n']);
    stream.end();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('do not pile up before a reader that is behind', () => {
    const stream = open(15_000);
    sink.hasRoom = false;
    vi.advanceTimersByTime(60_000);
    expect(sink.written).toEqual([':\n\n']);
    sink.hasRoom = true;
    stream.drained();
    vi.advanceTimersByTime(15_000);
    expect(sink.written).toHaveLength(2);
  });

  it('stop when the client leaves and when the reader is cut off', () => {
    open().leave();
    open().destroy();
    open().stalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('can be turned off', () => {
    open(Number.POSITIVE_INFINITY);
    expect(vi.getTimerCount()).toBe(0);
  });
});
