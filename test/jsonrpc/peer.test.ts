import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type AbandonedCall,
  encodeLine,
  type InboundRequest,
  type JsonObject,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
  McpError,
  Peer,
  type PeerOptions,
  RpcError,
  TimeoutError,
} from '../../src/jsonrpc/index.ts';

interface Wire {
  peer: Peer;
  /** What left, as it is on the wire. */
  sent: string[];
  errors: McpError[];
  abandoned: AbandonedCall[];
  /** Hands one line from the other side to the peer. */
  receive(json: string): void;
}

function wire(options: Partial<PeerOptions> = {}): Wire {
  const sent: string[] = [];
  const errors: McpError[] = [];
  const abandoned: AbandonedCall[] = [];
  const peer = new Peer({
    name: 'files',
    send: (message) => void sent.push(encodeLine(message).trimEnd()),
    onAbandon: (call) => void abandoned.push(call),
    onError: (error) => void errors.push(error),
    ...options,
  });
  return { peer, sent, errors, abandoned, receive: (json) => peer.receive(JSON.parse(json)) };
}

/** What a promise came to, for calls that must have settled by now. */
async function outcome(promise: Promise<unknown>): Promise<unknown> {
  const pending = Symbol('pending');
  const winner = await Promise.race([
    promise.catch((error: unknown) => error),
    new Promise((resolve) => setImmediate(() => resolve(pending))),
  ]);
  expect(winner, 'still pending').not.toBe(pending);
  return winner;
}

function codes(errors: readonly McpError[]): string[] {
  return errors.map(({ code }) => code);
}

/** A promise and the functions that settle it. */
function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

