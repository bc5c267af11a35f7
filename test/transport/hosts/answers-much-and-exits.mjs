// A server on its standard streams that sends eight messages of 1 MiB and one last one, closes and exits at once.
import { StreamTransport } from '../../../dist/transport/index.js';

const transport = new StreamTransport(process.stdin, process.stdout);
await transport.start({ message() {}, error() {}, close() {} });
for (let n = 0; n < 8; n += 1) {
  transport.send({ jsonrpc: '2.0', method: 'much', params: { n, text: '€'.repeat(2 ** 20 / 3) } });
}
transport.send({ jsonrpc: '2.0', method: 'last' });
await transport.close();
process.exit(0);
