import { describe, expect, it } from 'vitest';
import { encodeLine, McpError, RpcError, TimeoutError, toError } from '../../src/jsonrpc/index.ts';

describe('errors', () => {
  it('name themselves, carry a stable code and are caught as their base', () => {
    const errors = [new McpError('CLOSED', 'a'), new RpcError(-32601, 'b'), new TimeoutError('c', 5)];
    expect(errors.map(({ name, code, message }) => [name, code, message])).toStrictEqual([
      ['McpError', 'CLOSED', 'a'],
      ['RpcError', 'RPC_ERROR', 'b'],
      ['TimeoutError', 'TIMEOUT', 'c'],
    ]);
    for (const error of errors) {
      expect(error).toBeInstanceOf(McpError);
      expect(error).toBeInstanceOf(Error);
    }
  });

  it('keep their cause, and have none where none was given', () => {
    const cause = new Error('root');
    expect(new McpError('CLOSED', 'a', { cause }).cause).toBe(cause);
    expect(new RpcError(-32603, 'a', undefined, { cause }).cause).toBe(cause);
    expect('cause' in new McpError('CLOSED', 'a')).toBe(false);
  });

  it('say how many milliseconds were spent', () => {
    expect(new TimeoutError('c', 250).timeoutMs).toBe(250);
  });
});

describe('RpcError', () => {
  it('is written as a JSON-RPC error object and nothing else', () => {
    expect(encodeLine(new RpcError(-32602, 'Unknown tool', { name: 'x' }))).toBe(
      '{"code":-32602,"message":"Unknown tool","data":{"name":"x"}}\n',
    );
    expect(encodeLine(new RpcError(-32602, 'Unknown tool'))).toBe(
      '{"code":-32602,"message":"Unknown tool"}\n',
    );
  });

  it.each([null, 0, '', false])('keeps data that is %j', (data) => {
    expect(new RpcError(1, 'm', data).toJSON()).toStrictEqual({ code: 1, message: 'm', data });
  });
});

describe('toError', () => {
  it('returns an Error as it is', () => {
    const error = new TypeError('x');
    expect(toError(error)).toBe(error);
  });

  it.each([
    ['text', 'text'],
    [undefined, 'undefined'],
    [null, 'null'],
    [404, '404'],
    [Symbol('s'), 'Symbol(s)'],
    [{ message: 'm' }, 'a thrown object'],
    [Object.create(null), 'a thrown object'],
    [() => {}, 'a thrown function'],
  ])('makes an Error of %s that says so and keeps it as its cause', (thrown, message) => {
    const error = toError(thrown);
    expect(error.message).toBe(message);
    expect(error.cause).toBe(thrown);
  });
});
