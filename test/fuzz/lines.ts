import type { Buffer } from 'node:buffer';
import { LineDecoder } from '../../src/jsonrpc/index.ts';

/** What a framer said, in order: a parsed value, or the code of an error. */
export type Heard = { message: unknown } | { error: string };

export function readLines(chunks: readonly Uint8Array[], maxLineBytes?: number): Heard[] {
  const heard: Heard[] = [];
  const decoder = new LineDecoder(
    {
      message: (message) => heard.push({ message }),
      error: (error) => heard.push({ error: error.code }),
    },
    maxLineBytes === undefined ? {} : { maxLineBytes },
  );
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return heard;
}

/** The framing rules once more, one line at a time and with nothing clever: what the framer is compared with. */
export function readPlainly(bytes: Buffer, maxLineBytes: number): Heard[] {
  const heard: Heard[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(0x0a, start);
    const end = newline === -1 ? bytes.length : newline;
    heard.push(...readPlainLine(bytes.subarray(start, end), maxLineBytes, start === 0));
    start = end + 1;
  }
  return heard;
}

function readPlainLine(bytes: Buffer, maxLineBytes: number, isFirst: boolean): Heard[] {
  const line = bytes.at(-1) === 0x0d ? bytes.subarray(0, -1) : bytes;
  if (line.length > maxLineBytes) return [{ error: 'LINE_TOO_LONG' }];
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
  } catch {
    return [{ error: 'INVALID_UTF8' }];
  }
  if (isFirst && text.startsWith('\ufeff')) text = text.slice(1);
  if (/^[ \t\r]*$/.test(text)) return [];
  try {
    return [{ message: JSON.parse(text) }];
  } catch {
    return [{ error: 'INVALID_JSON' }];
  }
}
