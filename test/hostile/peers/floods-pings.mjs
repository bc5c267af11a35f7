// Never reads, and sends pings without end, as fast as they are read: the answers have nowhere to go.
import { flush } from '../session-server.mjs';

for (let id = 0; ; ) {
  let pings = '';
  for (const end = id + 1000; id < end; id += 1) pings += `{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`;
  await flush(process.stdout, pings);
}