describe('a call', () => {
  it('is a request, and resolves with the result of the response with its id', async () => {
    const { peer, sent, receive, errors } = wire();
    const result = peer.call('tools/list', { cursor: '' });
    expect(sent).toStrictEqual(['{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}']);
    receive('{"jsonrpc":"2.0","id":1,"result":{"tools":[],"extra":1},"more":2}');
    expect(await outcome(result)).toStrictEqual({ tools: [], extra: 1 });
    expect(peer.pendingCalls).toBe(0);
    expect(errors).toStrictEqual([]);
  });

  it('has no params member where it has no params', () => {
    const { peer, sent } = wire();
    peer.call('ping', undefined).catch(() => {});
    expect(sent).toStrictEqual(['{"jsonrpc":"2.0","id":1,"method":"ping"}']);
    peer.close();
  });

  it('rejects with the error of the peer, its number and its data', async () => {
    const { peer, receive } = wire();
    const result = peer.call('m', undefined);
    receive('{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool","data":[0]}}');
    const error = await outcome(result);
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ code: 'RPC_ERROR', rpcCode: -32602, message: 'Unknown tool', data: [0] });
    expect(peer.pendingCalls).toBe(0);
  });

  it('is matched by its id, whatever the order of the answers', async () => {
    const { peer, receive } = wire();
    const results = [1, 2, 3].map(() => peer.call('m', undefined));
    for (const id of [3, 1, 2]) receive(`{"jsonrpc":"2.0","id":${id},"result":{"of":${id}}}`);
    expect(await outcome(Promise.all(results))).toStrictEqual([{ of: 1 }, { of: 2 }, { of: 3 }]);
  });

  it('is not matched by an id of another type', async () => {
    const { peer, receive, errors } = wire();
    const number = peer.call('m', undefined);
    const text = peer.call('m', undefined, { id: '1' });
    receive('{"jsonrpc":"2.0","id":"1","result":{"of":"text"}}');
    expect(await outcome(text)).toStrictEqual({ of: 'text' });
    expect(peer.pendingCalls).toBe(1);
    receive('{"jsonrpc":"2.0","id":"1","result":{}}');
    expect(codes(errors)).toStrictEqual(['UNKNOWN_RESPONSE']);
    receive('{"jsonrpc":"2.0","id":1,"result":{"of":"number"}}');
    expect(await outcome(number)).toStrictEqual({ of: 'number' });
  });

  it.each([0, ''])('may have the id %j', async (id) => {
    const { peer, receive } = wire();
    const result = peer.call('m', undefined, { id });
    receive(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{}}`);
    expect(await outcome(result)).toStrictEqual({});
  });

  it('takes a reserved id, which no later call gets', () => {
    const { peer, sent } = wire();
    const id = peer.nextId();
    peer.call('a', undefined).catch(() => {});
    peer.call('b', undefined, { id }).catch(() => {});
    expect(sent.map((json) => JSON.parse(json).id)).toStrictEqual([2, 1]);
    peer.close();
  });

  it('refuses an id that a pending call has, and leaves that call alone', async () => {
    const { peer, receive, sent } = wire();
    const first = peer.call('m', undefined, { id: 'x' });
    expect(() => peer.call('m', undefined, { id: 'x' })).toThrow(TypeError);
    expect(sent).toHaveLength(1);
    receive('{"jsonrpc":"2.0","id":"x","result":{}}');
    expect(await outcome(first)).toStrictEqual({});
  });

  it('hands the channel its headers', () => {
    const send = vi.fn();
    const { peer } = wire({ send });
    peer.call('m', undefined, { headers: { 'mcp-name': 'x' } }).catch(() => {});
    expect(send.mock.calls[0]?.[1]).toMatchObject({ headers: { 'mcp-name': 'x' } });
    peer.close();
  });

  it.each([
    { timeoutMs: 0 },
    { timeoutMs: -1 },
    { timeoutMs: Number.NaN },
    { maxTimeoutMs: 0 },
    { maxTimeoutMs: Number.NaN },
  ])('refuses %j at once', (options) => {
    const { peer, sent } = wire();
    expect(() => peer.call('m', undefined, options)).toThrow(TypeError);
    expect(sent).toStrictEqual([]);
    expect(peer.pendingCalls).toBe(0);
  });

  it('rejects when the channel refuses the request', async () => {
    const refusal = new McpError('TRANSPORT_FAILED', 'no');
    const thrown = wire({
      send: () => {
        throw refusal;
      },
    });
    expect(await outcome(thrown.peer.call('m', undefined))).toBe(refusal);
    const rejected = wire({ send: () => Promise.reject(refusal) });
    expect(await outcome(rejected.peer.call('m', undefined))).toBe(refusal);
    expect(thrown.peer.pendingCalls + rejected.peer.pendingCalls).toBe(0);
    expect([...thrown.errors, ...rejected.errors]).toStrictEqual([]);
  });

  it('rejects with a TypeError when its params are no JSON', async () => {
    const { peer } = wire();
    expect(await outcome(peer.call('m', { big: 1n }))).toBeInstanceOf(TypeError);
    expect(peer.pendingCalls).toBe(0);
  });

  it('keeps its answer when the channel fails afterwards', async () => {
    const flush = deferred<void>();
    const { peer, receive, errors } = wire({ send: () => flush.promise });
    const result = peer.call('m', undefined);
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    flush.reject(new Error('broken pipe'));
    expect(await outcome(result)).toStrictEqual({});
    expect(errors).toStrictEqual([]);
  });

  it('can be failed alone', async () => {
    const { peer, receive } = wire();
    const [broken, alive] = [peer.call('a', undefined), peer.call('b', undefined)];
    const reason = new Error('stream cut');
    peer.fail(1, reason);
    peer.fail(1, new Error('again'));
    peer.fail('unknown', new Error('none'));
    receive('{"jsonrpc":"2.0","id":2,"result":{}}');
    expect(await outcome(broken)).toBe(reason);
    expect(await outcome(alive)).toStrictEqual({});
  });
});

describe('a malformed answer', () => {
  it.each([
    ['a result that is null', '{"jsonrpc":"2.0","id":1,"result":null}'],
    ['result and error at once', '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}'],
    ['an error that is a string', '{"jsonrpc":"2.0","id":1,"error":"no"}'],
    ['neither result nor error', '{"jsonrpc":"2.0","id":1}'],
    ['no version', '{"id":1,"result":{}}'],
  ])('with %s rejects its call at once', async (_name, json) => {
    const { peer, receive, errors } = wire();
    const result = peer.call('m', undefined);
    receive(json);
    expect(await outcome(result)).toMatchObject({ code: 'INVALID_MESSAGE' });
    expect(peer.pendingCalls).toBe(0);
    expect(errors).toStrictEqual([]);
  });

  it('to no call of ours is reported, and never handed on to be answered', () => {
    const onInvalid = vi.fn();
    const { receive, errors, sent } = wire({ onInvalid });
    receive('{"jsonrpc":"2.0","id":9,"result":"text"}');
    receive('{"jsonrpc":"2.0","error":{"code":"x"}}');
    expect(codes(errors)).toStrictEqual(['INVALID_MESSAGE', 'INVALID_MESSAGE']);
    expect(onInvalid).not.toHaveBeenCalled();
    expect(sent).toStrictEqual([]);
  });

  it('that is late is dropped quietly', async () => {
    const { peer, receive, errors } = wire();
    const result = peer.call('m', undefined, { signal: AbortSignal.abort() });
    expect(await outcome(result)).toMatchObject({ code: 'ABORTED' });
    const controller = new AbortController();
    const second = peer.call('m', undefined, { signal: controller.signal });
    controller.abort();
    expect(await outcome(second)).toMatchObject({ code: 'ABORTED' });
    receive('{"jsonrpc":"2.0","id":1,"result":null}');
    expect(errors).toStrictEqual([]);
  });

  it('does not settle a call that a request with the same id only resembles', async () => {
    const { peer, receive, errors } = wire();
    const result = peer.call('m', undefined);
    receive('{"jsonrpc":"2.0","id":1,"method":"x","params":[]}');
    expect(codes(errors)).toStrictEqual(['INVALID_MESSAGE']);
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    expect(await outcome(result)).toStrictEqual({});
  });
});

describe('an answer that nobody waits for', () => {
  it('goes to the error hook', () => {
    const { receive, errors } = wire();
    receive('{"jsonrpc":"2.0","id":7,"result":{}}');
    receive('{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}');
    expect(codes(errors)).toStrictEqual(['UNKNOWN_RESPONSE', 'UNKNOWN_RESPONSE']);
    expect(errors[0]?.message).toBe('"files" answered a request that is not pending: id 7');
  });

  it('is quoted in brief, however long its id', () => {
    const { peer, errors } = wire();
    peer.receive({ jsonrpc: '2.0', id: 'x'.repeat(100_000), result: {} });
    expect(errors[0]?.message.length).toBeLessThan(250);
  });

  it('goes to the error hook when it is the second one', async () => {
    const { peer, receive, errors } = wire();
    const result = peer.call('m', undefined);
    receive('{"jsonrpc":"2.0","id":1,"result":{"first":true}}');
    receive('{"jsonrpc":"2.0","id":1,"result":{"first":false}}');
    expect(await outcome(result)).toStrictEqual({ first: true });
    expect(codes(errors)).toStrictEqual(['UNKNOWN_RESPONSE']);
  });

  it.each(['', '"id":null,'])('and names no request (%j) is reported as the error it is', (id) => {
    const { receive, errors } = wire();
    receive(`{"jsonrpc":"2.0",${id}"error":{"code":-32700,"message":"Parse error","data":"d"}}`);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ code: 'RPC_ERROR', rpcCode: -32700, data: 'd' });
    expect(errors[0]?.message).toBe('"files" could not read a message: Parse error');
  });
});

describe('a deadline', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Follows a promise from the start, so that none of its rejections is unhandled while time passes. */
  function follow(promise: Promise<unknown>): { end: unknown } {
    const followed: { end: unknown } = { end: 'pending' };
    promise.then(
      (result) => {
        followed.end = result;
      },
      (error: unknown) => {
        followed.end = error;
      },
    );
    return followed;
  }

  /** What a followed promise came to, once the microtasks have run. */
  async function settled(followed: { end: unknown }): Promise<unknown> {
    await vi.advanceTimersByTimeAsync(0);
    return followed.end;
  }

  it('is 60 s unless the caller says otherwise', async () => {
    const { peer, abandoned } = wire();
    const result = follow(peer.call('slow', undefined));
    await vi.advanceTimersByTimeAsync(59_990);
    expect(await settled(result)).toBe('pending');
    await vi.advanceTimersByTimeAsync(20);
    const error = await settled(result);
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({
      code: 'TIMEOUT',
      timeoutMs: 60_000,
      message: '"files" did not answer "slow" within 60000 ms',
    });
    expect(abandoned).toStrictEqual([{ id: 1, method: 'slow', reason: error }]);
    expect(peer.pendingCalls).toBe(0);
  });

  it('holds for each call by itself', async () => {
    const { peer, abandoned, receive } = wire();
    const budgets = [300, 100, 200, 50_000, Number.POSITIVE_INFINITY];
    const calls = budgets.map((timeoutMs) => follow(peer.call('m', undefined, { timeoutMs })));
    await vi.advanceTimersByTimeAsync(110);
    expect(abandoned.map(({ id }) => id)).toStrictEqual([2]);
    await vi.advanceTimersByTimeAsync(100);
    expect(abandoned.map(({ id }) => id)).toStrictEqual([2, 3]);
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(abandoned.map(({ id }) => id)).toStrictEqual([2, 3, 4]);
    receive('{"jsonrpc":"2.0","id":5,"result":{}}');
    const ends = await Promise.all(calls.map(settled));
    expect(ends.map((end) => (end instanceof TimeoutError ? end.timeoutMs : end))).toStrictEqual([
      {},
      100,
      200,
      50_000,
      {},
    ]);
  });

  it('may be longer than any timer, or never', async () => {
    const { peer } = wire();
    const days = 24 * 60 * 60 * 1000;
    const long = follow(peer.call('m', undefined, { timeoutMs: 30 * days }));
    const unbounded = { timeoutMs: Number.POSITIVE_INFINITY, maxTimeoutMs: Number.POSITIVE_INFINITY };
    const never = follow(peer.call('m', undefined, unbounded));
    await vi.advanceTimersByTimeAsync(29 * days);
    expect(await settled(long)).toBe('pending');
    await vi.advanceTimersByTimeAsync(2 * days);
    expect(await settled(long)).toBeInstanceOf(TimeoutError);
    expect(await settled(never)).toBe('pending');
    peer.close();
    expect(await settled(never)).toMatchObject({ code: 'CLOSED' });
  });

  it('does not move with progress unless the caller asks for it', async () => {
    const { peer } = wire();
    const result = follow(peer.call('m', undefined, { timeoutMs: 100 }));
    await vi.advanceTimersByTimeAsync(90);
    expect(peer.progress(1, { progress: 1 })).toBe(true);
    await vi.advanceTimersByTimeAsync(20);
    expect(await settled(result)).toBeInstanceOf(TimeoutError);
  });

  it('starts anew with each progress where the caller asks for it', async () => {
    const { peer, receive } = wire();
    const result = follow(peer.call('m', undefined, { timeoutMs: 100, resetOnProgress: true }));
    for (let step = 0; step < 20; step++) {
      await vi.advanceTimersByTimeAsync(90);
      expect(peer.progress(1, { progress: step })).toBe(true);
    }
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    expect(await settled(result)).toStrictEqual({});
    const silent = follow(peer.call('m', undefined, { timeoutMs: 100, resetOnProgress: true }));
    await vi.advanceTimersByTimeAsync(90);
    peer.progress(2, { progress: 0 });
    await vi.advanceTimersByTimeAsync(90);
    expect(await settled(silent)).toBe('pending');
    await vi.advanceTimersByTimeAsync(20);
    expect(await settled(silent)).toMatchObject({ code: 'TIMEOUT', timeoutMs: 100 });
  });

  it('has a hard maximum that no progress moves', async () => {
    const { peer } = wire();
    const options = { timeoutMs: 100, resetOnProgress: true, maxTimeoutMs: 500 };
    const result = follow(peer.call('m', undefined, options));
    for (let step = 0; step < 5; step++) {
      await vi.advanceTimersByTimeAsync(99);
      peer.progress(1, { progress: step });
    }
    expect(await settled(result)).toBe('pending');
    await vi.advanceTimersByTimeAsync(10);
    expect(await settled(result)).toMatchObject({
      code: 'TIMEOUT',
      timeoutMs: 500,
      message: '"files" did not answer "m" within the hard maximum of 500 ms',
    });
  });

  it('has a hard maximum of ten minutes by default', async () => {
    const { peer } = wire();
    const result = follow(peer.call('m', undefined, { resetOnProgress: true }));
    for (let step = 0; step < 11; step++) {
      await vi.advanceTimersByTimeAsync(54_000);
      peer.progress(1, { progress: step });
    }
    expect(await settled(result)).toBe('pending');
    await vi.advanceTimersByTimeAsync(6_010);
    expect(await settled(result)).toMatchObject({ code: 'TIMEOUT', timeoutMs: 600_000 });
  });

  it('stands still while the call is held, and starts anew behind that', async () => {
    const { peer } = wire();
    const result = follow(peer.call('m', undefined, { timeoutMs: 100, maxTimeoutMs: 5000 }));
    peer.hold(1, true);
    await vi.advanceTimersByTimeAsync(4000);
    peer.hold(1, false);
    await vi.advanceTimersByTimeAsync(90);
    expect(await settled(result)).toBe('pending');
    await vi.advanceTimersByTimeAsync(20);
    expect(await settled(result)).toMatchObject({ code: 'TIMEOUT', timeoutMs: 100 });
    const held = follow(peer.call('m', undefined, { timeoutMs: 100, maxTimeoutMs: 5000 }));
    peer.hold(2, true);
    peer.hold(3, true);
    await vi.advanceTimersByTimeAsync(5010);
    expect(await settled(held)).toMatchObject({ code: 'TIMEOUT', timeoutMs: 5000 });
  });

  it('has a hard maximum that holds against a longer timeout and against none', async () => {
    const { peer } = wire();
    const longer = follow(peer.call('m', undefined, { timeoutMs: 1000, maxTimeoutMs: 100 }));
    const none = follow(
      peer.call('m', undefined, { timeoutMs: Number.POSITIVE_INFINITY, maxTimeoutMs: 100 }),
    );
    await vi.advanceTimersByTimeAsync(110);
    expect(await settled(longer)).toMatchObject({ code: 'TIMEOUT', timeoutMs: 100 });
    expect(await settled(none)).toMatchObject({ code: 'TIMEOUT', timeoutMs: 100 });
  });

  it('leaves no timer behind when everything is settled and closed', async () => {
    const { peer, receive } = wire();
    const result = follow(peer.call('m', undefined));
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    await settled(result);
    peer.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('costs one timer for many calls', () => {
    const { peer } = wire();
    for (let call = 0; call < 1000; call++) peer.call('m', undefined).catch(() => {});
    expect(vi.getTimerCount()).toBe(1);
    peer.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that has passed drops the late answer quietly, once', async () => {
    const { peer, receive, errors } = wire();
    const result = follow(peer.call('m', undefined, { timeoutMs: 100 }));
    await vi.advanceTimersByTimeAsync(110);
    expect(await settled(result)).toBeInstanceOf(TimeoutError);
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    expect(errors).toStrictEqual([]);
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    expect(codes(errors)).toStrictEqual(['UNKNOWN_RESPONSE']);
  });
});

describe('an AbortSignal', () => {
  it('that is aborted before keeps the request from being sent', async () => {
    const { peer, sent, abandoned } = wire();
    const error = await outcome(peer.call('m', undefined, { signal: AbortSignal.abort('why') }));
    expect(error).toMatchObject({ code: 'ABORTED', cause: 'why' });
    expect(sent).toStrictEqual([]);
    expect(abandoned).toStrictEqual([]);
  });

  it('that is aborted during gives the call up, says so, and drops the late answer quietly', async () => {
    const { peer, receive, errors, abandoned } = wire();
    const controller = new AbortController();
    const result = peer.call('slow', undefined, { signal: controller.signal });
    controller.abort(new Error('enough'));
    const error = await outcome(result);
    expect(error).toMatchObject({
      code: 'ABORTED',
      message: 'The call of "slow" at "files" was aborted by the caller',
      cause: { message: 'enough' },
    });
    expect(abandoned).toStrictEqual([{ id: 1, method: 'slow', reason: error }]);
    receive('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"cancelled"}}');
    expect(errors).toStrictEqual([]);
  });

  it('that is aborted afterwards changes nothing', async () => {
    const { peer, receive, abandoned } = wire();
    const controller = new AbortController();
    const result = peer.call('m', undefined, { signal: controller.signal });
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    controller.abort();
    expect(await outcome(result)).toStrictEqual({});
    expect(abandoned).toStrictEqual([]);
  });

  it('gives up all calls that share it, and no others', async () => {
    const { peer, receive, abandoned } = wire();
    const controller = new AbortController();
    const shared = [1, 2, 3].map(() => peer.call('m', undefined, { signal: controller.signal }));
    const other = peer.call('m', undefined);
    receive('{"jsonrpc":"2.0","id":2,"result":{}}');
    controller.abort();
    const ends = await outcome(Promise.allSettled(shared));
    expect(ends).toMatchObject([
      { reason: { code: 'ABORTED' } },
      { value: {} },
      { reason: { code: 'ABORTED' } },
    ]);
    expect(abandoned.map(({ id }) => id)).toStrictEqual([1, 3]);
    receive('{"jsonrpc":"2.0","id":4,"result":{}}');
    expect(await outcome(other)).toStrictEqual({});
  });

  it('shared by ten thousand calls has one listener while they wait, and none afterwards', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on('warning', onWarning);
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const { peer, receive } = wire();
    const together = Array.from({ length: 5000 }, () => peer.call('m', undefined, { signal }));
    expect(added).toHaveBeenCalledTimes(1);
    for (let id = 1; id <= 5000; id++) receive(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    await Promise.all(together);
    for (let id = 5001; id <= 10_000; id++) {
      const result = peer.call('m', undefined, { signal });
      receive(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
      await result;
    }
    expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
    // A warning is emitted in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', onWarning);
    expect(warnings).toStrictEqual([]);
  });

  it('shared by many peers has one listener, and gives up the calls of all of them', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const added = vi.spyOn(signal, 'addEventListener');
    const wires = Array.from({ length: 20 }, (_, at) => wire({ name: `server ${at}` }));
    const calls = wires.map(({ peer }) => peer.call('m', undefined, { signal }));
    expect(added).toHaveBeenCalledTimes(1);
    wires[0]?.peer.close();
    wires[1]?.receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    controller.abort();
    const ends = await Promise.all(calls.map(outcome));
    expect(ends.slice(0, 2)).toMatchObject([{ code: 'CLOSED' }, {}]);
    for (const [at, end] of [...ends.entries()].slice(2)) {
      expect(end).toMatchObject({
        code: 'ABORTED',
        message: `The call of "m" at "server ${at}" was aborted by the caller`,
      });
    }
    expect(wires.map(({ abandoned }) => abandoned.length)).toStrictEqual([0, 0, ...Array(18).fill(1)]);
  });

  it('loses its listener when the peer closes', () => {
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, 'removeEventListener');
    const { peer } = wire();
    peer.call('m', undefined, { signal }).catch(() => {});
    peer.close();
    expect(removed).toHaveBeenCalledTimes(1);
  });

  it('whose abandonment cannot be told still rejects the call', async () => {
    const { peer, errors } = wire({
      onAbandon: () => {
        throw new Error('pipe closed');
      },
    });
    const controller = new AbortController();
    const result = peer.call('m', undefined, { signal: controller.signal });
    controller.abort();
    expect(await outcome(result)).toMatchObject({ code: 'ABORTED' });
    expect(codes(errors)).toStrictEqual(['TRANSPORT_FAILED']);
  });
});

describe('late answers', () => {
  it('are remembered for the last 1024 calls that were given up', async () => {
    const { peer, receive, errors } = wire();
    const controller = new AbortController();
    const { signal } = controller;
    const calls = Array.from({ length: 1025 }, () => peer.call('m', undefined, { signal }));
    controller.abort();
    await Promise.allSettled(calls);
    for (let id = 2; id <= 1025; id++) receive(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    expect(errors).toStrictEqual([]);
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    expect(codes(errors)).toStrictEqual(['UNKNOWN_RESPONSE']);
  });
});

describe('progress', () => {
  it('arrives whole before the result resolves: 5,000 notifications in front of it', async () => {
    const seen: unknown[] = [];
    const { peer, receive } = wire({
      onNotification: ({ params }) => void peer.progress(params?.progressToken, params ?? {}),
    });
    const result = peer.call('m', undefined, { onProgress: ({ progress }) => void seen.push(progress) });
    const seenAtResult = result.then(() => seen.length);
    for (let step = 0; step < 5000; step++) {
      receive(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":${step}}}`,
      );
    }
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    expect(await outcome(seenAtResult)).toBe(5000);
    expect(seen).toStrictEqual(Array.from({ length: 5000 }, (_, step) => step));
  });

  it('after the result goes nowhere', async () => {
    const onProgress = vi.fn();
    const { peer, receive } = wire();
    const result = peer.call('m', undefined, { onProgress });
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    await result;
    expect(peer.progress(1, { progress: 1 })).toBe(false);
    expect(onProgress).not.toHaveBeenCalled();
  });

  it.each(['1', null, undefined, {}, 1.5])('for the token %s reaches no call', (token) => {
    const onProgress = vi.fn();
    const { peer } = wire();
    peer.call('m', undefined, { onProgress }).catch(() => {});
    expect(peer.progress(token, { progress: 1 })).toBe(false);
    expect(onProgress).not.toHaveBeenCalled();
    peer.close();
  });

  it('whose callback throws, or rejects, is reported and costs nothing else', async () => {
    const { peer, receive, errors } = wire();
    const thrown = peer.call('a', undefined, {
      onProgress: () => {
        throw new Error('one');
      },
    });
    const rejected = peer.call('b', undefined, {
      onProgress: async () => {
        throw new Error('two');
      },
    });
    peer.progress(1, {});
    peer.progress(2, {});
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    receive('{"jsonrpc":"2.0","id":2,"result":{}}');
    expect(await outcome(Promise.all([thrown, rejected]))).toStrictEqual([{}, {}]);
    expect(errors.map(({ code, message }) => [code, message])).toStrictEqual([
      ['HANDLER_FAILED', 'onProgress of "a" threw: one'],
      ['HANDLER_FAILED', 'onProgress of "b" threw: two'],
    ]);
  });
});

