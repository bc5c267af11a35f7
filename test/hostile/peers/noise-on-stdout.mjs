// Prints a banner, blank lines, bytes that are no UTF-8 and JSON that is no message around each reply.
import { flush, serve } from '../session-server.mjs';

const notUtf8 = Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]);

process.stdout.write('Server listening on stdio!\n\n');
serve({}, async (line) => {
  await flush(process.stdout, `{"level":"info"}\n\r\n`);
  await flush(process.stdout, notUtf8);
  await flush(process.stdout, `${line}null\n{"jsonrpc":"2.0",\n`);
});
