import type { ReplyHeaders } from './http-error.ts';

export const JSON_TYPE = 'application/json';
export const EVENT_STREAM_TYPE = 'text/event-stream';

/** The media type of a reply in lower case and without parameters; empty where it names none. */
export function mediaType(headers: ReplyHeaders): string {
  const value = headers['content-type'];
  const first = typeof value === 'string' ? value : value?.[0];
  if (first === undefined) return '';
  // The common case costs no copy.
  if (first === JSON_TYPE || first === EVENT_STREAM_TYPE) return first;
  const end = first.indexOf(';');
  return (end === -1 ? first : first.slice(0, end)).trim().toLowerCase();
}
