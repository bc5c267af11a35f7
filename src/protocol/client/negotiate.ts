import { type CallOptions, McpError, RpcError, TimeoutError, toError } from '../../jsonrpc/index.ts';
import type { Transport } from '../../transport/index.ts';
import { isModernError, supportedVersions, UNSUPPORTED_PROTOCOL_VERSION } from '../errors.ts';
import {
  type DialectName,
  isSessionRevision,
  type Revision,
  SESSION_REVISIONS,
  STATELESS_REVISIONS,
  type StatelessRevision,
  sharedStatelessRevision,
} from '../revisions.ts';
import type { Binding } from './binding.ts';
import { Connection, type ConnectionHooks } from './connection.ts';
import type { ClientIdentity, ServerDescription } from './dialect.ts';
import type { InputHandlers } from './input.ts';
import { initialize, SessionDialect } from './session.ts';
import { type Discovery, discover, StatelessDialect } from './stateless.ts';

/**
 * What was learnt about a server, as plain JSON: keep it and hand it to the next connection as `prior`, which then
 * needs no probe. It is a property of the server's program or address, not of one connection.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
 */
export interface Verdict {
  dialect: DialectName;
  revision: Revision;
  server?: ServerDescription;
}

export interface NegotiationOptions {
  binding: Binding;
  dialect: DialectName | 'auto';
  prior: Verdict | undefined;
  identity: ClientIdentity;
  handlers: InputHandlers;
  hooks: ConnectionHooks;
  /** How long a silent server may take to answer the probe, in milliseconds. */
  probeTimeoutMs: number;
  /** How long the handshake may take, in milliseconds. */
  connectTimeoutMs: number;
  signal: AbortSignal | undefined;
}

/** What the probe showed. */
type Probe =
  | { found: 'stateless'; dialect: StatelessDialect }
  | { found: 'session'; why: string }
  | { found: 'ended'; why: string };

/**
 * Opens a connection and agrees on the dialect to speak. Whatever fails, the transport is closed again.
 *
 * @throws McpError `CONNECT_FAILED` that says what was tried and what went wrong each time; the transport's own error
 *   when it does not even start.
 */
export async function negotiate(options: NegotiationOptions): Promise<Connection> {
  try {
    return await negotiateOnce(options);
  } catch (error) {
    // The server may have changed since the verdict was saved.
    const refused = error instanceof McpError && error.code === 'CONNECT_FAILED';
    if (!refused || !options.prior || options.dialect !== 'auto' || !options.binding.canReopen) throw error;
    return negotiateOnce({ ...options, prior: undefined });
  }
}

