import { Buffer } from 'node:buffer';
import { INVALID_PARAMS, isJsonObject, type JsonObject, McpError, RpcError } from '../../jsonrpc/index.ts';
import { atLeastOne } from '../../jsonrpc/option.ts';
import { nodeCrypto } from '../crypto.ts';
import { stableText } from '../schema/fingerprint.ts';
import { principalOf } from './principal.ts';

/** How state that travels through the client is protected. */
export interface RequestStateOptions {
  /**
   * The secrets: the first signs, all are accepted, so that one can be replaced without refusing what is on its way.
   * Each has at least 16 bytes. Servers that answer for each other need the same. Default: one random key of this
   * process.
   */
  keys?: readonly (string | Uint8Array)[];
  /** How long a client may take from one round to the next, in milliseconds. Default 600000. */
  ttlMs?: number;
  /** The largest state, in characters as it travels; a handler that leaves more fails. Default 262144. */
  maxChars?: number;
  /**
   * Names the caller that a state is good for, given what the transport's guard established. Default: the caller
   * itself if it is a string, its `subject` or `sub` if it has one, else all of it as JSON.
   */
  principal?: (auth: unknown) => string;
}

/** What is kept from one round of a request to the next. */
export interface RoundState {
  /** What the handler left in `context.state`. */
  state: unknown;
  /** The answers that earlier rounds brought, by the name of their question. */
  answers: JsonObject;
}

/** What a state is bound to: it is refused anywhere else. */
export interface StateBinding {
  readonly method: string;
  readonly params: JsonObject;
  readonly auth: unknown;
}

/** Seals what travels through the client and opens what comes back. */
export interface StateSeal {
  /** @throws McpError `NOT_SUPPORTED` when the state is too large, TypeError when it is no JSON. */
  seal(round: RoundState, binding: StateBinding): string;
  /** @throws RpcError -32602 when it is not a state that this server sealed for this very request and caller. */
  open(sealed: unknown, binding: StateBinding): RoundState;
}

/** Params that differ from round to round, or say nothing of what is asked. */
const UNBOUND_PARAMS: readonly string[] = ['_meta', 'inputResponses', 'requestState'];
const MIN_KEY_BYTES = 16;

/**
 * Makes the seal: an HMAC-SHA256 over the state, what it is bound to, and when it lapses.
 *
 * @throws TypeError when the options are out of range.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow
 */
export function createStateSeal(options: RequestStateOptions): StateSeal {
  const { ttlMs = 600_000, maxChars = 262_144, principal = principalOf } = options;
  const keys = (options.keys ?? [nodeCrypto().randomBytes(32)]).map((key) => Buffer.from(key));
  const [signingKey] = keys;
  if (!signingKey || keys.some((key) => key.length < MIN_KEY_BYTES)) {
    throw new TypeError(
      `requestState.keys must hold at least one key, of at least ${MIN_KEY_BYTES} bytes each`,
    );
  }
  atLeastOne('requestState.maxChars', maxChars);
  atLeastOne('requestState.ttlMs', ttlMs);
  return {
    seal({ state, answers }, binding) {
      const payload = Buffer.from(JSON.stringify([Date.now() + ttlMs, answers, state])).toString('base64url');
      const sealed = `${payload}.${sign(signingKey, bind(payload, binding, principal)).toString('base64url')}`;
      if (sealed.length <= maxChars) return sealed;
      throw new McpError(
        'NOT_SUPPORTED',
        `Cannot keep the state of "${binding.method}": it exceeds ${maxChars} characters; raise requestState.maxChars`,
      );
    },
    open(sealed, binding) {
      if (typeof sealed !== 'string' || sealed.length > maxChars) throw refused('it is not one');
      const [payload = '', signature = '', ...rest] = sealed.split('.', 3);
      const given = Buffer.from(signature, 'base64url');
      const bound = tryBind(payload, binding, principal);
      const isOurs = bound !== undefined && keys.some((key) => isSame(given, sign(key, bound)));
      // Decoding skips what is no Base64, so that text beside the signature would go unseen.
      if (!isOurs || rest.length > 0 || given.toString('base64url') !== signature)
        throw refused('it was not made for this request');
      return readPayload(payload);
    },
  };
}

/** All that a signature vouches for, as text. */
function bind(payload: string, binding: StateBinding, principal: (auth: unknown) => string): string {
  const { method, params, auth } = binding;
  const bound = Object.entries(params).filter(([name]) => !UNBOUND_PARAMS.includes(name));
  const digest = nodeCrypto()
    .createHash('sha256')
    .update(stableText(Object.fromEntries(bound)))
    .digest('base64url');
  return JSON.stringify([payload, method, digest, principal(auth)]);
}

/** Undefined for params that nest too deeply to be bound: no state was ever made for them. */
function tryBind(...args: Parameters<typeof bind>): string | undefined {
  try {
    return bind(...args);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function sign(key: Buffer, bound: string): Buffer {
  return nodeCrypto().createHmac('sha256', key).update(bound).digest();
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && nodeCrypto().timingSafeEqual(given, expected);
}

/** Only for what was signed by this server, so its shape is known. */
function readPayload(payload: string): RoundState {
  const decoded: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
  if (!Array.isArray(decoded)) throw refused('it is not one');
  const [expires, answers, state] = decoded;
  if (typeof expires !== 'number' || expires < Date.now()) throw refused('it has expired');
  return { state: state ?? undefined, answers: isJsonObject(answers) ? answers : {} };
}

function refused(why: string): RpcError {
  return new RpcError(INVALID_PARAMS, `Invalid requestState: ${why}`);
}
