import type { BearerChallenge } from './challenge.ts';
import type { EventStream } from './event-stream.ts';

/** Header fields by lower-case name. */
export type HttpHeaders = Readonly<Record<string, string>>;

/** The head of a request: what is known before its body is read. */
export interface HttpRequest {
  readonly method: string;
  /** What was asked for: path and query, as sent. */
  readonly url: string;
  /** All headers, by lower-case name. */
  readonly headers: HttpHeaders;
  /** A header's value; `name` in lower case. The values of a repeated header are joined by ", ". */
  header(name: string): string | undefined;
}

/**
 * One HTTP request being answered: by exactly one {@link HttpExchange.reply} or one {@link HttpExchange.stream}. Every
 * guard has passed when a handler sees it.
 */
export interface HttpExchange extends HttpRequest {
  /** The path of {@link HttpRequest.url}, without its query. */
  readonly path: string;
  /** The parsed JSON of a POST; undefined for other methods. What it means was not looked into. */
  readonly body: unknown;
  /** The principal: what the bearer guard's `verify` returned, else what the caller of the listener handed over. */
  readonly auth: unknown;
  /**
   * Aborted when the client goes away, or is cut off, before the answer is complete, and when the listener closes while
   * a stream is open. Made when first asked for.
   */
  readonly signal: AbortSignal;
  /** Whether {@link HttpExchange.signal} is aborted: asking for this makes no signal. */
  readonly gone: boolean;
  /**
   * Answers with one JSON value, or with no body when it is undefined. Does nothing when the client has gone away.
   *
   * @throws TypeError when the exchange was answered before, or when the body cannot be encoded as JSON.
   */
  reply(status: number, body?: object, headers?: HttpHeaders): void;
  /**
   * Answers by asking the client for another token, where a bearer guard let it in and nothing was answered before.
   * `body` says the same in JSON; default a JSON-RPC error.
   *
   * @returns false when that cannot be done here: then nothing was answered.
   */
  challenge(challenge: BearerChallenge, body?: object): boolean;
  /**
   * Answers with a stream of server-sent events; its headers leave at once. When the client has gone away the stream
   * is closed from the start.
   *
   * @throws TypeError when the exchange was answered before.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages
   */
  stream(headers?: HttpHeaders): EventStream;
}

/**
 * Answers exchanges, at once or later: an exchange that it never answers stays open until the client leaves. One that
 * throws before it answered costs the client a 500 without details.
 */
export type HttpHandler = (exchange: HttpExchange) => void | Promise<void>;
