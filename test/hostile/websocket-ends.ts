import type { Socket } from 'node:net';
import type { McpError } from '../../src/jsonrpc/index.ts';
import {
  acceptWebSockets,
  type Transport,
  type WebSocketListenOptions,
  type WebSocketOptions,
} from '../../src/transport/index.ts';
import { RecordingSink } from '../transport/recording-sink.ts';
import {
  dialWebSocket,
  frame,
  maskedFrame,
  type RawHandshake,
  rawClient,
  rawServer,
} from '../transport/websocket-peers.ts';

/** One of our ends with a peer made of bytes at the other. */
export interface Ends {
  readonly transport: Transport;
  readonly sink: RecordingSink;
  readonly socket: Socket;
  /** Makes a frame as that peer has to make it. */
  readonly frame: typeof frame;
  close(): Promise<void>;
}

type Limits = Pick<WebSocketOptions, 'keepAliveMs' | 'maxMessageBytes' | 'maxBufferedBytes'>;

/** Our client, and a server that misbehaves. */
export async function clientEnds(options: Limits = {}): Promise<Ends> {
  let take = (_: Socket) => {};
  const connected = new Promise<Socket>((resolve) => {
    take = resolve;
  });
  const server = await rawServer(take);
  const { transport, sink } = await dialWebSocket(server.url, options);
  const socket = await connected;
  return {
    transport,
    sink,
    socket,
    frame,
    async close() {
      socket.destroy();
      await transport.close();
      await server.close();
    },
  };
}

/** Our server, with what its clients' transports deliver. */
export async function listen(options: WebSocketListenOptions = {}) {
  const errors: McpError[] = [];
  const clients: { transport: Transport; sink: RecordingSink }[] = [];
  const waiting: (() => void)[] = [];
  const listener = await acceptWebSockets(
    { onError: (error) => errors.push(error), ...options },
    async (transport) => {
      const sink = new RecordingSink();
      await transport.start(sink);
      clients.push({ transport, sink });
      for (const wake of waiting.splice(0)) wake();
    },
  );
  const client = async (number: number) => {
    while (clients.length < number) await new Promise<void>((resolve) => waiting.push(resolve));
    return clients[number - 1] as (typeof clients)[number];
  };
  return { listener, url: listener.url ?? '', client, errors };
}

/** Our server, and a client that misbehaves. */
export async function serverEnds(options: Limits = {}, handshake: RawHandshake = {}): Promise<Ends> {
  const { listener, url, client } = await listen(options);
  const { socket } = await rawClient(url, handshake);
  socket.on('error', () => {}); // The server may break off: that is what is tested.
  return {
    ...(await client(1)),
    socket,
    frame: maskedFrame,
    async close() {
      socket.destroy();
      await listener.close();
    },
  };
}

/** Both sides of a test that holds for either of our ends. */
export const SIDES = [
  ['a client', clientEnds],
  ['a server', serverEnds],
] as const;
