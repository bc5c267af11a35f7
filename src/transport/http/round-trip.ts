import type { Dispatcher } from 'undici';
import { McpError, TimeoutError, toError } from '../../jsonrpc/index.ts';
import { connectError } from '../connect-error.ts';
import { HttpError, type ReplyHeaders } from './http-error.ts';
import type { Pooling } from './pooling.ts';
import { isRedirect, type RedirectMode, redirectTarget } from './redirect.ts';

/** Header names and values. */
export type HeaderMap = Readonly<Record<string, string>>;

/** A request that is about to be sent. */
export interface HttpRequestInfo {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  /** The address of the server as it was given: what redirects and messages elsewhere belong to. */
  readonly server: string;
}

/** A reply with status 401 or 403. */
export interface HttpChallenge extends HttpRequestInfo {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** Which challenge to the same request this is: 1 for the first. */
  readonly attempt: number;
  /** The Authorization header that was refused. */
  readonly authorization: string | undefined;
  /** When the request was first about to be sent, in the milliseconds of `performance.now()`. */
  readonly since: number;
  /** Aborted when the request is given up. */
  readonly signal: AbortSignal;
}

/** Knows credentials. Only requests to the server's own origin are shown to it and carry what it gives. */
export interface HttpAuthorizer {
  /** The headers that authorize a request. What it throws fails the request. */
  authorize(request: HttpRequestInfo): HeaderMap | undefined | Promise<HeaderMap | undefined>;
  /** Says whether to send the request once more, with new headers from `authorize`. Asked 3 times a request at most. */
  challenge(challenge: HttpChallenge): boolean | Promise<boolean>;
}

/** Where a request goes, taken apart once. */
export interface Address {
  readonly origin: string;
  readonly path: string;
  readonly href: string;
}

/** A session that a server opened. Only the origin that did may see its id. */
export interface HttpSession {
  readonly id: string;
  readonly origin: string;
  readonly headers: HeaderMap;
}

/** What to send. */
export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly address: Address;
  /** What frames the message: it overrides all others. Names in lower case. */
  readonly framing: HeaderMap;
  /** What was handed down with the message. */
  readonly headers: HeaderMap | undefined;
  readonly session?: HttpSession | undefined;
  readonly body?: string;
  /** How long the reply may take to begin, in milliseconds, where the endpoint says nothing else; 0 means no limit. */
  readonly headersTimeoutMs: number;
  /** How long the reply's body may pause, in milliseconds; 0 means no limit. */
  readonly bodyTimeoutMs: number;
}

export interface ReplyHead {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** What answered, behind all redirects. */
  readonly address: Address;
}

/** Takes the reply to one request. Hears nothing more after `end`, `fail` or an abort. */
export interface ReplyReader {
  head(head: ReplyHead): void;
  data(chunk: Buffer): void;
  end(): void;
  /** There is no reply, or it broke. */
  fail(error: McpError): void;
  /** The request waits for credentials, or has got them. Absent: nobody asks. */
  waiting?(isWaiting: boolean): void;
}

/** What a round trip needs of its endpoint. */
export interface RoundTripContext {
  readonly name: string;
  readonly address: Address;
  readonly origin: string;
  readonly pooling: Pooling;
  readonly redirect: RedirectMode;
  readonly authorizer: HttpAuthorizer | undefined;
  /** Overrides the request's own limit. */
  readonly headersTimeoutMs: number | undefined;
  headersFor(
    request: OutgoingRequest,
    address: Address,
  ): Record<string, string> | Promise<Record<string, string>>;
  dispatch(
    request: OutgoingRequest,
    address: Address,
    headers: Record<string, string>,
    handler: Dispatcher.DispatchHandler,
  ): void;
}

const MAX_CHALLENGES = 3;
/** How much of a reply that is not the last one is read, so that its connection can be used again. */
const MAX_INTERIM_BYTES = 64 * 1024;

