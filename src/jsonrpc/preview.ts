const PREVIEW_CHARS = 120;

/** Quotes what a peer wrote for an error message: cut at 120 characters, control characters escaped. */
export function preview(text: string): string {
  return JSON.stringify(text.length > PREVIEW_CHARS ? `${text.slice(0, PREVIEW_CHARS)}…` : text);
}
