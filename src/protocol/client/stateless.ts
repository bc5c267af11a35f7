import {
  type CallOptions,
  isJsonObject,
  type JsonObject,
  type JsonRpcRequest,
  McpError,
  TimeoutError,
  toError,
} from '../../jsonrpc/index.ts';
import { requestHeaders } from '../headers.ts';
import {
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_PROTOCOL_VERSION,
  META_SERVER_INFO,
  META_SUBSCRIPTION_ID,
} from '../meta.ts';
import type { StatelessRevision } from '../revisions.ts';
import type { SubscriptionFilter } from '../types/features.ts';
import { type ListenSink, type OpenListen, readChange } from './changes.ts';
import type { Connection } from './connection.ts';
import type {
  ClientDialect,
  ClientIdentity,
  DialectChannel,
  RequestExtras,
  ServerDescription,
} from './dialect.ts';
import { describeServer } from './server-description.ts';

/**
 * The stateless dialect, the specification's *modern*: every request says its version and who asks, and a server
 * sends no requests.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#statelessness
 */
export class StatelessDialect implements ClientDialect {
  readonly name = 'stateless';
  readonly cancelsByMessage = false;
  readonly renegotiates = true;
  readonly mirrorsParams = true;
  readonly hasCachingHints = true;
  readonly acceptsBatches = false;
  readonly pingMethod = 'server/discover';
  readonly revision: StatelessRevision;
  readonly server: ServerDescription;
  readonly #warn: (warning: McpError) => void;
  readonly #meta: JsonObject;

  constructor(
    identity: ClientIdentity,
    revision: StatelessRevision,
    warn: (warning: McpError) => void,
    server: ServerDescription = { capabilities: {} },
  ) {
    this.revision = revision;
    this.server = server;
    this.#warn = warn;
    this.#meta = {
      [META_PROTOCOL_VERSION]: revision,
      [META_CLIENT_INFO]: identity.info,
      [META_CLIENT_CAPABILITIES]: identity.capabilities,
    };
  }

  shape(params: JsonObject | undefined, extras: RequestExtras | undefined): JsonObject {
    const meta = extras || params?._meta !== undefined ? this.#metaWith(params, extras) : this.#meta;
    // In front: an object that is spread first and then added to is slow to make.
    const shaped: JsonObject = { _meta: meta, ...params };
    shaped._meta = meta;
    return shaped;
  }

  headers(method: string, params: JsonObject | undefined): Record<string, string> {
    return requestHeaders(this.revision, method, params);
  }

  resultType(method: string, result: JsonObject): 'complete' | 'input_required' {
    const { resultType } = result;
    if (resultType === undefined || resultType === 'complete') return 'complete';
    if (resultType === 'input_required') return 'input_required';
    throw new McpError(
      'INVALID_RESULT',
      `Cannot read the result of "${method}": its type is ${JSON.stringify(resultType)}, and this client knows "complete" and "input_required"`,
    );
  }

  readonly rootsChanged = undefined;

  logLevelRequest(): undefined {}

  /** Listens by one request that stays open as long as the subscription does. */
  listen(
    channel: DialectChannel,
    filter: SubscriptionFilter,
    sink: ListenSink,
    timeoutMs: number,
  ): Promise<OpenListen> {
    return new Promise((resolve, reject) => {
      const { name, peer } = channel;
      const id = peer.nextId();
      const stop = new AbortController();
      const tooLate = setTimeout(() => stop.abort(), timeoutMs);
      let acknowledged = false;
      const over = (error?: Error) => {
        clearTimeout(tooLate);
        stopTap();
        if (!acknowledged) reject(notAcknowledged(name, stop.signal.aborted, timeoutMs, error));
        else if (!stop.signal.aborted) sink.ended(error);
      };
      const onNotification = (method: string, params: JsonObject | undefined) => {
        if (method === 'notifications/cancelled' && params?.requestId === id) {
          peer.fail(id, new McpError('CLOSED', `"${name}" tore the subscription down`));
        } else if (subscriptionOf(params) !== id) {
          return;
        } else if (method === 'notifications/subscriptions/acknowledged') {
          acknowledged = true;
          clearTimeout(tooLate);
          const honoured = isJsonObject(params?.notifications) ? params.notifications : {};
          resolve({ honoured, close: async () => stop.abort() });
        } else if (acknowledged) {
          const event = readChange(method, params);
          if (event) sink.event(event);
        }
      };
      // That the connection closes is heard by the pending request, too.
      const stopTap = channel.tap({ notification: onNotification, closed: () => {} });
      const params = this.shape({ notifications: filter }, undefined);
      const headers = this.headers('subscriptions/listen', params);
      const timing = { signal: stop.signal, timeoutMs: Number.POSITIVE_INFINITY };
      peer.call('subscriptions/listen', params, { id, headers, ...timing }).then(
        () => over(),
        (error) => over(toError(error)),
      );
    });
  }

  answer(request: JsonRpcRequest): undefined {
    this.#warn(
      new McpError(
        'INVALID_MESSAGE',
        `The server sent a request, "${request.method}", which revision ${this.revision} does not allow: it is not answered`,
      ),
    );
  }

  #metaWith(params: JsonObject | undefined, extras: RequestExtras | undefined): JsonObject {
    const own = isJsonObject(params?._meta) ? params._meta : undefined;
    const meta: JsonObject = { ...own, ...this.#meta };
    if (extras?.progressToken !== undefined) meta.progressToken = extras.progressToken;
    if (extras?.logLevel !== undefined) meta[META_LOG_LEVEL] = extras.logLevel;
    return meta;
  }
}

function subscriptionOf(params: JsonObject | undefined): unknown {
  return isJsonObject(params?._meta) ? params._meta[META_SUBSCRIPTION_ID] : undefined;
}

function notAcknowledged(name: string, late: boolean, timeoutMs: number, error: Error | undefined): Error {
  if (late)
    return new TimeoutError(`"${name}" did not acknowledge a subscription within ${timeoutMs} ms`, timeoutMs);
  return error ?? new McpError('INVALID_RESULT', `"${name}" ended a subscription without acknowledging it`);
}

/** What a server of this dialect says it is. */
export interface Discovery {
  /** The revisions it speaks, as it lists them. */
  versions: readonly unknown[];
  server: ServerDescription;
}

/**
 * Asks what the server is. Undefined when its answer is no discovery result: then it is not of this dialect.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/discover
 */
export async function discover(
  connection: Connection,
  dialect: StatelessDialect,
  options: CallOptions,
): Promise<Discovery | undefined> {
  const params = dialect.shape(undefined, undefined);
  const headers = dialect.headers('server/discover', params);
  const result = await connection.peer.call('server/discover', params, { ...options, headers });
  if (!Array.isArray(result.supportedVersions)) return undefined;
  // Drafts of the revision had it beside the versions.
  const info = isJsonObject(result._meta) ? result._meta[META_SERVER_INFO] : result.serverInfo;
  return { versions: result.supportedVersions, server: describeServer(result, info) };
}
