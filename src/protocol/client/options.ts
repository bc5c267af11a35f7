import {
  DEFAULT_TIMEOUT_MS,
  isJsonObject,
  type JsonRpcNotification,
  type McpError,
} from '../../jsonrpc/index.ts';
import {
  assertArray,
  assertFunction,
  assertObject,
  assertSignal,
  kindOf,
  misuse,
  oneOf,
  positive,
  shown,
  wholeNumber,
} from '../../jsonrpc/option.ts';
import type { DialectName } from '../revisions.ts';
import type { ClientCapabilities, Implementation } from '../types/identity.ts';
import type { Root } from '../types/input.ts';
import { type BackoffOptions, readBackoff } from './backoff.ts';
import type { CacheOptions } from './cache.ts';
import type { InputHandlers } from './input.ts';
import type { Verdict } from './negotiate.ts';
import { DEFAULT_MAX_PAGES } from './pages.ts';
import { DEFAULT_MAX_ROUNDS } from './rounds.ts';

/** How long a server may be silent on the probe by default: 5 s. Honest ones were seen to take 2 s. */
export const DEFAULT_PROBE_TIMEOUT_MS = 5000;

/** A notification of the server, as it came. */
export type Notification = Pick<JsonRpcNotification, 'method' | 'params'>;

export interface ClientOptions extends InputHandlers {
  /** Who this client says it is. Default: mcpwire and its version. */
  clientInfo?: Implementation;
  /** Capabilities to declare beside those that follow from the handlers. */
  capabilities?: ClientCapabilities;
  /** `auto` (default) finds out what the server speaks; the others insist. */
  dialect?: DialectName | 'auto';
  /** What an earlier connection to the same server found out (`McpClient.verdict`): connects without a probe. */
  prior?: Verdict;
  /**
   * How long a server may be silent on the probe before it is taken for one of the session dialect, in milliseconds.
   * Default 5000.
   */
  probeTimeoutMs?: number;
  /** How long the session handshake may take, in milliseconds. Default 60000. */
  connectTimeoutMs?: number;
  /** The deadline of every request that sets none, in milliseconds. Default 60000; `Infinity` means none. */
  timeoutMs?: number;
  /** How many pages of one list are read before it counts as endless. Default 1000. */
  maxPages?: number;
  /** How often a server may ask for input before one request is answered. Default 10. */
  maxRounds?: number;
  /** Keeps lists and resources for as long as the server says they are fresh; false: nothing is kept. Default `{}`. */
  cache?: CacheOptions | false;
  /** The directories that the server may work in, answered to it when it asks; see `McpClient.setRoots`. */
  roots?: readonly Root[];
  /**
   * Makes a lost connection anew by itself; requests wait for it. By HTTP, where each request has a connection of its own,
   * one that is refused because nothing listens was not sent: it is sent again with these delays, within its deadline.
   * `true` stands for the default delays. Default false: what is lost stays lost until `McpClient.reconnect`, and a request
   * whose connection is refused fails.
   */
  autoReconnect?: BackoffOptions | boolean;
  /** Gets every notification from the first moment on; see also `McpClient.onNotification`. */
  onNotification?: (notification: Notification) => void;
  /** Hears of what was skipped or repaired. Must not throw. Default: nobody hears. */
  onWarning?: (warning: McpError) => void;
  /** Called when the connection is lost for good, without `McpClient.close`. */
  onClose?: (reason: McpError) => void;
  /** Gives up connecting. */
  signal?: AbortSignal;
}

/** {@link ClientOptions} with every default filled in. */
export interface ClientSettings extends InputHandlers {
  readonly clientInfo: Implementation;
  readonly capabilities: ClientCapabilities | undefined;
  readonly dialect: DialectName | 'auto';
  readonly prior: Verdict | undefined;
  readonly probeTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  readonly maxPages: number;
  readonly maxRounds: number;
  readonly cache: CacheOptions | false;
  readonly roots: readonly Root[] | undefined;
  readonly autoReconnect: BackoffOptions | undefined;
  readonly onNotification: ((notification: Notification) => void) | undefined;
  readonly onWarning: (warning: McpError) => void;
  readonly onClose: ((reason: McpError) => void) | undefined;
  readonly signal: AbortSignal | undefined;
}

const FUNCTIONS = ['onNotification', 'onWarning', 'onClose', 'onElicit', 'onSample', 'onListRoots'] as const;

/** @throws TypeError when an option is out of range or cannot mean anything. */
export function readClientOptions(options: ClientOptions): ClientSettings {
  assertObject('options', options);
  const { clientInfo, capabilities, prior, roots, autoReconnect, signal, cache = {} } = options;
  for (const name of FUNCTIONS) assertFunction(name, options[name]);
  assertObject('capabilities', capabilities);
  assertArray('roots', roots);
  assertSignal('signal', signal);
  if (clientInfo !== undefined) assertInfo(clientInfo);
  if (prior !== undefined) assertVerdict(prior);
  if (cache !== false && !isJsonObject(cache))
    misuse('cache', 'an object of options, or false', shown(cache));
  return {
    ...readHandlers(options),
    clientInfo: clientInfo ?? { name: 'mcpwire', version: '0.1.0' },
    capabilities,
    dialect: oneOf('dialect', options.dialect ?? 'auto', ['auto', 'session', 'stateless']),
    prior,
    probeTimeoutMs: milliseconds('probeTimeoutMs', options.probeTimeoutMs ?? DEFAULT_PROBE_TIMEOUT_MS),
    connectTimeoutMs: milliseconds('connectTimeoutMs', options.connectTimeoutMs ?? DEFAULT_TIMEOUT_MS),
    timeoutMs: milliseconds('timeoutMs', options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
    maxPages: wholeNumber('maxPages', options.maxPages ?? DEFAULT_MAX_PAGES),
    maxRounds: wholeNumber('maxRounds', options.maxRounds ?? DEFAULT_MAX_ROUNDS),
    cache,
    roots,
    autoReconnect: autoReconnect === undefined ? undefined : readAutoReconnect(autoReconnect),
    onNotification: options.onNotification,
    onWarning: options.onWarning ?? (() => {}),
    onClose: options.onClose,
    signal,
  };
}

function readHandlers({ onElicit, onSample, onListRoots }: InputHandlers): InputHandlers {
  return {
    ...(onElicit && { onElicit }),
    ...(onSample && { onSample }),
    ...(onListRoots && { onListRoots }),
  };
}

function milliseconds(option: string, value: number): number {
  return positive(option, value, 'milliseconds');
}

function readAutoReconnect(autoReconnect: BackoffOptions | boolean): BackoffOptions | undefined {
  if (typeof autoReconnect === 'boolean') return autoReconnect ? {} : undefined;
  assertObject('autoReconnect', autoReconnect);
  readBackoff(autoReconnect);
  return autoReconnect;
}

function assertInfo(info: Implementation): void {
  if (isJsonObject(info) && typeof info.name === 'string' && typeof info.version === 'string') return;
  misuse('clientInfo', 'an object with a name and a version, both strings', kindOf(info));
}

function assertVerdict(prior: Verdict): void {
  assertObject('prior', prior);
  oneOf('prior.dialect', prior.dialect, ['session', 'stateless']);
  if (typeof prior.revision !== 'string') misuse('prior.revision', 'a string', kindOf(prior.revision));
}
