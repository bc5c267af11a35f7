export { safeEnvironment } from './environment.ts';
export { createLinkedPair } from './memory.ts';
export { DEFAULT_GRACE_MS, type ProcessOptions, type ProcessSpec, ProcessTransport } from './process.ts';
export { ProcessError } from './process-error.ts';
export { DEFAULT_MAX_BUFFERED_BYTES, type StreamOptions, StreamTransport } from './stream.ts';
export type { Transport, TransportSink } from './transport.ts';
