import {
  type Classified,
  classify,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isJsonObject,
  type JsonRpcErrorResponse,
  type JsonRpcRequest,
  type JsonRpcResponse,
  type RequestId,
} from '../../../jsonrpc/index.ts';
import type { HttpExchange } from '../../../transport/index.ts';
import { HEADER_MISMATCH } from '../../errors.ts';
import { isStatelessMeta } from '../../meta.ts';
import { isSessionRevision, REVISIONS, type SessionRevision } from '../../revisions.ts';
import type { ServerCore } from '../core.ts';
import { principalOf } from '../principal.ts';
import { Session } from '../session.ts';
import type { StatelessDialect } from '../stateless.ts';
import { findHeaderFault } from './header-check.ts';
import { LoggedStream } from './logged-stream.ts';
import type { HttpSession } from './session.ts';
import { type ExchangeHost, SessionExchange } from './session-exchange.ts';
import { HttpSessions, type SessionOptions } from './sessions.ts';
import { StatelessExchange } from './stateless-exchange.ts';

/** What a client that names no revision speaks: the last one whose clients did not have to. */
const UNNAMED_REVISION: SessionRevision = '2025-03-26';

export interface EndpointOptions {
  /**
   * Sessions for clients of the session dialect; `false` serves them without: each of their requests by itself, with no
   * questions to the client and no messages but in answers. Default: with sessions.
   */
  sessions?: SessionOptions | false;
}

/**
 * One address of a server, for clients of both dialects: how a request comes decides which one it belongs to.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
 */
export class HttpEndpoint {
  readonly #core: ServerCore;
  readonly #stateless: StatelessDialect;
  readonly #sessions: HttpSessions | undefined;
  #closed = false;
  #running = 0;
  #onIdle = () => {};

  /** @throws TypeError when an option is out of range. */
  constructor(core: ServerCore, stateless: StatelessDialect, { sessions = {} }: EndpointOptions) {
    this.#core = core;
    this.#stateless = stateless;
    if (sessions) this.#sessions = new HttpSessions(core, sessions);
  }

  /** Answers an exchange of which every guard has passed. */
  handle(exchange: HttpExchange): void | Promise<void> {
    const answered = this.#route(exchange);
    if (!answered) return;
    this.#running++;
    return answered.then(this.#onAnswered, this.#onFailed);
  }

  // Made once, not for each exchange: an answer may take for ever.
  readonly #onAnswered = (): void => {
    if (--this.#running === 0) this.#onIdle();
  };
  readonly #onFailed = (error: unknown): never => {
    this.#onAnswered();
    throw error;
  };

  #route(exchange: HttpExchange): void | Promise<void> {
    if (this.#closed) return refuse(exchange, 503, INTERNAL_ERROR, 'The server is shutting down');
    switch (exchange.method) {
      case 'POST':
        return this.#post(exchange);
      case 'GET':
        return this.#get(exchange);
      default:
        return this.#delete(exchange);
    }
  }

  /** Takes no more exchanges, and waits until those under way are answered, but no longer than this. */
  async drain(graceMs: number): Promise<void> {
    this.#closed = true;
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Ends all sessions. Idempotent. */
  close(): void {
    this.#closed = true;
    this.#sessions?.close();
  }

  #post(exchange: HttpExchange): void | Promise<void> {
    const classified = classify(exchange.body);
    if (isStateless(exchange, classified)) return this.#postStateless(exchange, classified);
    return this.#sessions
      ? this.#postSession(exchange, classified, this.#sessions)
      : this.#postAlone(exchange, classified);
  }

