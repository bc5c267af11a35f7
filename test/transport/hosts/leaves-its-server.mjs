// Starts the server that its arguments name, prints the server's pid once it answers, and then exits without closing
// it (`exit`), or waits to be killed (`wait`).
import { ProcessTransport } from '../../../dist/transport/index.js';

const [end, ...args] = process.argv.slice(2);
const transport = new ProcessTransport({ command: process.execPath, args });
await new Promise((resolve, reject) => {
  transport
    .start({ message: resolve, error: reject, close: reject })
    .then(() => transport.send({ jsonrpc: '2.0', id: 1, method: 'ping' }), reject);
});
await new Promise((resolve) => process.stdout.write(`${transport.pid}\n`, resolve));
if (end === 'exit') process.exit(0);
