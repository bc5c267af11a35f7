import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Output } from '../../src/cli/output.ts';

describe('Output', () => {
  it('shows control characters on a terminal as pictures, so that no server can take it over', async () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 100 });
    const output = new Output(terminal, new PassThrough());
    await output.print('a\u001b]0;title\u0007\tb\r\nc\u009b');
    expect(terminal.read().toString()).toBe('a␛]0;title␇\tb␍\nc␡\n');
    expect(output.columns).toBe(100);
  });

  it('takes a terminal that does not know its width for one of 80 columns', () => {
    for (const size of [{}, { columns: 0 }]) {
      const terminal = Object.assign(new PassThrough(), { isTTY: true, ...size });
      expect(new Output(terminal, new PassThrough()).columns).toBe(80);
    }
  });

  it('leaves them as they are in a pipe, which has no width', async () => {
    const pipe = new PassThrough();
    const output = new Output(pipe, new PassThrough());
    await output.print('\u001b[1m\n');
    expect(pipe.read().toString()).toBe('\u001b[1m\n');
    expect(output.columns).toBe(Number.POSITIVE_INFINITY);
  });

  it('drops what it prints after the reader went away', async () => {
    const pipe = new PassThrough();
    const output = new Output(pipe, new PassThrough());
    pipe.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    await output.print('unread');
    await output.printJson({});
    expect(pipe.destroyed).toBe(true);
  });
});
