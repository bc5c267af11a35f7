import { McpError } from '../jsonrpc/index.ts';

/** The close codes that this package sends. */
export const NORMAL_CLOSURE = 1000;
export const GOING_AWAY = 1001;
export const UNSUPPORTED_DATA = 1003;
export const INTERNAL_FAILURE = 1011;

/** The code of a connection that ended without a close frame. */
const NO_CLOSE_FRAME = 1006;

/** What a close code of the other end means, and whether the channel failed or was merely ended. */
const MEANINGS: { readonly [code: number]: { readonly says: string; readonly failed: boolean } } = {
  1000: { says: 'it is done', failed: false },
  1001: { says: 'it is going away', failed: false },
  1002: { says: 'it saw a breach of the WebSocket protocol', failed: true },
  1003: { says: 'it does not take this kind of data', failed: true },
  1005: { says: 'it gave no code', failed: false },
  1007: { says: 'it saw data that is not what it claims to be', failed: true },
  1008: { says: 'its policy forbids what it was sent', failed: true },
  1009: { says: 'a message was too large for it', failed: true },
  1010: { says: 'it misses an extension', failed: true },
  1011: { says: 'it failed inside', failed: true },
  1012: { says: 'it restarts', failed: false },
  1013: { says: 'it is overloaded; try again later', failed: true },
  1014: { says: 'what stands behind it gave no good answer', failed: true },
};
const APPLICATION_CODE = { says: 'for a reason of its own', failed: true };

/**
 * The error for a connection that the other end closed.
 *
 * @param text The reason that came in the close frame; may be empty.
 * @param cause What befell the socket, where the connection was lost.
 * @see https://www.rfc-editor.org/rfc/rfc6455#section-7.4
 */
export function closeError(name: string, code: number, text: string, cause?: Error): McpError {
  if (code === NO_CLOSE_FRAME) {
    const why = cause ? cause.message : 'it ended without a close frame';
    return new McpError('TRANSPORT_FAILED', `The connection to "${name}" was lost: ${why}`, { cause });
  }
  const { says, failed } = MEANINGS[code] ?? APPLICATION_CODE;
  const quoted = text === '' ? '' : `, ${JSON.stringify(text)}`;
  return new McpError(
    failed ? 'TRANSPORT_FAILED' : 'CLOSED',
    `"${name}" closed the connection: ${says} (${code}${quoted})`,
  );
}
