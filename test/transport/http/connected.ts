import type { JsonRpcMessage } from '../../../src/jsonrpc/index.ts';
import { type HttpClientOptions, HttpClientTransport } from '../../../src/transport/index.ts';
import { RecordingSink } from '../recording-sink.ts';
import { closeBehindTest } from './scripted-server.ts';

/** A started client transport with a sink that remembers. */
export async function connected(
  url: string,
  options?: HttpClientOptions,
): Promise<{ transport: HttpClientTransport; sink: RecordingSink }> {
  const transport = new HttpClientTransport(url, options);
  const sink = new RecordingSink();
  await transport.start(sink);
  closeBehindTest(() => transport.close());
  return { transport, sink };
}

export const request = (id: number | string, method = 'tools/call', params = {}): JsonRpcMessage => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});

export const notification: JsonRpcMessage = { jsonrpc: '2.0', method: 'notifications/initialized' };

/** What a promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('It was expected to fail');
}
