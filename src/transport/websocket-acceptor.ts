import type { Server as HttpServer, IncomingMessage } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import { McpError, toError } from '../jsonrpc/index.ts';
import { Clients, type OnClient } from './clients.ts';
import { GOING_AWAY, INTERNAL_FAILURE } from './close-code.ts';
import type { GuardRules } from './http/guard.ts';
import type { Refusal } from './http/refusal.ts';
import { checkUpgrade, pathOf, refusal, refuseUpgrade } from './upgrade.ts';
import { resolvesWithin } from './wait.ts';
import { type ChannelLimits, WebSocketChannel } from './websocket-channel.ts';
import type { WebSocketClientInfo, WebSocketListener } from './websocket-listener.ts';

/** What an {@link Acceptor} needs to know; without defaults. */
export interface AcceptSettings {
  readonly path: string;
  readonly rules: GuardRules;
  readonly limits: ChannelLimits;
  readonly authorize: ((request: IncomingMessage) => unknown) | undefined;
  readonly maxConnections: number;
  readonly handshakeTimeoutMs: number;
  readonly onError: (error: McpError) => void;
}

export interface AcceptorParts {
  /** Knows the handshake. */
  readonly handshaker: WebSocketServer;
  readonly settings: AcceptSettings;
  readonly onClient: OnClient<[WebSocketClientInfo]>;
}

/** Turns requests to upgrade into clients. */
export class Acceptor implements WebSocketListener {
  readonly url: string | undefined;
  readonly #server: HttpServer | HttpsServer;
  readonly #handshaker: WebSocketServer;
  readonly #settings: AcceptSettings;
  readonly #onClient: OnClient<[WebSocketClientInfo]>;
  readonly #handshakes = new Set<Duplex>();
  readonly #clients: Clients;
  #closing: Promise<void> | undefined;

  /** @param url Given for a server of our own, which is closed at the end. */
  constructor(
    server: HttpServer | HttpsServer,
    url: string | undefined,
    { handshaker, settings, onClient }: AcceptorParts,
  ) {
    this.url = url;
    this.#server = server;
    this.#handshaker = handshaker;
    this.#settings = settings;
    this.#onClient = onClient;
    this.#clients = new Clients(settings.onError);
    server.on('upgrade', this.#onUpgrade);
  }

  get connections(): number {
    return this.#clients.size;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#server.off('upgrade', this.#onUpgrade);
    for (const socket of this.#handshakes) socket.destroy();
    const isOwn = this.url !== undefined;
    const closed = isOwn && new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#clients.close();
    if (isOwn) this.#server.closeAllConnections();
    await closed;
  }

  readonly #onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const isForOthers = pathOf(request) !== this.#settings.path && this.#server.listenerCount('upgrade') > 1;
    if (!isForOthers) void this.#handshake(request, socket, head);
  };

  async #handshake(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // A client that breaks off costs nothing but itself; that it is gone is seen when the socket closes.
    socket.on('error', () => {});
    const refused = checkUpgrade(request, this.#settings.rules) ?? this.#checkRoom();
    if (refused) return refuseUpgrade(socket, refused);
    this.#handshakes.add(socket);
    socket.on('close', () => this.#handshakes.delete(socket));
    const admission = await this.#admit(request);
    if (socket.destroyed) return;
    if (!admission.let) return refuseUpgrade(socket, admission.refused);
    const { auth } = admission;
    try {
      this.#handshaker.handleUpgrade(request, socket, head, (ws) =>
        this.#open(ws, socket, { request, auth }),
      );
    } catch (thrown) {
      socket.destroy();
      this.#report('Cannot upgrade a connection', thrown);
    }
  }

  #checkRoom(): Refusal | undefined {
    const { maxConnections } = this.#settings;
    if (this.#handshakes.size + this.#clients.size < maxConnections) return undefined;
    return refusal(503, `${maxConnections} clients are connected, and no more may be`);
  }

  async #admit(request: IncomingMessage): Promise<Admission> {
    const { authorize, handshakeTimeoutMs } = this.#settings;
    if (!authorize) return { let: true, auth: undefined };
    const asked = ask(authorize, request);
    const inTime = await resolvesWithin(asked, handshakeTimeoutMs);
    const answer = inTime ? await asked : { thrown: new Error(`no answer within ${handshakeTimeoutMs} ms`) };
    if ('thrown' in answer) {
      this.#report('Cannot authorize a client', answer.thrown);
      return { let: false, refused: refusal(500, 'it could not be found out who sent it') };
    }
    if (!answer.auth) return { let: false, refused: refusal(401, 'it does not say who sent it') };
    return { let: true, auth: answer.auth };
  }

  #open(ws: WebSocket, socket: Duplex, info: WebSocketClientInfo): void {
    const { remoteAddress, remotePort } = info.request.socket;
    const channel = new WebSocketChannel(ws, socket as Socket, {
      ...this.#settings.limits,
      name: remoteAddress === undefined ? 'client' : `client at ${remoteAddress} port ${remotePort}`,
      pauseWhenFull: true,
      closeCode: GOING_AWAY,
    });
    this.#handshakes.delete(socket);
    socket.on('close', () => this.#clients.delete(channel));
    void this.#clients.add(
      channel,
      () => this.#onClient(channel, info),
      () => channel.close(INTERNAL_FAILURE),
    );
  }

  #report(what: string, thrown: unknown): void {
    const cause = toError(thrown);
    this.#settings.onError(new McpError('HANDLER_FAILED', `${what}: ${cause.message}`, { cause }));
  }
}

type Admission =
  | { readonly let: true; readonly auth: unknown }
  | { readonly let: false; readonly refused: Refusal };

/** Never rejects. */
async function ask(
  authorize: NonNullable<AcceptSettings['authorize']>,
  request: IncomingMessage,
): Promise<{ auth: unknown } | { thrown: unknown }> {
  try {
    return { auth: await authorize(request) };
  } catch (thrown) {
    return { thrown };
  }
}
