import { mkdir, open, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isJsonObject, type JsonObject, McpError } from '../../jsonrpc/index.ts';
import { nodeCrypto } from '../crypto.ts';
import { codeOf, withFileLock } from './file-lock.ts';
import type { TokenStore } from './store.ts';

const MAX_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Keeps everything in one file that only its owner can read (mode 0600 where the system has modes). It may be used by
 * many processes at once: each change replaces the file as a whole, and a token is renewed by one process for all.
 *
 * Its methods reject when the file cannot be read or written, or others could read it.
 *
 * @param path The file; it and its folder are made when something is to be kept.
 */
export function fileTokenStore(path: string): TokenStore {
  const change = async (edit: (values: JsonObject) => void): Promise<void> => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await withFileLock(`${path}.lock`, async () => {
      const values = await readValues(path);
      edit(values);
      const text = `${JSON.stringify(values, null, 2)}\n`;
      // What could not be read any more is not written: all other values would be lost with it.
      if (Buffer.byteLength(text) > MAX_FILE_BYTES) {
        const message = `Cannot keep more tokens in "${path}": it would exceed ${MAX_FILE_BYTES} bytes; remove some`;
        throw new McpError('UNAUTHORIZED', message);
      }
      await replace(path, text);
    });
  };
  return {
    async get(key) {
      const values = await readValues(path);
      const value = Object.hasOwn(values, key) ? values[key] : undefined;
      return isJsonObject(value) ? value : undefined;
    },
    set: (key, value) =>
      change((values) => {
        values[key] = value;
      }),
    async delete(key) {
      if (!Object.hasOwn(await readValues(path), key)) return;
      await change((values) => {
        delete values[key];
      });
    },
    async lock(key, work) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const name = nodeCrypto().createHash('sha256').update(key).digest('hex').slice(0, 16);
      return withFileLock(`${path}.${name}.lock`, work);
    },
  };
}

async function readValues(path: string): Promise<JsonObject> {
  const text = await readPrivate(path);
  if (text === undefined) return {};
  try {
    const values: unknown = JSON.parse(text);
    if (isJsonObject(values)) return values;
  } catch {
    // The message below says it; the parser's would quote what must stay secret.
  }
  throw unreadable(path, 'it holds no JSON object; remove it to begin anew');
}

async function readPrivate(path: string): Promise<string | undefined> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { mode, size } = await file.stat();
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw unreadable(path, `others can read it; set its mode to 600`);
    }
    if (size > MAX_FILE_BYTES) throw unreadable(path, `it exceeds ${MAX_FILE_BYTES} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Puts the whole file in place in one step: a reader sees the old one or the new one. */
async function replace(path: string, text: string): Promise<void> {
  const next = `${path}.${nodeCrypto().randomUUID()}.new`;
  try {
    await writeFile(next, text, { mode: 0o600, flag: 'wx', flush: true });
    await rename(next, path);
  } catch (error) {
    await unlink(next).catch(() => {}); // It may not have been made.
    throw error;
  }
}

function unreadable(path: string, why: string): McpError {
  return new McpError('UNAUTHORIZED', `Cannot read the tokens in "${path}": ${why}`);
}