/** What is known of a reply that leads to another request, or may. */
type Interim =
  | { kind: 'redirect'; target: Address }
  | { kind: 'challenge'; head: ReplyHead; chunks: Buffer[]; repeat: Promise<boolean> };

export function addressOf(url: URL): Address {
  return { origin: url.origin, path: url.pathname + url.search, href: url.href };
}

/** One request on its way, through redirects and challenges to the reply that counts. */
export class RoundTrip implements Dispatcher.DispatchHandler {
  readonly #context: RoundTripContext;
  readonly #request: OutgoingRequest;
  readonly #reader: ReplyReader;
  #address: Address;
  #controller: Dispatcher.DispatchController | undefined;
  #state: 'sent' | 'reading' | 'interim' | 'done' = 'sent';
  #interim: Interim | undefined;
  #redirects = 0;
  #challenges = 0;
  #firstByteAt = 0;
  #bytes = 0;
  readonly #since = performance.now();
  #authorization: string | undefined;
  #givenUp: AbortController | undefined;

  constructor(context: RoundTripContext, request: OutgoingRequest, reader: ReplyReader) {
    this.#context = context;
    this.#request = request;
    this.#reader = reader;
    this.#address = request.address;
  }

  start(): void {
    this.#state = 'sent';
    this.#bytes = 0;
    this.#controller = undefined;
    const headers = this.#context.headersFor(this.#request, this.#address);
    if (headers instanceof Promise) {
      headers.then(
        (given) => this.#dispatch(given),
        (error) => this.#failToPrepare(error),
      );
    } else {
      this.#dispatch(headers);
    }
  }

  /** Gives it up: the connection ends and the reader hears nothing more. */
  abort(): void {
    this.#state = 'done';
    this.#controller?.abort(new Error('The exchange was given up'));
    this.#givenUp?.abort(new McpError('ABORTED', `A request to "${this.#context.name}" was given up`));
  }

