export { createLinkedPair } from './memory.ts';
export { DEFAULT_MAX_BUFFERED_BYTES, type StreamOptions, StreamTransport } from './stream.ts';
export type { Transport, TransportSink } from './transport.ts';
