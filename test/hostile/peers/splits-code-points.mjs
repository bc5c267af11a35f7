// Sends each reply one byte at a time, so that every code point of more than one byte arrives in pieces.
import { setImmediate } from 'node:timers/promises';
import { flush, serve } from '../session-server.mjs';

let last = Promise.resolve();

serve({}, (line) => {
  last = last.then(async () => {
    for (const byte of Buffer.from(line)) {
      await flush(process.stdout, Uint8Array.of(byte));
      await setImmediate();
    }
  });
  return last;
});
