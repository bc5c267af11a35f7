import { StringDecoder } from 'node:string_decoder';
import { inputOf, pushThrough } from './framing.mjs';

const READERS = {
  floor: async () => (onData) => {
    const decoder = new StringDecoder('utf8');
    let rest = '';
    return (chunk) => {
      const text = decoder.write(chunk);
      rest += text;
      if (!text.includes('\n')) return;
      const events = rest.split('\n\n');
      rest = events.pop();
      for (const event of events) onData(event.slice(event.indexOf('data: ') + 6));
    };
  },
  mcpwire: async () => {
    const { SseDecoder } = await import('../../dist/jsonrpc/index.js');
    return (onData) => {
      const decoder = new SseDecoder({ event: ({ data }) => onData(data), error: fail });
      return (chunk) => decoder.push(chunk);
    };
  },
  'eventsource-parser': async () => {
    const { createParser } = await import('eventsource-parser');
    return (onData) => {
      const decoder = new TextDecoder();
      const parser = createParser({ onEvent: ({ data }) => onData(data) });
      return (chunk) => parser.feed(decoder.decode(chunk, { stream: true }));
    };
  },
};

export async function create({ reader }) {
  const makeFramer = await READERS[reader]();
  const makeReader = (onMessage) => makeFramer((data) => onMessage(JSON.parse(data)));
  return {
    compare: () =>
      pushThrough(makeReader, inputOf('event', { messageChars: 1000, count: 50, chunkBytes: 7 }), 0),
    frame: (ms, shape) => pushThrough(makeReader, inputOf('event', shape), ms),
  };
}

function fail(error) {
  throw error;
}
