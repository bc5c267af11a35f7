export { createLinkedPair } from './memory.ts';
export { type StreamOptions, StreamTransport } from './stream.ts';
export type { Transport, TransportSink } from './transport.ts';
