import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CallOptions,
  type InboundRequest,
  isJsonObject,
  type JsonObject,
  type JsonRpcRequest,
  McpError,
  METHOD_NOT_FOUND,
  RpcError,
} from '../../jsonrpc/index.ts';
import { isSessionRevision, REVISIONS, SESSION_REVISIONS, type SessionRevision } from '../revisions.ts';
import type { SubscriptionFilter } from '../types/features.ts';
import type { LoggingLevel } from '../types/identity.ts';
import { type ListenSink, type OpenListen, readChange, wants } from './changes.ts';
import type { Connection } from './connection.ts';
import type {
  ClientDialect,
  ClientIdentity,
  DialectChannel,
  RequestExtras,
  ServerDescription,
} from './dialect.ts';
import { answerInput, type InputHandlers } from './input.ts';
import { describeServer } from './server-description.ts';

/** How long listening waits for the stream that changes come on: a server may keep silent until there is one. */
const SERVER_STREAM_WAIT_MS = 1000;

/**
 * The session dialect, the specification's *legacy*: `initialize` opens a session whose version, identity and
 * capabilities both sides remember, and the server may send requests of its own.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle
 */
export class SessionDialect implements ClientDialect {
  readonly name = 'session';
  readonly cancelsByMessage = true;
  readonly renegotiates = false;
  readonly mirrorsParams = false;
  readonly hasCachingHints = false;
  readonly pingMethod = 'ping';
  readonly revision: SessionRevision;
  readonly server: ServerDescription;
  readonly acceptsBatches: boolean;
  readonly #handlers: InputHandlers;

  constructor(
    handlers: InputHandlers,
    revision: SessionRevision = SESSION_REVISIONS[0],
    server: ServerDescription = { capabilities: {} },
  ) {
    this.#handlers = handlers;
    this.revision = revision;
    this.server = server;
    this.acceptsBatches = REVISIONS[revision].batches;
  }

  shape(params: JsonObject | undefined, extras: RequestExtras | undefined): JsonObject | undefined {
    if (extras?.progressToken === undefined) return params;
    const meta = isJsonObject(params?._meta) ? params._meta : undefined;
    return { ...params, _meta: { ...meta, progressToken: extras.progressToken } };
  }

  headers(): Record<string, string> {
    return { 'mcp-protocol-version': this.revision };
  }

  resultType(): 'complete' {
    return 'complete';
  }

  readonly rootsChanged = 'notifications/roots/list_changed';

  logLevelRequest(level: LoggingLevel): { method: string; params: JsonObject } {
    return { method: 'logging/setLevel', params: { level } };
  }

  /** Listens by the session's own notifications, and by subscribing to each resource. */
  async listen(
    channel: DialectChannel,
    filter: SubscriptionFilter,
    sink: ListenSink,
    timeoutMs: number,
  ): Promise<OpenListen> {
    const honoured = honouredBySession(filter, this.server);
    if (channel.serverStream) await within(SERVER_STREAM_WAIT_MS, channel.serverStream);
    const stopTap = channel.tap({
      notification: (method, params) => {
        const event = readChange(method, params);
        if (event && wants(honoured, event)) sink.event(event);
      },
      missed: () => sink.missed(),
      closed: (reason) => sink.ended(reason),
    });
    const subscribed: string[] = [];
    const close = async () => {
      stopTap();
      for (const uri of subscribed) await channel.unsubscribe(uri, timeoutMs);
    };
    try {
      for (const uri of honoured.resourceSubscriptions ?? []) {
        await channel.subscribe(uri, timeoutMs);
        subscribed.push(uri);
      }
    } catch (error) {
      await close();
      throw error;
    }
    return { honoured, close };
  }

  answer(request: JsonRpcRequest, inbound: InboundRequest): JsonObject | Promise<JsonObject> {
    const { method, params } = request;
    if (method === 'ping') return {};
    const answered = answerInput(this.#handlers, method, params, inbound);
    if (!answered) throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
    return answered;
  }
}

/** Waits for a promise, but no longer than this. */
async function within(waitMs: number, promise: Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  await Promise.race([
    promise,
    sleep(waitMs, undefined, { signal: stop.signal, ref: false }).catch(() => {}),
  ]);
  stop.abort();
}

function honouredBySession(
  filter: SubscriptionFilter,
  { capabilities }: ServerDescription,
): SubscriptionFilter {
  const { tools, prompts, resources } = capabilities;
  const honoured: SubscriptionFilter = {};
  if (filter.toolsListChanged && tools?.listChanged) honoured.toolsListChanged = true;
  if (filter.promptsListChanged && prompts?.listChanged) honoured.promptsListChanged = true;
  if (filter.resourcesListChanged && resources?.listChanged) honoured.resourcesListChanged = true;
  if (filter.resourceSubscriptions && resources?.subscribe) {
    honoured.resourceSubscriptions = [...new Set(filter.resourceSubscriptions)];
  }
  return honoured;
}

/**
 * Opens a session: asks for the newest session revision and takes any that this package speaks.
 *
 * @throws McpError `UNSUPPORTED_VERSION` when the server names another, `INVALID_RESULT` when its answer is none.
 */
export async function initialize(
  connection: Connection,
  identity: ClientIdentity,
  handlers: InputHandlers,
  options: CallOptions,
): Promise<SessionDialect> {
  const params = {
    protocolVersion: SESSION_REVISIONS[0],
    capabilities: identity.capabilities,
    clientInfo: identity.info,
  };
  const result = await connection.peer.call('initialize', params, options);
  const { protocolVersion } = result;
  if (!isSessionRevision(protocolVersion)) {
    throw new McpError(
      typeof protocolVersion === 'string' ? 'UNSUPPORTED_VERSION' : 'INVALID_RESULT',
      `"${connection.transport.name}" answered initialize with protocol version ${JSON.stringify(protocolVersion)}: this client speaks ${SESSION_REVISIONS.join(', ')}`,
    );
  }
  const dialect = new SessionDialect(handlers, protocolVersion, describeServer(result, result.serverInfo));
  connection.use(dialect);
  const headers = dialect.headers();
  await connection.peer.notify('notifications/initialized', undefined, { headers });
  return dialect;
}
