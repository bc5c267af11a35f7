export * from './bridge/index.ts';
export * from './jsonrpc/index.ts';
export * from './protocol/index.ts';
export * from './transport/index.ts';
