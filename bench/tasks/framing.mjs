// Bytes for framers, and how fast they are read.
import { isDeepStrictEqual } from 'node:util';
import { seededText } from '../texts.mjs';

const made = new Map();

/** Messages as bytes in chunks of one size: `line` for newline-delimited JSON, `event` for server-sent events. */
export function inputOf(framing, { messageChars, count, chunkBytes }) {
  const key = `${framing} ${messageChars} ${count} ${chunkBytes}`;
  let input = made.get(key);
  if (!input) {
    const messages = Array.from({ length: count }, (_, id) => {
      const content = [{ type: 'text', text: seededText(messageChars, id + 1) }];
      return { jsonrpc: '2.0', id, result: { content } };
    });
    const frame = framing === 'line' ? (json) => `${json}\n` : (json) => `event: message\ndata: ${json}\n\n`;
    const bytes = Buffer.from(messages.map((message) => frame(JSON.stringify(message))).join(''));
    const chunks = [];
    for (let at = 0; at < bytes.length; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes));
    input = { messages, chunks, bytes: bytes.length };
    made.set(key, input);
  }
  return input;
}

/** Reads an input again and again for a while: how many megabytes in a second. Looks at what was read when `ms` is 0. */
export function pushThrough(makeReader, { messages, chunks, bytes }, ms) {
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  let passes = 0;
  let ended = start;
  do {
    const read = [];
    const push = makeReader((value) => read.push(value));
    for (const chunk of chunks) push(chunk);
    if (read.length !== messages.length) throw new Error(`${read.length} of ${messages.length} were read`);
    if (ms === 0 && !isDeepStrictEqual(read, messages))
      throw new Error('Other messages were read than were written');
    passes++;
    ended = performance.now();
  } while (ended - start < ms);
  const { user, system } = process.cpuUsage(cpuBefore);
  const megabytes = (bytes * passes) / 1e6;
  return {
    value: megabytes / ((ended - start) / 1000),
    cpu: (user + system) / megabytes,
  };
}

/** How long one input takes, in milliseconds. */
export function timeThrough(makeReader, input) {
  const start = performance.now();
  const { cpu } = pushThrough(makeReader, input, 1);
  return { value: performance.now() - start, cpu, cpuMs: (cpu * input.bytes) / 1e9 };
}
