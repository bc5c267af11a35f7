import type { ReplyHeaders } from './http-error.ts';

export const JSON_TYPE = 'application/json';
export const EVENT_STREAM_TYPE = 'text/event-stream';

/** The media type of a reply in lower case and without parameters; empty where it names none. */
export function mediaType(headers: ReplyHeaders): string {
  const value = headers['content-type'];
  const first = typeof value === 'string' ? value : value?.[0];
  if (first === undefined) return '';
  return essence(first);
}

/** A media type in lower case and without parameters. */
export function essence(type: string): string {
  // The common case costs no copy.
  if (type === JSON_TYPE || type === EVENT_STREAM_TYPE) return type;
  const end = type.indexOf(';');
  return (end === -1 ? type : type.slice(0, end)).trim().toLowerCase();
}
