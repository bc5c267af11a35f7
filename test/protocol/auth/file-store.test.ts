import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileTokenStore } from '../../../src/protocol/index.ts';

const HOLDER = fileURLToPath(new URL('hosts/holds-a-lock.mjs', import.meta.url));

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcpwire-store-'));
  path = join(folder, 'deep', 'tokens.json');
});

afterEach(() => rm(folder, { recursive: true }));

describe('the file of tokens', () => {
  it('keeps values, for everyone who opens it', async () => {
    const store = fileTokenStore(path);
    expect(await store.get('a')).toBeUndefined();
    await store.set('a', { x: 1 });
    await store.set('b', { y: [2] });
    await store.set('a', { x: 3 });
    const other = fileTokenStore(path);
    expect(await other.get('a')).toEqual({ x: 3 });
    expect(await other.get('b')).toEqual({ y: [2] });
    await other.delete('a');
    await other.delete('nothing');
    expect(await store.get('a')).toBeUndefined();
    expect(await store.get('toString')).toBeUndefined();
  });

  it.skipIf(process.platform === 'win32')('can be read by its owner only', async () => {
    await fileTokenStore(path).set('a', { x: 1 });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'deep'))).mode & 0o777).toBe(0o700);
    await chmod(path, 0o644);
    await expect(fileTokenStore(path).get('a')).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: `Cannot read the tokens in "${path}": others can read it; set its mode to 600`,
    });
  });

  it.skipIf(process.platform === 'win32')(
    'takes the place of a link, and writes to nothing behind it',
    async () => {
      const other = join(folder, 'other.json');
      await writeFile(other, '{}', { mode: 0o600 });
      await symlink(other, join(folder, 'tokens.json'));
      const store = fileTokenStore(join(folder, 'tokens.json'));
      await store.set('a', { x: 1 });
      expect(await readFile(other, 'utf8')).toBe('{}');
      expect(await store.get('a')).toEqual({ x: 1 });
    },
  );

  it('leaves nothing beside itself behind', async () => {
    const store = fileTokenStore(path);
    await store.set('a', { x: 1 });
    await store.lock?.('a', async () => store.set('a', { x: 2 }));
    expect(await readdir(join(folder, 'deep'))).toEqual(['tokens.json']);
  });

  it('loses nothing when many write at once', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => fileTokenStore(path).set(`key ${index}`, { index })),
    );
    expect(Object.keys(JSON.parse(await readFile(path, 'utf8')))).toHaveLength(20);
  });

  it.each(['{"a": {"secret": ', '[1]', ''])('is not guessed at when it holds %j', async (text) => {
    const store = fileTokenStore(join(folder, 'tokens.json'));
    await writeFile(join(folder, 'tokens.json'), text, { mode: 0o600 });
    const error = await Promise.resolve(store.get('a')).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'UNAUTHORIZED', message: expect.stringContaining('no JSON object') });
    expect(String(error)).not.toContain('secret');
    await expect(store.set('a', {})).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    expect(await readFile(join(folder, 'tokens.json'), 'utf8')).toBe(text);
  });

  it('is not read when it is too large', async () => {
    const store = fileTokenStore(join(folder, 'tokens.json'));
    await writeFile(join(folder, 'tokens.json'), ' '.repeat(5 * 1024 * 1024), { mode: 0o600 });
    await expect(store.get('a')).rejects.toThrow(/exceeds 4194304 bytes/);
  });
});

it('keeps what it holds when more does not fit', async () => {
  const store = fileTokenStore(path);
  await store.set('a', { x: 1 });
  await expect(store.set('b', { y: 'y'.repeat(5 * 1024 * 1024) })).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
    message: expect.stringContaining('it would exceed 4194304 bytes'),
  });
  expect(await store.get('a')).toEqual({ x: 1 });
  expect(await readdir(join(folder, 'deep'))).toEqual(['tokens.json']);
});

describe('the lock of a key', () => {
  it('is held by one at a time, and not by those who want another key', async () => {
    const store = fileTokenStore(path);
    const log: string[] = [];
    const enter = (key: string, name: string) =>
      fileTokenStore(path).lock?.(key, async () => {
        log.push(`${name} in`);
        await new Promise(setImmediate);
        log.push(`${name} out`);
      });
    await Promise.all([enter('a', '1'), enter('a', '2'), enter('a', '3')]);
    for (let at = 0; at < log.length; at += 2) {
      expect(log[at + 1]).toBe(log[at]?.replace('in', 'out'));
    }
    await store.lock?.('a', async () => enter('b', 'other'));
    expect(log).toHaveLength(8);
  });

  it('is let go when the work fails', async () => {
    const store = fileTokenStore(path);
    const work = async () => {
      throw new Error('no');
    };
    await expect(store.lock?.('a', work)).rejects.toThrow('no');
    expect(await store.lock?.('a', async () => 'yes')).toBe('yes');
  });

  it('is held across processes, and taken over from one that died', async () => {
    const child = fork(HOLDER, [path]);
    await once(child, 'message');
    let isIn = false;
    const waiting = fileTokenStore(path).lock?.('a', async () => {
      isIn = true;
    });
    child.send('go on');
    await once(child, 'message');
    expect(isIn).toBe(false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await waiting;
    expect(isIn).toBe(true);
    expect(await readdir(join(folder, 'deep'))).toEqual([]);
  });
});
