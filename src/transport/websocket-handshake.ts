import type { Agent, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { McpError } from '../jsonrpc/index.ts';
import { loadPackage } from '../jsonrpc/load-package.ts';
import { connectError } from './connect-error.ts';
import { HttpError } from './http/http-error.ts';
import type { HeaderMap } from './http/round-trip.ts';
import { CLOSE_GRACE_MS, SUBPROTOCOL } from './websocket-channel.ts';

export interface HandshakeOptions {
  readonly name: string;
  readonly headers: HeaderMap;
  readonly agent: Agent | undefined;
  readonly maxMessageBytes: number;
}

/** A WebSocket that has just opened, paused, and the socket below it. */
export interface OpenWebSocket {
  readonly ws: WebSocket;
  readonly socket: Socket;
}

/** How much of what a refusing server says is read for the error message, and for how long. */
const REFUSAL_BYTES = 512;
const REFUSAL_MS = 1000;
const WHITE_SPACE = /\s+/g;

/**
 * Makes a connection and goes through the opening handshake.
 *
 * @param signal Gives up, with the signal's reason.
 * @throws McpError, HttpError as {@link WebSocketTransport.start} does.
 */
export async function openWebSocket(
  url: URL,
  options: HandshakeOptions,
  signal: AbortSignal,
): Promise<OpenWebSocket> {
  const { WebSocket } = await loadPackage('ws', () => import('ws'));
  signal.throwIfAborted();
  const { name, headers, agent, maxMessageBytes } = options;
  const wsOptions = {
    headers,
    ...(agent && { agent }),
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
    closeTimeout: CLOSE_GRACE_MS,
  };
  const ws = new WebSocket(url, [SUBPROTOCOL], wsOptions);
  return new Promise((resolve, reject) => {
    const onAbort = () => fail(signal.reason);
    const settle = () => signal.removeEventListener('abort', onAbort);
    const fail = (error: unknown) => {
      settle();
      reject(error);
      ws.terminate();
    };
    let socket: Socket | undefined;
    signal.addEventListener('abort', onAbort);
    ws.on('upgrade', (response) => {
      socket = response.socket;
      const selected = response.headers['sec-websocket-protocol'];
      if (selected !== SUBPROTOCOL) fail(subprotocolError(name, selected));
    });
    ws.on('unexpected-response', (_, response) => {
      void readRefusal(name, response).then(fail);
    });
    // Stays: terminating a connection that is not yet open is an error as well.
    ws.on('error', (cause) => fail(connectError(name, cause)));
    ws.on('open', () => {
      settle();
      // Messages may have come with the handshake, and nobody listens for them yet.
      ws.pause();
      // Sound: what opened was upgraded before.
      resolve({ ws, socket: socket as Socket });
    });
  });
}

function subprotocolError(name: string, selected: string | undefined): McpError {
  const found = selected === undefined ? 'no subprotocol' : `the subprotocol ${JSON.stringify(selected)}`;
  return new McpError(
    'TRANSPORT_FAILED',
    `Cannot connect to "${name}": it selected ${found}; a server of MCP selects "${SUBPROTOCOL}"`,
  );
}

async function readRefusal(name: string, response: IncomingMessage): Promise<HttpError> {
  const { statusCode: status = 0, statusMessage = '', headers } = response;
  const bodyPreview = await firstText(response);
  const target = headers.location === undefined ? '' : ` and points to ${JSON.stringify(headers.location)}`;
  const said = bodyPreview === '' ? '' : `: ${bodyPreview}`;
  const message = `Cannot connect to "${name}": the server answered HTTP ${status} ${statusMessage}${target}${said}`;
  return new HttpError(message, { status, headers, bodyPreview, sessionLost: false });
}

/** The first words of a body, whatever becomes of the rest. */
function firstText(response: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const finish = () => {
      clearTimeout(timer);
      const text = Buffer.concat(chunks).toString('utf8', 0, REFUSAL_BYTES);
      resolve(text.replace(WHITE_SPACE, ' ').trim());
    };
    const timer = setTimeout(finish, REFUSAL_MS);
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= REFUSAL_BYTES) finish();
    });
    response.on('end', finish);
    response.on('error', finish);
    response.on('close', finish);
  });
}
