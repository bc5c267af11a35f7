import { isJsonObject, type JsonObject, McpError } from '../../jsonrpc/index.ts';

/** How many pages of one list are read by default. */
export const DEFAULT_MAX_PAGES = 1000;

/**
 * Reads a list to its end. Cursors are opaque: any string is one, the empty one too.
 *
 * @param fetchPage Asks for one page; without a cursor, the first.
 * @param member Where a page keeps its items.
 * @throws McpError `PAGINATION` when a cursor comes twice or there are more than `maxPages`, `INVALID_RESULT` when a
 *   page holds no list. Nothing read so far is returned then.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
 */
export async function readAllPages(
  method: string,
  member: string,
  maxPages: number,
  fetchPage: (cursor: string | undefined) => Promise<JsonObject>,
): Promise<unknown[]> {
  const items: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const page = await fetchPage(cursor);
    const found = page[member];
    if (!Array.isArray(found)) {
      throw new McpError(
        'INVALID_RESULT',
        `Cannot read the result of "${method}": "${member}" is not an array`,
      );
    }
    // Not spread into push: a page may hold more items than a call can take arguments.
    for (const item of found) items.push(item);
    const next = page.nextCursor;
    if (typeof next !== 'string') return items;
    if (seen.has(next)) {
      throw new McpError(
        'PAGINATION',
        `Cannot read "${method}" to its end: cursor ${JSON.stringify(next)} came twice`,
      );
    }
    if (pages >= maxPages) {
      throw new McpError(
        'PAGINATION',
        `Cannot read "${method}" to its end: over ${maxPages} pages; raise maxPages`,
      );
    }
    seen.add(next);
    cursor = next;
  }
}

/** Keeps the items that have the members they are known by; each of the others costs a warning. */
export function keepValid<Item>(
  method: string,
  items: readonly unknown[],
  required: { readonly [member: string]: 'string' | 'object' },
  warn: (warning: McpError) => void,
): Item[] {
  const kept: Item[] = [];
  for (const item of items) {
    const fault = findFault(item, required);
    // Sound: the members that callers rely on were checked; the rest is declared optional.
    if (fault === undefined) kept.push(item as Item);
    else warn(new McpError('INVALID_RESULT', `Skipped an item of "${method}": ${fault}`));
  }
  return kept;
}

function findFault(
  item: unknown,
  required: { readonly [member: string]: 'string' | 'object' },
): string | undefined {
  if (!isJsonObject(item)) return 'it is no object';
  for (const [member, type] of Object.entries(required)) {
    const value = item[member];
    const fits = type === 'string' ? typeof value === 'string' : isJsonObject(value);
    if (!fits) return `"${member}" is not ${type === 'string' ? 'a string' : 'an object'}${nameOf(item)}`;
  }
  return undefined;
}

function nameOf(item: JsonObject): string {
  return typeof item.name === 'string' ? ` (name ${JSON.stringify(item.name)})` : '';
}
