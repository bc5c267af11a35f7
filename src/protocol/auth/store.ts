import type { JsonObject } from '../../jsonrpc/index.ts';

/**
 * Keeps what authorization yields: access and refresh tokens, registrations of this client, keys. Keys and values mean
 * nothing to it; the values are JSON and hold secrets. One store is for one user. What was set has to stay until it is
 * deleted: tokens that are gone mean that the user has signed out, wherever that was.
 */
export interface TokenStore {
  get(key: string): JsonObject | undefined | Promise<JsonObject | undefined>;
  set(key: string, value: JsonObject): void | Promise<void>;
  /** Forgets a value; one that is not there is no error. */
  delete(key: string): void | Promise<void>;
  /**
   * Runs `work` while nobody else who shares the store runs any with the same key: a token is then renewed once, not
   * by every process. Absent: nobody shares it.
   */
  lock?<T>(key: string, work: () => Promise<T>): Promise<T>;
}

/** Keeps everything for as long as this process lives, and only in its memory. */
export function memoryTokenStore(): TokenStore {
  const values = new Map<string, string>();
  const locks = new Map<string, Promise<unknown>>();
  return {
    get: (key) => {
      const value = values.get(key);
      return value === undefined ? undefined : JSON.parse(value);
    },
    set: (key, value) => void values.set(key, JSON.stringify(value)),
    delete: (key) => void values.delete(key),
    async lock(key, work) {
      const before = locks.get(key)?.catch(() => {});
      const turn = (async () => {
        await before;
        return work();
      })();
      locks.set(key, turn);
      try {
        return await turn;
      } finally {
        if (locks.get(key) === turn) locks.delete(key);
      }
    },
  };
}