describe('a notification', () => {
  it('is sent without an id', () => {
    const { peer, sent } = wire();
    expect(peer.notify('notifications/initialized')).toBeUndefined();
    peer.notify('n', { a: 1 });
    expect(sent).toStrictEqual([
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      '{"jsonrpc":"2.0","method":"n","params":{"a":1}}',
    ]);
  });

  it('lets its sender wait for room', async () => {
    const room = deferred<void>();
    const { peer } = wire({ send: () => room.promise });
    const sent = peer.notify('n');
    room.resolve();
    await expect(sent).resolves.toBeUndefined();
  });

  it('that fails rejects for a sender who looks, and troubles none who does not', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const failing = wire({ send: () => Promise.reject(new Error('broken pipe')) });
    failing.peer.notify('forgotten');
    const { peer } = wire();
    peer.close();
    peer.notify('forgotten');
    await expect(failing.peer.notify('n')).rejects.toThrow('broken pipe');
    await expect(peer.notify('n')).rejects.toMatchObject({ code: 'CLOSED' });
    // An unhandled rejection is emitted in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('that arrives is handed on as it is and never answered', () => {
    const got: JsonRpcNotification[] = [];
    const { receive, sent, errors } = wire({ onNotification: (notification) => void got.push(notification) });
    receive('{"jsonrpc":"2.0","method":"n","params":{"a":1},"extra":[]}');
    expect(got).toStrictEqual([{ jsonrpc: '2.0', method: 'n', params: { a: 1 }, extra: [] }]);
    expect([...sent, ...errors]).toStrictEqual([]);
  });

  it('is dropped where nobody listens', () => {
    const { receive, sent, errors } = wire();
    receive('{"jsonrpc":"2.0","method":"n"}');
    expect([...sent, ...errors]).toStrictEqual([]);
  });

  it('whose handler throws, or rejects, is reported and not answered', async () => {
    const { receive, sent, errors } = wire({
      onNotification: ({ method }) => {
        if (method === 'later') return Promise.reject(new Error('two'));
        throw new Error('one');
      },
    });
    receive('{"jsonrpc":"2.0","method":"now"}');
    receive('{"jsonrpc":"2.0","method":"later"}');
    await new Promise((resolve) => setImmediate(resolve));
    expect(errors.map(({ message }) => message)).toStrictEqual([
      'The handler of "now" threw: one',
      'The handler of "later" threw: two',
    ]);
    expect(sent).toStrictEqual([]);
  });
});

