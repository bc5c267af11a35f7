import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a model is sent. */
export interface ChatRequest {
  model: string;
  stream: boolean;
  messages: { role: string; content: string; tool_call_id?: string; tool_calls?: ChatCall[] }[];
  tools: { type: string; function: { name: string; description?: string; parameters: object } }[];
}

interface ChatCall {
  id: string;
  type: string;
  function: { name: string; arguments: string };
}

/** One answer of the model: a text, calls of tools, or both. */
export interface ChatAnswer {
  text?: string;
  calls?: { id: string; name: string; arguments: string }[];
  /** What goes wrong after all that. */
  error?: string;
}

/**
 * An endpoint that answers chat completions as OpenAI's does, streamed: one event for each delta, the arguments of calls
 * in pieces, the pieces of several calls among each other. What a delta has none of is null, as some endpoints have it. The
 * bytes arrive cut where no event ends.
 */
export class ChatEndpoint {
  readonly received: { path: string | undefined; headers: IncomingHttpHeaders; body: ChatRequest }[] = [];
  readonly url: string;
  readonly #server;

  private constructor(server: ReturnType<typeof createServer>, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}/v1`;
  }

  /** `answer` says what the model answers, given what it was sent; undefined is a failure of the endpoint. */
  static async start(answer: (request: ChatRequest) => ChatAnswer | undefined): Promise<ChatEndpoint> {
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request.setEncoding('utf8')) text += chunk;
      const body = JSON.parse(text) as ChatRequest;
      endpoint.received.push({ path: request.url, headers: request.headers, body });
      const answered = answer(body);
      if (answered) await stream(response, answered, body.model);
      else
        response
          .writeHead(500, { 'content-type': 'application/json' })
          .end('{"error":{"message":"overloaded"}}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    // A server on a host and port has an address with a port.
    const endpoint = new ChatEndpoint(server, (server.address() as AddressInfo).port);
    return endpoint;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

function deltasOf({ text = '', calls = [] }: ChatAnswer): object[] {
  const deltas: object[] = [{ role: 'assistant', content: '' }];
  for (const piece of inPieces(text)) deltas.push({ content: piece, tool_calls: null });
  const begun = calls.map(({ id, name }, index) => ({
    content: null,
    tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
  }));
  const pieces = calls.map(({ arguments: args }) => inPieces(args));
  const longest = Math.max(0, ...pieces.map((each) => each.length));
  const rounds = Array.from({ length: longest }, (_, round) =>
    pieces.flatMap((each, index) =>
      each[round] === undefined ? [] : [{ tool_calls: [{ index, function: { arguments: each[round] } }] }],
    ),
  );
  return [...deltas, ...begun, ...rounds.flat()];
}

function inPieces(text: string): string[] {
  return text.match(/.{1,3}/gsu) ?? [];
}

async function stream(response: ServerResponse, answer: ChatAnswer, model: string): Promise<void> {
  const last = { delta: {}, finish_reason: 'stop' };
  const choices = [...deltasOf(answer).map((delta) => ({ delta, finish_reason: null })), last];
  const events = choices.map((choice) => {
    const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model };
    return `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, ...choice }] })}\n\n`;
  });
  const error = answer.error && `data: ${JSON.stringify({ error: { message: answer.error } })}\n\n`;
  const usage = {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    choices: [],
    usage: { total_tokens: 1 },
  };
  const bytes = Buffer.from(
    `: warming up\n\n${error ? events.slice(0, -1).join('') + error : events.join('')}data: ${JSON.stringify(usage)}\n\ndata: [DONE]\n\n`,
  );
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let at = 0; at < bytes.length; at += 101) {
    response.write(bytes.subarray(at, at + 101));
    // Each in a packet of its own.
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
}