  #postStateless(exchange: HttpExchange, classified: Classified): void | Promise<void> {
    switch (classified.kind) {
      case 'request':
        return this.#answerStateless(exchange, classified.message);
      case 'notification':
        return exchange.reply(202);
      case 'invalid':
        return refuse(exchange, 400, INVALID_REQUEST, `Invalid message: ${classified.reason}`, classified.id);
      default:
        return refuse(exchange, 400, INVALID_REQUEST, 'The body must be a single request or notification');
    }
  }

  #answerStateless(exchange: HttpExchange, request: JsonRpcRequest): void | Promise<void> {
    const fault = findHeaderFault(exchange, request, (tool) => this.#core.tools.inputSchemaOf(tool));
    if (fault !== undefined)
      return refuse(exchange, 400, HEADER_MISMATCH, `Header mismatch: ${fault}`, request.id);
    return new StatelessExchange(exchange, request.id).answer(this.#stateless, request);
  }

  #postSession(exchange: HttpExchange, classified: Classified, sessions: HttpSessions): void | Promise<void> {
    if (classified.kind === 'invalid') {
      return refuse(exchange, 400, INVALID_REQUEST, `Invalid message: ${classified.reason}`, classified.id);
    }
    if (classified.kind === 'request' && classified.message.method === 'initialize') {
      return this.#openSession(exchange, classified.message, sessions);
    }
    const session = this.#sessionOf(exchange, sessions, idOf(classified));
    if (!session) return;
    switch (classified.kind) {
      case 'request':
        return session.answer(exchange, [classified.message], [], false);
      case 'notification':
        session.notified(classified.message);
        return exchange.reply(202);
      case 'batch':
        return postBatch(exchange, classified.items, session);
      default:
        session.responded(classified.message);
        return exchange.reply(202);
    }
  }

  /** A client that comes with the id of a session that is over wants a new one. */
  async #openSession(exchange: HttpExchange, request: JsonRpcRequest, sessions: HttpSessions): Promise<void> {
    const session = sessions.create(principalOf(exchange.auth));
    if (!session) {
      return refuse(exchange, 503, INTERNAL_ERROR, 'Too many sessions: try again later', request.id);
    }
    await session.answer(exchange, [request], [], false);
    if (!session.dialect.isOpened) sessions.end(session, 'The session was not opened');
  }

  #get(exchange: HttpExchange): void | Promise<void> {
    if (!this.#sessions || isStateless(exchange)) return notAllowed(exchange);
    const session = this.#sessionOf(exchange, this.#sessions);
    if (!session) return;
    const lastEventId = exchange.header('last-event-id');
    if (lastEventId === undefined) return session.listen(exchange);
    return session.resume(lastEventId, exchange).then((resumed) => {
      if (!resumed)
        refuse(exchange, 400, INVALID_REQUEST, 'Cannot go on behind this Last-Event-ID: open a new stream');
    });
  }

  #delete(exchange: HttpExchange): void {
    if (!this.#sessions || isStateless(exchange)) {
      notAllowed(exchange);
      return;
    }
    const session = this.#sessionOf(exchange, this.#sessions);
    if (!session) return;
    this.#sessions.end(session, 'The client ended the session');
    exchange.reply(204);
  }

  /** The session that an exchange names; without one the exchange is refused. */
  #sessionOf(exchange: HttpExchange, sessions: HttpSessions, id?: RequestId): HttpSession | undefined {
    const sessionId = exchange.header('mcp-session-id');
    if (sessionId === undefined) {
      refuse(
        exchange,
        400,
        INVALID_REQUEST,
        'The Mcp-Session-Id header is missing: send initialize first',
        id,
      );
      return undefined;
    }
    const session = sessions.use(sessionId, principalOf(exchange.auth));
    if (!session)
      refuse(exchange, 404, INVALID_REQUEST, 'Session not found: send initialize to open one', id);
    return session;
  }

  /** Serves a client of the session dialect without a session. */
  #postAlone(exchange: HttpExchange, classified: Classified): void | Promise<void> {
    switch (classified.kind) {
      case 'request': {
        const { message } = classified;
        return new SessionExchange(this.#aloneFor(exchange, message), exchange, false).answer([message]);
      }
      case 'invalid':
        return refuse(exchange, 400, INVALID_REQUEST, `Invalid message: ${classified.reason}`, classified.id);
      case 'batch':
        return refuse(exchange, 400, INVALID_REQUEST, 'The body must be a single message');
      default:
        return exchange.reply(202);
    }
  }

  #aloneFor(exchange: HttpExchange, { method }: JsonRpcRequest): ExchangeHost {
    const dialect =
      method === 'initialize'
        ? new Session(this.#core, () => {})
        : Session.assumed(this.#core, namedRevision(exchange));
    return {
      dialect,
      replyHeaders: undefined,
      endsWithClient: true,
      openStream: (opened) => {
        const stream = new LoggedStream('', 0, KEEPS_NOTHING);
        stream.open(opened.stream(), false);
        return stream;
      },
    };
  }
}

function isStateless(exchange: HttpExchange, classified?: Classified): boolean {
  const version = exchange.header('mcp-protocol-version');
  if (version !== undefined && !isSessionRevision(version)) return true;
  if (classified?.kind !== 'request') return false;
  const meta = classified.message.params?._meta;
  return isJsonObject(meta) && isStatelessMeta(meta);
}

function namedRevision(exchange: HttpExchange): SessionRevision {
  const version = exchange.header('mcp-protocol-version');
  return isSessionRevision(version) ? version : UNNAMED_REVISION;
}

function postBatch(
  exchange: HttpExchange,
  items: readonly unknown[],
  session: HttpSession,
): void | Promise<void> {
  if (!REVISIONS[session.dialect.revision].batches || items.length === 0) {
    return refuse(exchange, 400, INVALID_REQUEST, 'The body must be a single message');
  }
  const requests: JsonRpcRequest[] = [];
  const refusals: JsonRpcResponse[] = [];
  for (const item of items) {
    const classified = classify(item);
    switch (classified.kind) {
      case 'request':
        if (classified.message.method !== 'initialize') requests.push(classified.message);
        else
          refusals.push(
            errorOf(INVALID_REQUEST, 'initialize cannot be part of a batch', classified.message.id),
          );
        break;
      case 'notification':
        session.notified(classified.message);
        break;
      case 'batch':
        refusals.push(errorOf(INVALID_REQUEST, 'A batch cannot hold another'));
        break;
      case 'invalid':
        refusals.push(errorOf(INVALID_REQUEST, `Invalid message: ${classified.reason}`, classified.id));
        break;
      default:
        session.responded(classified.message);
    }
  }
  return session.answer(exchange, requests, refusals, true);
}

function notAllowed(exchange: HttpExchange): void {
  const error = errorOf(INVALID_REQUEST, `${exchange.method} is not allowed here`);
  exchange.reply(405, error, { allow: 'POST' });
}

function refuse(exchange: HttpExchange, status: number, code: number, message: string, id?: RequestId): void {
  exchange.reply(status, errorOf(code, message, id));
}

function errorOf(code: number, message: string, id?: RequestId): JsonRpcErrorResponse {
  return id === undefined
    ? { jsonrpc: '2.0', error: { code, message } }
    : { jsonrpc: '2.0', id, error: { code, message } };
}

function idOf(classified: Classified): RequestId | undefined {
  return classified.kind === 'request' ? classified.message.id : undefined;
}

const KEEPS_NOTHING = {
  log: { append: () => {}, after: () => undefined, drop: () => {} },
  retryMs: 0,
  report: () => {},
};