  /** Takes note that what the request was sent for has arrived. */
  answered(): void {
    if (this.#firstByteAt > 0) this.#context.pooling.note(performance.now() - this.#firstByteAt, this.#bytes);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#state === 'done') controller.abort(new Error('The exchange was given up'));
  }

  onResponseStarted(): void {
    this.#firstByteAt = performance.now();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ReplyHeaders): void {
    if (this.#state !== 'sent' || status < 200) return;
    const { location } = headers;
    const head = { status, headers, address: this.#address };
    if (isRedirect(status) && typeof location === 'string') this.#redirect(head, location);
    else if (!this.#isChallenge(status)) {
      this.#state = 'reading';
      this.#reader.head(head);
    } else {
      this.#challenge(head);
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#state === 'reading') {
      this.#reader.data(chunk);
    } else if (this.#interim) {
      if (this.#interim.kind === 'challenge') this.#interim.chunks.push(chunk);
      // The error that follows at once goes on from here.
      if (this.#bytes > MAX_INTERIM_BYTES) this.#controller?.abort(new Error('The rest is not wanted'));
    }
  }

  onResponseEnd(): void {
    if (this.#state === 'reading') {
      this.#state = 'done';
      this.#reader.end();
    } else {
      this.#goOn();
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    // An interim reply has said what it had to say when its head came.
    if (this.#interim) this.#goOn();
    else this.#fail(this.#describe(error));
  }

  #dispatch(headers: Record<string, string>): void {
    if (this.#state === 'done') return;
    this.#authorization = headers.authorization;
    try {
      this.#context.dispatch(this.#request, this.#address, headers, this);
    } catch (error) {
      this.#fail(this.#describe(toError(error)));
    }
  }

  #redirect(head: ReplyHead, location: string): void {
    const { status } = head;
    const { method } = this.#request;
    const redirect = { status, method, from: this.#address.href, location, count: this.#redirects };
    const target = redirectTarget(redirect, this.#context.redirect);
    if (typeof target === 'string') {
      const message = `Cannot send to "${this.#context.name}": it redirects to ${JSON.stringify(location)}: ${target}`;
      const { headers } = head;
      this.#fail(new HttpError(message, { status, headers, bodyPreview: '', sessionLost: false }));
      this.#controller?.abort(new Error('The redirect is not followed'));
      return;
    }
    this.#redirects++;
    this.#state = 'interim';
    this.#interim = { kind: 'redirect', target: addressOf(target) };
  }

  #isChallenge(status: number): boolean {
    return (
      (status === 401 || status === 403) &&
      this.#context.authorizer !== undefined &&
      this.#challenges < MAX_CHALLENGES &&
      this.#address.origin === this.#context.origin
    );
  }

  #challenge(head: ReplyHead): void {
    const { authorizer, address } = this.#context;
    const { status, headers } = head;
    this.#givenUp ??= new AbortController();
    const challenge: HttpChallenge = {
      method: this.#request.method,
      url: this.#address.href,
      server: address.href,
      status,
      headers,
      attempt: ++this.#challenges,
      authorization: this.#authorization,
      since: this.#since,
      signal: this.#givenUp.signal,
    };
    this.#reader.waiting?.(true);
    const repeat = (async () => authorizer?.challenge(challenge) ?? false)();
    // It is awaited when the body has been read; until then a failure must have an owner.
    repeat.catch(() => {}).then(() => this.#reader.waiting?.(false));
    this.#state = 'interim';
    this.#interim = { kind: 'challenge', head, chunks: [], repeat };
  }

  /** The interim reply was read: follows where it leads. */
  #goOn(): void {
    const interim = this.#interim;
    if (!interim || this.#state === 'done') return;
    this.#interim = undefined;
    if (interim.kind === 'redirect') {
      this.#address = interim.target;
      this.start();
      return;
    }
    this.#state = 'sent';
    this.#controller = undefined;
    interim.repeat.then(
      (repeat) => {
        if (this.#state === 'done') return;
        if (repeat) this.start();
        else this.#replay(interim.head, interim.chunks);
      },
      (error) => this.#failToPrepare(error),
    );
  }

  /** Hands on a challenge that nothing could answer, as the reply that it is. */
  #replay(head: ReplyHead, chunks: readonly Buffer[]): void {
    this.#reader.head(head);
    for (const chunk of chunks) this.#reader.data(chunk);
    this.#state = 'done';
    this.#reader.end();
  }

  #failToPrepare(error: unknown): void {
    if (error instanceof McpError) {
      this.#fail(error);
      return;
    }
    const message = `Cannot prepare a request to "${this.#context.name}": ${toError(error).message}`;
    this.#fail(new McpError('HANDLER_FAILED', message, { cause: error }));
  }

  #fail(error: McpError): void {
    if (this.#state === 'done') return;
    this.#state = 'done';
    this.#reader.fail(error);
  }

  #describe(error: Error): McpError {
    if (error instanceof McpError) return error;
    const { name } = this.#context;
    if (codeOf(error) === 'UND_ERR_HEADERS_TIMEOUT') {
      const timeoutMs = this.#context.headersTimeoutMs ?? this.#request.headersTimeoutMs;
      return new TimeoutError(`"${name}" did not begin to answer within ${timeoutMs} ms`, timeoutMs);
    }
    const isConnected = this.#controller !== undefined;
    if (!isConnected && !codeOf(error)?.startsWith('UND_')) return connectError(name, error);
    const doubt =
      isConnected && this.#request.method === 'POST'
        ? '; the server may have received the message all the same'
        : '';
    const message = `Cannot exchange messages with "${name}": ${reason(error)}${doubt}`;
    return new McpError('TRANSPORT_FAILED', message, { cause: error });
  }
}

function reason(error: Error): string {
  return error.message || codeOf(error) || error.name;
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
