import type { Socket } from 'node:net';
import { type JsonRpcMessage, McpError } from '../jsonrpc/index.ts';
import { type StreamOptions, StreamTransport } from './stream.ts';
import type { Transport, TransportSink } from './transport.ts';

/**
 * The server's end of a socket. A client whose first line is no JSON is cut off: every web page can make a browser send
 * an HTTP request to a port of this machine, with messages for its body.
 */
export class AcceptedSocket implements Transport {
  readonly name: string;
  readonly joinsMessages = true;
  readonly #stream: StreamTransport;
  /** Whether the client has shown that it speaks JSON. */
  #known = false;
  #refusal: McpError | undefined;

  constructor(socket: Socket, options: StreamOptions & { name: string }) {
    this.name = options.name;
    this.#stream = new StreamTransport(socket, socket, options);
  }

  start(sink: TransportSink): Promise<void> {
    return this.#stream.start({
      message: (value) => {
        this.#known = true;
        sink.message(value);
      },
      error: (error, lost) => {
        if (this.#known) sink.error(error, lost);
        else this.#refuse(error);
      },
      close: (reason) => sink.close(this.#refusal ?? reason),
    });
  }

  send(message: JsonRpcMessage): void | Promise<void> {
    return this.#stream.send(message);
  }

  close(): Promise<void> {
    return this.#stream.close();
  }

  #refuse(cause: McpError): void {
    const message = `Cut off "${this.name}": its first line is no message: ${cause.message}`;
    this.#refusal = new McpError('TRANSPORT_FAILED', message, { cause });
    void this.#stream.close();
  }
}