describe('an inbound request', () => {
  it.each([
    ['at once', () => ({ sum: 3 })],
    ['later', async () => ({ sum: 3 })],
    // biome-ignore lint/suspicious/noThenProperty: a promise of another library is what is tested
    ['by a promise of another kind', () => ({ then: (done: (value: object) => void) => done({ sum: 3 }) })],
  ])('is answered with what its handler returns %s', async (_name, handler) => {
    const requests: JsonRpcRequest[] = [];
    const { peer, receive, sent } = wire({
      onRequest: (request) => {
        requests.push(request);
        // Sound: the third case is what an untyped caller may return.
        return handler() as JsonObject;
      },
    });
    receive('{"jsonrpc":"2.0","id":"a","method":"add","params":{"a":1},"extra":null}');
    await new Promise((resolve) => setImmediate(resolve));
    expect(requests).toStrictEqual([
      { jsonrpc: '2.0', id: 'a', method: 'add', params: { a: 1 }, extra: null },
    ]);
    expect(sent).toStrictEqual(['{"jsonrpc":"2.0","id":"a","result":{"sum":3}}']);
    expect(peer.inboundRequests).toBe(0);
  });

  it.each([0, '', '0', -1])('is answered with its own id, %j', (id) => {
    const { peer, sent } = wire({ onRequest: () => ({}) });
    peer.receive({ jsonrpc: '2.0', id, method: 'm' });
    expect(sent).toStrictEqual([`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{}}`]);
  });

  it('is answered with -32601 where there is no handler at all', () => {
    const { receive, sent } = wire();
    receive('{"jsonrpc":"2.0","id":1,"method":"roots/list"}');
    expect(sent).toStrictEqual([
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: roots/list"}}',
    ]);
  });

  it('gets no answer when its handler returns undefined', () => {
    const { peer, receive, sent, errors } = wire({ onRequest: () => undefined });
    receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
    expect([...sent, ...errors]).toStrictEqual([]);
    expect(peer.inboundRequests).toBe(0);
  });

  it.each([
    [
      'at once',
      (error: Error) => {
        throw error;
      },
    ],
    ['later', (error: Error) => Promise.reject(error)],
  ])('passes an RpcError on with its data, thrown %s', async (_name, fail) => {
    const { receive, sent, errors } = wire({
      onRequest: () => fail(new RpcError(-32602, 'Unknown tool', { name: 'x' })),
    });
    receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toStrictEqual([
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool","data":{"name":"x"}}}',
    ]);
    expect(errors).toStrictEqual([]);
  });

  it.each([
    ['an Error', new Error('password is 1234')],
    ['a string', 'password is 1234'],
    ['an object that is no string', Object.create(null)],
    ['nothing', undefined],
  ])('whose handler throws %s is answered with -32603 and no word of it', async (_name, thrown) => {
    const { receive, sent, errors } = wire({
      onRequest: ({ method }) => {
        if (method === 'later') return Promise.reject(thrown);
        throw thrown;
      },
    });
    receive('{"jsonrpc":"2.0","id":1,"method":"now"}');
    receive('{"jsonrpc":"2.0","id":2,"method":"later"}');
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toStrictEqual([
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}',
      '{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error"}}',
    ]);
    expect(codes(errors)).toStrictEqual(['HANDLER_FAILED', 'HANDLER_FAILED']);
    expect(errors.map(({ cause }) => cause)).toStrictEqual([thrown, thrown]);
  });

  const cycle: JsonObject = {};
  cycle.self = cycle;

  it.each([
    ['a result with a cycle', () => cycle],
    ['a result with a BigInt', async () => ({ big: 1n })],
    [
      'a result too deep for the stack',
      () => ({ deep: JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)) }),
    ],
    [
      'an error whose data has a cycle',
      () => {
        throw new RpcError(1, 'm', cycle);
      },
    ],
    // Sound: these are what an untyped caller may return.
    ['a promise of undefined', async () => undefined as unknown as JsonObject],
    ['a string', () => 'text' as unknown as JsonObject],
    ['an array', () => [] as unknown as JsonObject],
    ['null', () => null as unknown as JsonObject],
  ])('whose handler makes %s is answered with -32603, once', async (_name, onRequest) => {
    const { peer, receive, sent, errors } = wire({ onRequest });
    receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toStrictEqual([
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}',
    ]);
    expect(codes(errors)).toStrictEqual(['HANDLER_FAILED']);
    expect(peer.inboundRequests).toBe(0);
  });

  it('whose answer the channel refuses is reported once and not tried again', async () => {
    const refused = vi.fn(() => {
      throw new McpError('CLOSED', 'gone');
    });
    const thrown = wire({ onRequest: () => ({}), send: refused });
    thrown.receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
    expect(refused).toHaveBeenCalledTimes(1);
    const rejected = wire({ onRequest: () => ({}), send: () => Promise.reject(new Error('broken pipe')) });
    rejected.receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
    await new Promise((resolve) => setImmediate(resolve));
    expect([...thrown.errors, ...rejected.errors].map(({ code, message }) => [code, message])).toStrictEqual([
      ['TRANSPORT_FAILED', 'Cannot answer "files": gone'],
      ['TRANSPORT_FAILED', 'Cannot answer "files": broken pipe'],
    ]);
  });

  it('may reuse an id as soon as its answer is out', () => {
    const { peer, sent } = wire({
      onRequest: () => ({}),
      send: (message) => {
        sent.push(encodeLine(message).trimEnd());
        if (sent.length === 1) peer.receive({ jsonrpc: '2.0', id: 1, method: 'again' });
      },
    });
    peer.receive({ jsonrpc: '2.0', id: 1, method: 'first' });
    expect(sent).toStrictEqual([
      '{"jsonrpc":"2.0","id":1,"result":{}}',
      '{"jsonrpc":"2.0","id":1,"result":{}}',
    ]);
  });

  it('with an id that is in use is refused without that id, and the first keeps its answer', async () => {
    const answer = deferred<JsonObject>();
    const onRequest = vi.fn(() => answer.promise);
    const { receive, sent } = wire({ onRequest });
    receive('{"jsonrpc":"2.0","id":5,"method":"slow"}');
    receive('{"jsonrpc":"2.0","id":5,"method":"slow"}');
    expect(sent).toStrictEqual([
      '{"jsonrpc":"2.0","error":{"code":-32600,"message":"Request id 5 is already in use"}}',
    ]);
    expect(onRequest).toHaveBeenCalledTimes(1);
    answer.resolve({ ok: true });
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent.slice(1)).toStrictEqual(['{"jsonrpc":"2.0","id":5,"result":{"ok":true}}']);
  });

  it('with the same id in another type is another request', async () => {
    const answer = deferred<JsonObject>();
    const { peer, receive, sent } = wire({ onRequest: () => answer.promise });
    receive('{"jsonrpc":"2.0","id":5,"method":"slow"}');
    receive('{"jsonrpc":"2.0","id":"5","method":"slow"}');
    expect(peer.inboundRequests).toBe(2);
    answer.resolve({});
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toStrictEqual([
      '{"jsonrpc":"2.0","id":5,"result":{}}',
      '{"jsonrpc":"2.0","id":"5","result":{}}',
    ]);
  });

  describe('has a signal of its own', () => {
    it('that cancels it alone, with the reason, and no answer follows', async () => {
      const answers = [deferred<JsonObject>(), deferred<JsonObject>()];
      const inbounds: InboundRequest[] = [];
      const { peer, receive, sent, errors } = wire({
        onRequest: (_request, inbound) => {
          inbounds.push(inbound);
          return answers[inbounds.length - 1]?.promise ?? {};
        },
      });
      receive('{"jsonrpc":"2.0","id":0,"method":"a"}');
      receive('{"jsonrpc":"2.0","id":"","method":"b"}');
      const aborted = vi.fn();
      inbounds[0]?.signal.addEventListener('abort', aborted);
      expect(peer.cancelInbound(0, 'changed my mind')).toBe(true);
      expect(aborted).toHaveBeenCalledTimes(1);
      expect(inbounds[0]?.signal.reason).toMatchObject({ code: 'ABORTED', message: 'changed my mind' });
      expect(inbounds[1]?.signal.aborted).toBe(false);
      answers[0]?.resolve({ late: true });
      answers[1]?.resolve({});
      await new Promise((resolve) => setImmediate(resolve));
      expect(sent).toStrictEqual(['{"jsonrpc":"2.0","id":"","result":{}}']);
      expect(errors).toStrictEqual([]);
    });

    it('that is aborted even if it is first asked for afterwards', () => {
      let held: InboundRequest | undefined;
      const { peer, receive } = wire({
        onRequest: (_request, inbound) => {
          held = inbound;
          return new Promise<JsonObject>(() => {});
        },
      });
      receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
      peer.cancelInbound(1, 'gone');
      expect(held?.signal.aborted).toBe(true);
      expect(held?.signal.reason).toMatchObject({ message: 'gone' });
    });

    it('that a failing handler is not reported behind', async () => {
      const { peer, receive, sent, errors } = wire({
        onRequest: (_request, { signal }) =>
          new Promise<JsonObject>((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason));
          }),
      });
      receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
      peer.cancelInbound(1, 'gone');
      await new Promise((resolve) => setImmediate(resolve));
      expect([...sent, ...errors]).toStrictEqual([]);
    });
  });

  it('is known by its id while it waits for its answer, and not afterwards', async () => {
    const answer = deferred<JsonObject>();
    const { peer, receive } = wire({ onRequest: () => answer.promise });
    receive('{"jsonrpc":"2.0","id":2,"method":"m"}');
    expect([peer.isAnswering(2), peer.isAnswering('2'), peer.isAnswering(1)]).toStrictEqual([
      true,
      false,
      false,
    ]);
    answer.resolve({});
    await new Promise((resolve) => setImmediate(resolve));
    expect(peer.isAnswering(2)).toBe(false);
  });

  it.each([1, '2', null, undefined, {}])('cannot be cancelled by the id %s that none has', (id) => {
    const { peer, receive } = wire({ onRequest: () => new Promise<JsonObject>(() => {}) });
    receive('{"jsonrpc":"2.0","id":2,"method":"m"}');
    expect(peer.cancelInbound(id, 'r')).toBe(false);
    expect(peer.inboundRequests).toBe(1);
  });

  it('that takes over the id of a cancelled one gets its own answer only', async () => {
    const answers = [deferred<JsonObject>(), deferred<JsonObject>()];
    let count = 0;
    const { peer, receive, sent } = wire({ onRequest: () => answers[count++]?.promise ?? {} });
    receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
    peer.cancelInbound(1, 'r');
    receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
    answers[0]?.resolve({ of: 'first' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toStrictEqual([]);
    answers[1]?.resolve({ of: 'second' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toStrictEqual(['{"jsonrpc":"2.0","id":1,"result":{"of":"second"}}']);
  });

  describe('beyond maxInbound', () => {
    it('is refused until another has ended', async () => {
      const answers = [deferred<JsonObject>(), deferred<JsonObject>(), deferred<JsonObject>()];
      let count = 0;
      const { receive, sent } = wire({
        maxInbound: 2,
        onRequest: () => answers[count++]?.promise ?? {},
      });
      for (const id of [1, 2, 3]) receive(`{"jsonrpc":"2.0","id":${id},"method":"m"}`);
      expect(sent).toStrictEqual([
        '{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Too many requests at once: 2 are running"}}',
      ]);
      answers[0]?.resolve({});
      await new Promise((resolve) => setImmediate(resolve));
      receive('{"jsonrpc":"2.0","id":4,"method":"m"}');
      expect(count).toBe(3);
      expect(sent.slice(1)).toStrictEqual(['{"jsonrpc":"2.0","id":1,"result":{}}']);
    });

    it('is refused while handlers of cancelled ones still run', async () => {
      const answer = deferred<JsonObject>();
      const onRequest = vi.fn(() => answer.promise);
      const { peer, receive, sent } = wire({ maxInbound: 2, onRequest });
      for (let id = 1; id <= 10; id++) {
        receive(`{"jsonrpc":"2.0","id":${id},"method":"m"}`);
        peer.cancelInbound(id, 'r');
      }
      expect(onRequest).toHaveBeenCalledTimes(2);
      expect(sent).toHaveLength(8);
      answer.reject(new Error('aborted'));
      await new Promise((resolve) => setImmediate(resolve));
      receive('{"jsonrpc":"2.0","id":11,"method":"m"}');
      expect(onRequest).toHaveBeenCalledTimes(3);
    });

    it.each([0, -1, Number.NaN])('%s is no bound', (maxInbound) => {
      expect(() => wire({ maxInbound })).toThrow(TypeError);
    });
  });
});

describe('what is no message', () => {
  it('goes to the error hook', () => {
    const { receive, errors, sent } = wire();
    receive('12');
    receive('{"jsonrpc":"2.0","id":1,"method":"m","params":[]}');
    expect(errors.map(({ code, message }) => [code, message])).toStrictEqual([
      ['INVALID_MESSAGE', '"files" sent what is no message: a message must be a JSON object'],
      ['INVALID_MESSAGE', '"files" sent what is no message: "params" must be an object'],
    ]);
    expect(sent).toStrictEqual([]);
  });

  it('goes to its own hook, with the id that it has, where there is one', () => {
    const onInvalid = vi.fn();
    const { receive, errors } = wire({ onInvalid });
    receive('{"jsonrpc":"2.0","id":0,"method":"m","params":[]}');
    receive('{"jsonrpc":"2.0","id":"x"}');
    receive('null');
    expect(onInvalid.mock.calls).toStrictEqual([
      ['"params" must be an object', 0],
      ['a message must have "method", "result" or "error"', 'x'],
      ['a message must be a JSON object', undefined],
    ]);
    expect(errors).toStrictEqual([]);
  });

  it('is a batch only for those who take one', () => {
    const without = wire();
    without.receive('[{"jsonrpc":"2.0","id":1,"method":"m"}]');
    expect(codes(without.errors)).toStrictEqual(['INVALID_MESSAGE']);
    expect(without.sent).toStrictEqual([]);
    const onBatch = vi.fn();
    const taking = wire({ onBatch });
    taking.receive('[1,{}]');
    expect(onBatch.mock.calls).toStrictEqual([[[1, {}]]]);
    expect(taking.errors).toStrictEqual([]);
  });

  it('never makes the peer throw, even when a hook does', () => {
    const fail = () => {
      throw new Error('hook');
    };
    const { receive, errors } = wire({ onBatch: fail, onInvalid: fail });
    receive('[]');
    receive('1');
    expect(errors.map(({ message }) => message)).toStrictEqual([
      'onBatch threw: hook',
      'onInvalid threw: hook',
    ]);
  });
});

describe('closing', () => {
  it('rejects every pending call once, with the same error', async () => {
    const { peer, receive, abandoned, errors } = wire();
    const calls = [1, 2, 3].map(() => peer.call('m', undefined));
    peer.close();
    peer.close(new McpError('TRANSPORT_FAILED', 'later'));
    receive('{"jsonrpc":"2.0","id":1,"result":{}}');
    const ends = await Promise.all(calls.map(outcome));
    expect(new Set(ends).size).toBe(1);
    expect(ends[0]).toMatchObject({ code: 'CLOSED', message: 'The connection to "files" is closed' });
    expect(peer.closed).toBe(ends[0]);
    expect(peer.pendingCalls).toBe(0);
    expect([...abandoned, ...errors]).toStrictEqual([]);
  });

  it('gives the reason it was given to pending and later calls', async () => {
    const { peer, sent } = wire();
    const reason = new McpError('PROCESS_EXITED', 'it exited with code 1');
    const pending = peer.call('m', undefined);
    peer.close(reason);
    expect(await outcome(pending)).toBe(reason);
    expect(await outcome(peer.call('m', undefined))).toBe(reason);
    expect(sent).toHaveLength(1);
  });

  it('aborts inbound requests and sends no answer for them', async () => {
    const answer = deferred<JsonObject>();
    const signals: AbortSignal[] = [];
    const { peer, receive, sent, errors } = wire({
      onRequest: (_request, { signal }) => {
        signals.push(signal);
        return answer.promise;
      },
    });
    receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
    receive('{"jsonrpc":"2.0","id":2,"method":"m"}');
    const reason = new McpError('CLOSED', 'bye');
    peer.close(reason);
    expect(signals.map((signal) => signal.reason)).toStrictEqual([reason, reason]);
    answer.resolve({});
    await new Promise((resolve) => setImmediate(resolve));
    expect([...sent, ...errors]).toStrictEqual([]);
    expect(peer.inboundRequests).toBe(0);
  });

  it('from inside a handler leaves that request without an answer', async () => {
    const { peer, receive, sent, errors } = wire({
      onRequest: ({ method }) => {
        peer.close();
        if (method === 'fails') throw new Error('no');
        return {};
      },
    });
    const pending = peer.call('m', undefined);
    receive('{"jsonrpc":"2.0","id":1,"method":"works"}');
    expect(await outcome(pending)).toMatchObject({ code: 'CLOSED' });
    expect(sent).toHaveLength(1);
    expect(errors).toStrictEqual([]);
  });

  it('while an answer is being flushed reports nothing', async () => {
    const flush = deferred<void>();
    const { peer, receive, errors } = wire({ onRequest: () => ({}), send: () => flush.promise });
    receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
    peer.close();
    flush.reject(new Error('broken pipe'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(errors).toStrictEqual([]);
  });

  it('makes the peer deaf: nothing that arrives is handled', () => {
    const onRequest = vi.fn();
    const onNotification = vi.fn();
    const { peer, receive, sent, errors } = wire({ onRequest, onNotification });
    peer.close();
    receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
    receive('{"jsonrpc":"2.0","method":"n"}');
    receive('1');
    expect(onRequest).not.toHaveBeenCalled();
    expect(onNotification).not.toHaveBeenCalled();
    expect([...sent, ...errors]).toStrictEqual([]);
  });
});

describe('two peers', () => {
  it('call each other at once, under the same ids', async () => {
    const peers: Peer[] = [];
    const make = (name: string, other: number) =>
      new Peer({
        name,
        send: (message: JsonRpcMessage) => {
          const line = encodeLine(message);
          queueMicrotask(() => peers[other]?.receive(JSON.parse(line)));
        },
        onRequest: async ({ method }) => ({ answeredBy: name, method }),
        onError: (error) => {
          throw error;
        },
      });
    peers.push(make('left', 1), make('right', 0));
    const calls = peers.flatMap((peer) => ['a', 'b'].map((method) => peer.call(method, undefined)));
    expect(await Promise.all(calls)).toStrictEqual([
      { answeredBy: 'right', method: 'a' },
      { answeredBy: 'right', method: 'b' },
      { answeredBy: 'left', method: 'a' },
      { answeredBy: 'left', method: 'b' },
    ]);
  });
});

describe('the process', () => {
  const jsonrpc = new URL('../../dist/jsonrpc/index.js', import.meta.url).href;

  /** Runs a script against the built package; resolves with what it printed once the process has ended by itself. */
  function run(script: string): string {
    const source = `import { Peer } from ${JSON.stringify(jsonrpc)}; ${script}`;
    return execFileSync(process.execPath, ['--input-type=module', '--eval', source], {
      encoding: 'utf8',
      timeout: 15_000,
    });
  }

  it('ends while the timer of an answered call is armed, and a call waits that has no deadline', () => {
    const printed = run(`
      const peer = new Peer({ name: 'x', send: () => {}, onError: () => {} });
      const answered = peer.call('m', undefined, { timeoutMs: 3600000 });
      peer.receive({ jsonrpc: '2.0', id: 1, result: {} });
      await answered;
      peer.call('m', undefined, { timeoutMs: Infinity });
      console.log('waits');
    `);
    expect(printed).toBe('waits\n');
  });

  it('waits for the deadline of a call beside one that has none', () => {
    const printed = run(`
      const peer = new Peer({ name: 'x', send: () => {}, onError: () => {} });
      peer.call('m', undefined, { timeoutMs: Infinity });
      const answered = peer.call('m', undefined, { timeoutMs: 100 });
      peer.receive({ jsonrpc: '2.0', id: 2, result: {} });
      await answered;
      await peer.call('m', undefined, { timeoutMs: 200 }).catch(({ code }) => console.log(code));
    `);
    expect(printed).toBe('TIMEOUT\n');
  });

  it('ends while the timer of an answered call is armed', () => {
    const printed = run(`
      const peer = new Peer({ name: 'x', send: () => {}, onError: () => {} });
      const results = [1, 2].map(() => peer.call('m', undefined, { timeoutMs: 3600000 }));
      for (const id of [1, 2]) peer.receive({ jsonrpc: '2.0', id, result: {} });
      console.log(JSON.stringify(await Promise.all(results)));
    `);
    expect(printed).toBe('[{},{}]\n');
  });

  it('stays while a call is pending, also one made after the timer was let go', () => {
    const printed = run(`
      const peer = new Peer({ name: 'x', send: () => {}, onError: () => {} });
      const first = peer.call('m', undefined, { timeoutMs: 50 });
      peer.receive({ jsonrpc: '2.0', id: 1, result: {} });
      await first;
      await peer.call('m', undefined, { timeoutMs: 100 }).catch((error) => console.log(error.code));
    `);
    expect(printed).toBe('TIMEOUT\n');
  });
});

describe('a message that could not be read', () => {
  const tooLong = () => new McpError('LINE_TOO_LONG', 'it exceeds 8 bytes');

  it('fails the call that it answered, and no other', async () => {
    const { peer, errors, receive } = wire();
    const calls = [peer.call('read', {}), peer.call('other', {})];
    expect(peer.lose(tooLong(), { id: 1, isResponse: true })).toBe(true);
    const error = await outcome(calls[0] as Promise<unknown>);
    expect(error).toMatchObject({
      code: 'LINE_TOO_LONG',
      message: expect.stringContaining('"files" to "read"'),
    });
    receive('{"jsonrpc":"2.0","id":2,"result":{}}');
    expect(await outcome(calls[1] as Promise<unknown>)).toEqual({});
    expect(errors).toEqual([]);
  });

  it('is answered by an error where it was a request, unless one with its id is running', () => {
    const { peer, sent, receive } = wire({ onRequest: () => new Promise(() => {}) });
    receive('{"jsonrpc":"2.0","id":1,"method":"m"}');
    expect(peer.lose(tooLong(), { id: 1, isResponse: false })).toBe(false);
    expect(peer.lose(tooLong(), { id: 2, isResponse: false })).toBe(true);
    expect(sent.map((line) => JSON.parse(line))).toEqual([
      { jsonrpc: '2.0', id: 2, error: { code: -32600, message: 'it exceeds 8 bytes' } },
    ]);
  });

  it('settles nothing where it answers nothing', () => {
    const { peer } = wire();
    expect(peer.lose(tooLong(), { id: 1, isResponse: true })).toBe(false);
  });

  it('is named by the calls that waited then and time out', async () => {
    vi.useFakeTimers();
    const { peer } = wire();
    const before = peer.call('before', {}, { timeoutMs: 100 }).catch((error: Error) => error.message);
    expect(peer.lose(tooLong(), undefined)).toBe(false);
    const after = peer.call('after', {}, { timeoutMs: 100 }).catch((error: Error) => error.message);
    await vi.advanceTimersByTimeAsync(200);
    expect(await before).toMatch(
      /within 100 ms; meanwhile a message was lost, maybe the answer: it exceeds 8/,
    );
    expect(await after).toMatch(/within 100 ms$/);
    vi.useRealTimers();
  });
});

describe('a flood of what is no message', () => {
  it('is told by its first 32, and by how many there were', () => {
    const { errors, receive } = wire();
    for (let count = 0; count < 100; count++)
      receive(count % 2 ? '{}' : '{"jsonrpc":"2.0","id":9,"result":{}}');
    receive('{"jsonrpc":"2.0","method":"m"}');
    expect(errors.slice(0, 32).every(({ message }) => !message.includes('more'))).toBe(true);
    expect(errors.slice(32).map(({ message }) => message)).toEqual([
      '"files" sent 32 more in a row that are no messages, or answer no request',
      '"files" sent 36 more in a row that are no messages, or answer no request',
    ]);
  });

  it('still has each of them answered that has an id', () => {
    const answered: unknown[] = [];
    const { receive } = wire({ onInvalid: (_reason, id) => answered.push(id) });
    for (let id = 0; id < 100; id++) receive(`{"id":${id}}`);
    expect(answered).toEqual(Array.from({ length: 100 }, (_, id) => id));
  });

  it('is given up after a million', () => {
    const onFlood = vi.fn();
    const { peer } = wire({ onFlood });
    for (let count = 0; count < 1_000_000; count++) peer.receive({});
    expect(onFlood).not.toHaveBeenCalled();
    peer.receive({});
    expect(onFlood).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'INVALID_MESSAGE' }));
  });
});
