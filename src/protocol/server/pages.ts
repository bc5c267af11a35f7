import { Buffer } from 'node:buffer';
import { INVALID_PARAMS, RpcError } from '../../jsonrpc/index.ts';

/** One page of a list: its items, and the cursor of the next page where there is one. */
export interface ListPage<Item> {
  items: readonly Item[];
  nextCursor?: string;
}

/**
 * Cuts one page out of a list. A cursor names the last item of the page before it, so that items which come and go
 * elsewhere in the list cost nothing; when that very item is gone the cursor is refused and the client starts anew.
 *
 * @throws RpcError -32602 for a cursor that this server did not make for this list, or whose item is gone.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
 */
export function cutPage<Item>(
  method: string,
  items: readonly Item[],
  keyOf: (item: Item) => string,
  cursor: unknown,
  pageSize: number,
): ListPage<Item> {
  if (cursor === undefined && items.length <= pageSize) return { items };
  const start = cursor === undefined ? 0 : positionAfter(method, items, keyOf, cursor);
  const end = Math.min(start + pageSize, items.length);
  const last = items[end - 1];
  const page: ListPage<Item> = { items: items.slice(start, end) };
  if (end < items.length && last !== undefined) page.nextCursor = encodeCursor(method, keyOf(last));
  return page;
}

function positionAfter<Item>(
  method: string,
  items: readonly Item[],
  keyOf: (item: Item) => string,
  cursor: unknown,
): number {
  const key = decodeCursor(method, cursor);
  const index = key === undefined ? -1 : items.findIndex((item) => keyOf(item) === key);
  if (index === -1)
    throw new RpcError(INVALID_PARAMS, `Invalid cursor for ${method}: start again without one`);
  return index + 1;
}

function encodeCursor(method: string, key: string): string {
  return Buffer.from(JSON.stringify([method, key])).toString('base64url');
}

function decodeCursor(method: string, cursor: unknown): string | undefined {
  if (typeof cursor !== 'string') return undefined;
  try {
    const decoded: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (!Array.isArray(decoded) || decoded.length !== 2 || decoded[0] !== method) return undefined;
    const key: unknown = decoded[1];
    // Decoding skips what is no Base64: only the very text that was made is a cursor.
    return typeof key === 'string' && encodeCursor(method, key) === cursor ? key : undefined;
  } catch {
    // Any text may come as a cursor.
    return undefined;
  }
}
