import { afterEach, describe, expect, it, vi } from 'vitest';
import { RpcError } from '../../../src/jsonrpc/index.ts';
import { createStateSeal, type RequestStateOptions } from '../../../src/protocol/server/request-state.ts';

const KEY = 'a key of sixteen bytes or more';
const OTHER_KEY = 'another key of sixteen bytes';
const BINDING = {
  method: 'tools/call',
  params: { name: 'x', arguments: { a: 1, b: [2] } },
  auth: { sub: 'ada' },
};
const ROUND = { state: { step: 1, text: 'é' }, answers: { who: { action: 'accept' } } };

const seal = (options: RequestStateOptions = {}) => createStateSeal({ keys: [KEY], ...options });
const refusal = expect.objectContaining({
  rpcCode: -32602,
  message: expect.stringContaining('requestState'),
});

afterEach(() => {
  vi.useRealTimers();
});

describe('a sealed state', () => {
  it('comes back as it went, on the same request of the same caller', () => {
    const sealed = seal().seal(ROUND, BINDING);
    expect(sealed).toMatch(/^[\w-]+\.[\w-]{43}$/);
    expect(seal().open(sealed, BINDING)).toEqual(ROUND);
    expect(seal().open(seal().seal({ state: undefined, answers: {} }, BINDING), BINDING)).toEqual({
      state: undefined,
      answers: {},
    });
  });

  it('does not mind the order of members, nor what differs from round to round', () => {
    const sealed = seal().seal(ROUND, BINDING);
    const params = {
      requestState: sealed,
      arguments: { b: [2], a: 1 },
      _meta: { progressToken: 7 },
      inputResponses: { who: {} },
      name: 'x',
    };
    expect(seal().open(sealed, { ...BINDING, params })).toEqual(ROUND);
  });

  it.each([
    ['another method', { method: 'prompts/get' }],
    ['other arguments', { params: { name: 'x', arguments: { a: 1, b: [3] } } }],
    ['a member more', { params: { ...BINDING.params, extra: 1 } }],
    ['another caller', { auth: { sub: 'bob' } }],
    ['no caller', { auth: undefined }],
  ])('is refused with %s', (_, other) => {
    const sealed = seal().seal(ROUND, BINDING);
    expect(() => seal().open(sealed, { ...BINDING, ...other })).toThrow(refusal);
  });

  it('is refused once it has lapsed', () => {
    vi.useFakeTimers();
    const sealed = seal({ ttlMs: 1000 }).seal(ROUND, BINDING);
    vi.advanceTimersByTime(1000);
    expect(seal().open(sealed, BINDING)).toEqual(ROUND);
    vi.advanceTimersByTime(1);
    expect(() => seal().open(sealed, BINDING)).toThrow(refusal);
  });

  it('lasts ten minutes by default', () => {
    vi.useFakeTimers();
    const sealed = seal().seal(ROUND, BINDING);
    vi.advanceTimersByTime(600_000);
    expect(seal().open(sealed, BINDING)).toEqual(ROUND);
    vi.advanceTimersByTime(1);
    expect(() => seal().open(sealed, BINDING)).toThrow(refusal);
  });

  it('is refused when any character of it is another, or one is added or lost', () => {
    const sealed = seal().seal(ROUND, BINDING);
    for (let at = 0; at < sealed.length; at++) {
      const other = sealed[at] === 'A' ? 'B' : 'A';
      expect(() => seal().open(sealed.slice(0, at) + other + sealed.slice(at + 1), BINDING)).toThrow(
        RpcError,
      );
      expect(() => seal().open(sealed.slice(0, at) + sealed.slice(at + 1), BINDING)).toThrow(RpcError);
    }
    for (const changed of [
      `${sealed}-TAMPERED`,
      `${sealed}=`,
      ` ${sealed}`,
      `${sealed}\n`,
      `${sealed}.`,
      `${sealed}.x`,
    ]) {
      expect(() => seal().open(changed, BINDING)).toThrow(refusal);
    }
  });

  it.each([[''], ['.'], ['..'], ['x.y'], [null], [7], [{}], [['a.b']]])('is not %j', (value) => {
    expect(() => seal().open(value, BINDING)).toThrow(refusal);
  });

  it('is refused for params that nest too deeply to be compared', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    const sealed = seal().seal(ROUND, BINDING);
    expect(() => seal().open(sealed, { ...BINDING, params: { name: 'x', arguments: deep } })).toThrow(
      refusal,
    );
  });

  it('is signed by the first key and accepted by all', () => {
    const before = seal().seal(ROUND, BINDING);
    const rotated = seal({ keys: [OTHER_KEY, KEY] });
    expect(rotated.open(before, BINDING)).toEqual(ROUND);
    const after = rotated.seal(ROUND, BINDING);
    expect(seal({ keys: [OTHER_KEY] }).open(after, BINDING)).toEqual(ROUND);
    expect(() => seal().open(after, BINDING)).toThrow(refusal);
    expect(() => seal({ keys: [OTHER_KEY] }).open(before, BINDING)).toThrow(refusal);
  });

  it('is good in this process alone when no key is given', () => {
    const sealed = createStateSeal({}).seal(ROUND, BINDING);
    expect(() => createStateSeal({}).open(sealed, BINDING)).toThrow(refusal);
  });

  it('is bound in size, both ways', () => {
    const small = seal({ maxChars: 200 });
    const large = { state: 'x'.repeat(200), answers: {} };
    expect(() => small.seal(large, BINDING)).toThrow(expect.objectContaining({ code: 'NOT_SUPPORTED' }));
    expect(() => small.open(seal().seal(large, BINDING), BINDING)).toThrow(refusal);
  });

  it('belongs to the caller that the option names', () => {
    const bySession = seal({ principal: (auth) => String((auth as { session: number }).session) });
    const sealed = bySession.seal(ROUND, { ...BINDING, auth: { session: 1, token: 'a' } });
    expect(bySession.open(sealed, { ...BINDING, auth: { session: 1, token: 'b' } })).toEqual(ROUND);
    expect(() => bySession.open(sealed, { ...BINDING, auth: { session: 2 } })).toThrow(refusal);
  });
});

describe('the options of request state', () => {
  it.each([
    ['no key', { keys: [] }],
    ['a short key', { keys: [KEY, 'short'] }],
    ['no time', { ttlMs: 0 }],
    ['no size', { maxChars: Number.NaN }],
  ])('are refused with %s', (_, options) => {
    expect(() => createStateSeal(options)).toThrow(TypeError);
  });
});
