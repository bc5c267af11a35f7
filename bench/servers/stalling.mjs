// A server as many are: Nagle's algorithm on, and a reply written in pieces. On a used connection each reply then waits
// for an acknowledgement that the client's kernel delays.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { answer } from './floor.mjs';

export function serveHttp() {
  const server = createServer({ noDelay: false }, async (request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405).end();
      return;
    }
    const message = await json(request);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    response.write('event: message\n');
    await nextTurn();
    response.write(`data: ${answer(message)}\n\n`);
    await nextTurn();
    response.end();
  });
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
}

/** Each piece shall be a write of its own. */
function nextTurn() {
  return new Promise((resolve) => setImmediate(resolve));
}