async function negotiateOnce(options: NegotiationOptions): Promise<Connection> {
  const { binding, prior } = options;
  const wanted = options.dialect === 'auto' ? (prior?.dialect ?? 'auto') : options.dialect;
  let connection = await open(binding.open(), options);
  const attempts: string[] = [];
  try {
    if (wanted === 'stateless' && prior?.dialect === 'stateless') {
      connection.use(statelessDialect(options, priorRevision(prior), prior.server));
      connection.isUnproven = options.dialect === 'auto';
      return connection;
    }
    if (wanted !== 'session') {
      const opened = await openByProbe(connection, options, attempts);
      if (opened) return opened;
      await connection.close();
      connection = await open(binding.open(), options);
    }
    return await openSession(connection, options, attempts);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/**
 * Probes, and opens a session where the probe says so.
 *
 * @returns undefined when the connection did not survive it and is to be opened anew, without a probe.
 */
async function openByProbe(
  connection: Connection,
  options: NegotiationOptions,
  attempts: string[],
): Promise<Connection | undefined> {
  const probe = await probeServer(connection, options);
  if (probe.found === 'stateless') {
    connection.use(probe.dialect);
    return connection;
  }
  attempts.push(`server/discover: ${probe.why}`);
  if (options.dialect === 'stateless') throw failed(connection, attempts);
  if (probe.found === 'ended') {
    if (options.binding.canReopen) return undefined;
    throw failed(connection, attempts);
  }
  try {
    return await openSession(connection, options, attempts);
  } catch (error) {
    // A server may answer the probe and end on it all the same.
    if (options.binding.canReopen && connection.isLost) return undefined;
    throw error;
  }
}

/**
 * Opens a session on a connection that speaks none yet. A server that refuses and lists a stateless revision is taken
 * at its word where that is allowed: it was only too slow for the probe.
 *
 * @returns the connection that was opened in the end: this one, or one over an older transport.
 */
async function openSession(
  connection: Connection,
  options: NegotiationOptions,
  attempts: string[],
): Promise<Connection> {
  const { binding } = options;
  try {
    await initialize(connection, options.identity, options.handlers, handshakeOptions(options));
    binding.sessionOpened?.(connection);
    return connection;
  } catch (error) {
    const shared =
      options.dialect === 'auto' && isModernError(error) && sharedStatelessRevision(supportedVersions(error));
    if (shared) {
      connection.use(statelessDialect(options, shared));
      return connection;
    }
    if (isAborted(error) || binding.isInconclusive?.(error)) throw error;
    attempts.push(`initialize: ${describe(error)}`);
    const older = binding.older?.(error);
    if (!older) throw failed(connection, attempts, error);
    await connection.close();
    return openOlder(older, options, attempts);
  }
}

/** Opens a session over the transport that came before the one that was refused. */
async function openOlder(
  transport: Transport,
  options: NegotiationOptions,
  attempts: string[],
): Promise<Connection> {
  let connection: Connection | undefined;
  try {
    connection = await open(transport, options);
    await initialize(connection, options.identity, options.handlers, handshakeOptions(options));
    return connection;
  } catch (error) {
    await connection?.close();
    if (isAborted(error)) throw error;
    attempts.push(`the older transport: ${describe(error)}`);
    throw failedAt(transport, attempts, error);
  }
}

/**
 * Opens a session anew on a connection whose server has forgotten the one before. Subscriptions are made again.
 *
 * @throws McpError `CONNECT_FAILED` when the server does not open one.
 */
export async function reopenSession(connection: Connection, options: NegotiationOptions): Promise<void> {
  options.binding.forgetSession?.(connection);
  try {
    await initialize(connection, options.identity, options.handlers, handshakeOptions(options));
  } catch (error) {
    throw failed(connection, [`initialize, after the session was lost: ${describe(error)}`], error);
  }
  options.binding.sessionOpened?.(connection);
  await connection.resubscribe(options.connectTimeoutMs);
  connection.missMessages();
}

/**
 * Goes on after a server refused a revision on an ordinary request: picks one of those it lists, or opens a session.
 *
 * @throws McpError `UNSUPPORTED_VERSION` when nothing is shared.
 */
export async function renegotiate(
  connection: Connection,
  refusal: RpcError,
  options: NegotiationOptions,
): Promise<void> {
  const versions = supportedVersions(refusal);
  const shared = sharedStatelessRevision(versions);
  if (shared) {
    connection.use(statelessDialect(options, shared, connection.dialect.server));
    return;
  }
  if (options.dialect === 'stateless' || !versions.some(isSessionRevision)) {
    throw unsupported(connection, versions);
  }
  await initialize(connection, options.identity, options.handlers, handshakeOptions(options));
  options.binding.sessionOpened?.(connection);
}

/**
 * Goes on after the first request in the dialect of a saved verdict was refused: probes, and opens a session where the
 * server turns out to be of the other dialect.
 *
 * @throws what was refused with, where the verdict holds.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
 */
export async function reconsider(
  connection: Connection,
  refusal: unknown,
  options: NegotiationOptions,
): Promise<void> {
  const probe = await probeServer(connection, options);
  const isSession = probe.found === 'session';
  if (isSession) await initialize(connection, options.identity, options.handlers, handshakeOptions(options));
  connection.isUnproven = false;
  if (!isSession) throw refusal;
  options.binding.sessionOpened?.(connection);
}

async function open(transport: Transport, options: NegotiationOptions): Promise<Connection> {
  return Connection.open(transport, new SessionDialect(options.handlers), options.hooks, options.signal);
}

async function probeServer(connection: Connection, options: NegotiationOptions): Promise<Probe> {
  let revision: StatelessRevision = STATELESS_REVISIONS[0];
  // Twice at most: a server that refuses one revision may offer another, or the same one after all.
  for (let round = 0; ; round++) {
    const asked = statelessDialect(options, revision);
    let discovery: Discovery | undefined;
    try {
      discovery = await discover(connection, asked, probeOptions(options));
    } catch (error) {
      if (isAborted(error)) throw error;
      if (options.binding.isInconclusive?.(error)) throw error;
      if (!isModernError(error)) return isGone(error, connection) ? ended(error) : legacy(error);
      if (error.rpcCode !== UNSUPPORTED_PROTOCOL_VERSION) return { found: 'stateless', dialect: asked };
      const versions = supportedVersions(error);
      const shared = sharedStatelessRevision(versions);
      if (shared && round === 0) {
        revision = shared;
        continue;
      }
      if (versions.some(isSessionRevision)) return legacy(error);
      throw unsupported(connection, versions);
    }
    return discovery
      ? readDiscovery(connection, discovery, options)
      : { found: 'session', why: 'no discovery result' };
  }
}

function readDiscovery(
  connection: Connection,
  { versions, server }: Discovery,
  options: NegotiationOptions,
): Probe {
  const shared = sharedStatelessRevision(versions);
  if (shared) return { found: 'stateless', dialect: statelessDialect(options, shared, server) };
  if (versions.some(isSessionRevision)) {
    return { found: 'session', why: `it lists only ${versions.join(', ')}` };
  }
  throw unsupported(connection, versions);
}

function statelessDialect(
  options: NegotiationOptions,
  revision: StatelessRevision,
  server?: ServerDescription,
): StatelessDialect {
  return new StatelessDialect(options.identity, revision, options.hooks.warning, server);
}

function priorRevision(prior: Verdict): StatelessRevision {
  return sharedStatelessRevision([prior.revision]) ?? STATELESS_REVISIONS[0];
}

function probeOptions({ probeTimeoutMs, signal }: NegotiationOptions): CallOptions {
  return signal ? { timeoutMs: probeTimeoutMs, signal } : { timeoutMs: probeTimeoutMs };
}

function handshakeOptions({ connectTimeoutMs, signal }: NegotiationOptions): CallOptions {
  return signal ? { timeoutMs: connectTimeoutMs, signal } : { timeoutMs: connectTimeoutMs };
}

function legacy(error: unknown): Probe {
  return { found: 'session', why: describe(error) };
}

function ended(error: unknown): Probe {
  return { found: 'ended', why: describe(error) };
}

/** The channel is gone, as opposed to a peer that answers, or keeps silent. */
function isGone(error: unknown, connection: Connection): boolean {
  return (
    !(error instanceof RpcError) && !(error instanceof TimeoutError) && connection.peer.closed !== undefined
  );
}

function isAborted(error: unknown): boolean {
  return error instanceof McpError && error.code === 'ABORTED';
}

function describe(error: unknown): string {
  return error instanceof RpcError ? `error ${error.rpcCode}, ${error.message}` : toError(error).message;
}

function failed(connection: Connection, attempts: readonly string[], cause?: unknown): McpError {
  return failedAt(connection.transport, attempts, cause);
}

function failedAt({ name }: Transport, attempts: readonly string[], cause: unknown): McpError {
  return new McpError('CONNECT_FAILED', `Cannot connect to "${name}": ${attempts.join('; ')}`, { cause });
}

function unsupported(connection: Connection, versions: readonly unknown[]): McpError {
  const ours = [...STATELESS_REVISIONS, ...SESSION_REVISIONS].join(', ');
  return new McpError(
    'UNSUPPORTED_VERSION',
    `"${connection.transport.name}" speaks ${versions.map(String).join(', ') || 'no version it names'}: this client speaks ${ours}`,
  );
}
