import { StringDecoder } from 'node:string_decoder';
import { inputOf, pushThrough, timeThrough } from './framing.mjs';

const READERS = {
  floor: async () => (onMessage) => {
    const decoder = new StringDecoder('utf8');
    let rest = '';
    return (chunk) => {
      const text = decoder.write(chunk);
      if (!text.includes('\n')) {
        rest += text;
        return;
      }
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) onMessage(JSON.parse(line));
    };
  },
  mcpwire: async () => {
    const { LineDecoder } = await import('../../dist/jsonrpc/index.js');
    return (onMessage) => {
      const decoder = new LineDecoder({ message: onMessage, error: fail });
      return (chunk) => decoder.push(chunk);
    };
  },
  'sdk-v2': async () => {
    const { ReadBuffer } = await import('@modelcontextprotocol/client');
    return (onMessage) => {
      const buffer = new ReadBuffer();
      return (chunk) => {
        buffer.append(chunk);
        for (let message = buffer.readMessage(); message !== null; message = buffer.readMessage())
          onMessage(message);
      };
    };
  },
};

export async function create({ reader }) {
  const makeReader = await READERS[reader]();
  return {
    compare: () =>
      pushThrough(makeReader, inputOf('line', { messageChars: 1000, count: 50, chunkBytes: 7 }), 0),
    time: (shape) => timeThrough(makeReader, inputOf('line', shape)),
    frame: (ms, shape) => pushThrough(makeReader, inputOf('line', shape), ms),
  };
}

function fail(error) {
  throw error;
}
