import { DEFAULT_TIMEOUT_MS, McpError, TimeoutError, toError } from '../jsonrpc/index.ts';
import { assertFunction, assertSignal, positive } from '../jsonrpc/option.ts';
import { type ClientOptions, McpClient } from '../protocol/index.ts';
import type { HeaderMap, HttpAuthorizer, ProcessOptions } from '../transport/index.ts';
import { isDisabled, type McpServersConfig, readConfig, readEntry, type Variables } from './config.ts';
import { McpToolProvider, type ProviderOptions } from './provider.ts';
import { ToolRegistry } from './registry.ts';

export interface GroupOptions {
  /** Where the tools go. Default: a registry of the group's own. */
  registry?: ToolRegistry;
  /** How long one server may take, from its start to its last page of tools, in milliseconds. Default 60000. */
  startTimeoutMs?: number;
  /** What `${NAME}` in the configuration stands for. Default: the environment of this process. */
  variables?: Variables;
  /** Options for every client. */
  client?: Omit<ClientOptions, 'signal' | 'prior' | 'onWarning'>;
  /** Options for every server that is started as a process. */
  process?: Omit<ProcessOptions, 'name'>;
  /**
   * What gives credentials to every server that is reached by HTTP, except those that have an `Authorization` header in
   * the configuration. A user who is asked to sign in has `startTimeoutMs` for it. Default: nothing does.
   */
  authorizer?: HttpAuthorizer;
  /** Options for the tools of every server. */
  provider?: Omit<ProviderOptions, 'prefix' | 'signal' | 'onWarning'>;
  /** Hears of servers that failed, and of what was left out or repaired. Must not throw. Default: nobody hears. */
  onWarning?: (warning: McpError) => void;
  /** Gives up starting: everything that has started is ended. */
  signal?: AbortSignal;
}

/** A server of a group that works. */
export interface GroupMember {
  readonly client: McpClient;
  readonly provider: McpToolProvider;
}

/** All servers of a configuration, and one registry with their tools, each under its server's name as the prefix. */
export class McpClientGroup {
  readonly registry: ToolRegistry;
  /** The servers that work, by name, in the order of the configuration. */
  readonly members: ReadonlyMap<string, GroupMember>;
  /** Why the others do not. */
  readonly failures: ReadonlyMap<string, McpError>;

  private constructor(
    registry: ToolRegistry,
    members: ReadonlyMap<string, GroupMember>,
    failures: ReadonlyMap<string, McpError>,
  ) {
    this.registry = registry;
    this.members = members;
    this.failures = failures;
  }

  /**
   * Starts every server of a configuration, or of the file at a path, that is not disabled; all at the same time, each
   * with a deadline of its own. Once all of them work or have failed, the tools of those that work are registered, in the
   * order of the configuration.
   *
   * `${NAME}` and `${NAME:-default}` are filled in wherever an entry has text. Whoever can write a configuration decides
   * which programs run: take none from strangers.
   *
   * @throws McpError `INVALID_CONFIG` when there is no configuration to be read, `ABORTED` when the signal is.
   * @throws TypeError when an option makes no sense.
   */
  static async fromConfig(
    source: McpServersConfig | string | URL,
    options: GroupOptions = {},
  ): Promise<McpClientGroup> {
    const { registry = new ToolRegistry(), signal, startTimeoutMs = DEFAULT_TIMEOUT_MS } = options;
    positive('startTimeoutMs', startTimeoutMs, 'milliseconds');
    assertSignal('signal', signal);
    assertFunction('onWarning', options.onWarning);
    const entries = (await readConfig(source)).filter(([, entry]) => !isDisabled(entry));
    const started = await Promise.all(
      entries.map(([name, entry]) => startWithin(startTimeoutMs, name, entry, options)),
    );
    const members = new Map<string, GroupMember>();
    const failures = new Map<string, McpError>();
    for (const { name, outcome } of started) {
      if (outcome instanceof McpError) failures.set(name, outcome);
      else members.set(name, outcome);
    }
    const group = new McpClientGroup(registry, members, failures);
    if (signal?.aborted) {
      await group.close();
      throw new McpError('ABORTED', 'Cannot start the servers: aborted by the caller', {
        cause: signal.reason,
      });
    }
    for (const failure of failures.values()) options.onWarning?.(failure);
    for (const { provider } of members.values()) provider.registerInto(registry);
    return group;
  }

  /**
   * Ends all connections, and the processes behind them. The tools stay where they are registered; calling them gives an
   * error. Idempotent, never rejects.
   */
  async close(): Promise<void> {
    await Promise.all([...this.members.values()].map(({ client }) => client.close()));
  }
}

interface Started {
  name: string;
  outcome: GroupMember | McpError;
}

/** Never rejects. */
async function startWithin(
  timeoutMs: number,
  name: string,
  entry: unknown,
  options: GroupOptions,
): Promise<Started> {
  const late = new AbortController();
  const timer =
    timeoutMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(() => late.abort(), timeoutMs);
  try {
    const signal = options.signal ? AbortSignal.any([options.signal, late.signal]) : late.signal;
    return { name, outcome: await start(name, entry, options, signal) };
  } catch (error) {
    const cause = late.signal.aborted
      ? new TimeoutError(`it was not ready within ${timeoutMs} ms`, timeoutMs)
      : toError(error);
    const code = cause instanceof McpError ? cause.code : 'CONNECT_FAILED';
    const message = `Cannot start server ${JSON.stringify(name)}: ${cause.message}`;
    return { name, outcome: new McpError(code, message, { cause }) };
  } finally {
    clearTimeout(timer);
  }
}

async function start(
  name: string,
  entry: unknown,
  options: GroupOptions,
  signal: AbortSignal,
): Promise<GroupMember> {
  const { onWarning } = options;
  const shared = { signal, ...(onWarning && { onWarning }) };
  const client = await connect(name, entry, options, { ...options.client, ...shared });
  try {
    const provider = await McpToolProvider.connect(client, { ...options.provider, ...shared, prefix: name });
    return { client, provider };
  } catch (error) {
    await client.close();
    throw error;
  }
}

function connect(
  name: string,
  entry: unknown,
  options: GroupOptions,
  clientOptions: ClientOptions,
): Promise<McpClient> {
  const target = readEntry(entry, options.variables ?? process.env);
  switch (target.type) {
    case 'stdio':
      return McpClient.stdio(target.spec, { ...options.process, ...clientOptions, name });
    case 'http':
      return McpClient.http(target.url, {
        ...clientOptions,
        headers: target.headers,
        ...(options.authorizer && !hasAuthorization(target.headers) && { authorizer: options.authorizer }),
      });
    case 'webSocket':
      return McpClient.webSocket(target.url, { ...clientOptions, headers: target.headers, name });
  }
}

function hasAuthorization(headers: HeaderMap): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
}
