import type { Buffer } from 'node:buffer';
import { SseDecoder } from '../../src/jsonrpc/index.ts';

/** All that a decoder says about these chunks, in order, and where the stream could be resumed. */
export function readEvents(chunks: readonly Buffer[], maxEventBytes = 1_000_000): unknown[] {
  const heard: unknown[] = [];
  const decoder = new SseDecoder(
    {
      event: (event) => heard.push(event),
      comment: () => heard.push('comment'),
      error: (error) => heard.push(error.code),
    },
    { maxEventBytes },
  );
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return [...heard, decoder.lastEventId, decoder.retryMs];
}
