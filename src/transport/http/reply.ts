import { Buffer, isUtf8 } from 'node:buffer';
import {
  classify,
  isJsonObject,
  isRequestId,
  type JsonRpcErrorResponse,
  McpError,
  type RequestId,
  RpcError,
} from '../../jsonrpc/index.ts';
import { HttpError } from './http-error.ts';
import { mediaType } from './media-type.ts';
import type { ReplyHead } from './round-trip.ts';

const PREVIEW_CHARS = 200;

/** What was sent where, for error messages, and whether it named a session. */
export interface Sent {
  readonly what: string;
  readonly to: string;
  readonly id: RequestId | null | undefined;
  readonly namedSession: boolean;
}

/** The text of a body. Where its bytes are not UTF-8, it has U+FFFD in their place. */
export interface BodyText {
  readonly text: string;
  readonly isUtf8: boolean;
}

export function decodeBody(chunks: readonly Buffer[]): BodyText {
  const [first] = chunks;
  const bytes = first && chunks.length === 1 ? first : Buffer.concat(chunks);
  // Not as latin1, be it ASCII: long text would lie outside the heap then, and parsing it would not move the collector
  // to free the bytes first.
  const text = bytes.toString('utf8');
  return { text, isUtf8: !text.includes('\ufffd') || isUtf8(bytes) };
}

/**
 * Reads a body that must be JSON.
 *
 * @throws McpError `INVALID_UTF8` or `INVALID_JSON`.
 */
export function parseBody({ text, isUtf8 }: BodyText, sent: Sent): unknown {
  if (!isUtf8) {
    throw new McpError(
      'INVALID_UTF8',
      `Cannot read the reply ${toWhat(sent)}: it is not UTF-8: ${preview(text)}`,
    );
  }
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (cause) {
    const found = text === '' ? 'it is empty' : `it is not JSON: ${preview(text)}`;
    throw new McpError('INVALID_JSON', `Cannot read the reply ${toWhat(sent)}: ${found}`, { cause });
  }
}

/**
 * The error that a refused message fails with. Where the body holds a JSON-RPC error that answers the message (it has the
 * same id or none), each of the two is the other's cause in turn; see {@link HttpError}.
 */
export function refusalError(head: ReplyHead, text: string, sent: Sent): McpError {
  const { status, headers } = head;
  const answer = errorResponse(text);
  const isOurs = answer !== undefined && answer.id === sent.id;
  const message = `Cannot send ${sent.what} to "${sent.to}": ${found(head, text, answer)}`;
  const details = {
    status,
    headers,
    bodyPreview: text.slice(0, PREVIEW_CHARS),
    sessionLost: sent.namedSession && (status === 404 || (status === 400 && !isOurs)),
  };
  const answers = answer && (isOurs || answer.id === undefined || answer.id === null);
  if (!answers) return new HttpError(message, details);
  const refusesAsker = status === 401 || status === 403;
  if (refusesAsker) return new HttpError(message, details, { cause: toRpcError(answer) });
  return toRpcError(answer, new HttpError(message, details));
}

/**
 * Whose response a value is: the id it names, `null` for an error that names none, undefined for what is no response.
 */
export function responseId(value: unknown): RequestId | null | undefined {
  if (!isJsonObject(value) || 'method' in value || !('result' in value || 'error' in value)) return undefined;
  if (isRequestId(value.id)) return value.id;
  return classify(value).kind === 'error' ? null : undefined;
}

export function toRpcError({ error }: JsonRpcErrorResponse, cause?: McpError): RpcError {
  return new RpcError(error.code, error.message, error.data, { cause });
}

export function toWhat({ what, to }: Sent): string {
  return `to ${what} from "${to}"`;
}

function found(
  { status, headers }: ReplyHead,
  text: string,
  answer: JsonRpcErrorResponse | undefined,
): string {
  if (answer) return `status ${status}: ${answer.error.message}`;
  const encoding = headers['content-encoding'];
  if (encoding !== undefined) return `status ${status} in an encoding that was not asked for: ${encoding}`;
  const type = mediaType(headers) || 'no content type';
  return text === ''
    ? `status ${status} with an empty body`
    : `status ${status} with ${type}: ${preview(text)}`;
}

function errorResponse(text: string): JsonRpcErrorResponse | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // An error page that only looks like JSON: the caller shows its first characters.
    return undefined;
  }
  const classified = classify(value);
  return classified.kind === 'error' ? classified.message : undefined;
}

function preview(text: string): string {
  return JSON.stringify(text.length > PREVIEW_CHARS ? `${text.slice(0, PREVIEW_CHARS)}…` : text);
}
