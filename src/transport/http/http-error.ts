import { type ErrorCode, McpError } from '../../jsonrpc/index.ts';

/** The headers of a reply, names in lower case. */
export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface HttpErrorDetails {
  status: number;
  headers: ReplyHeaders;
  /** The first characters of the body. */
  bodyPreview: string;
  /** Whether the server has forgotten the session that the request named. */
  sessionLost: boolean;
}

/**
 * An HTTP reply that is no MCP reply. Its code is `UNAUTHORIZED` where the server asks for credentials, else
 * `HTTP_STATUS`. Where the body held a JSON-RPC error that answers the request, a request that was refused with 401 or
 * 403 fails with this error, and the JSON-RPC error is its `cause`: what is refused is the asker, not what was asked.
 * Behind every other status it is the other way round. {@link httpErrorOf} finds this error either way.
 */
export class HttpError extends McpError {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly bodyPreview: string;
  readonly sessionLost: boolean;

  constructor(message: string, details: HttpErrorDetails, options?: { cause?: unknown }) {
    super(codeOf(details), message, options);
    this.status = details.status;
    this.headers = details.headers;
    this.bodyPreview = details.bodyPreview;
    this.sessionLost = details.sessionLost;
  }
}

/** The HTTP side of a failed request: the error itself or its cause; undefined where HTTP was not the matter. */
export function httpErrorOf(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  return error instanceof McpError && error.cause instanceof HttpError ? error.cause : undefined;
}

function codeOf({ status, headers }: HttpErrorDetails): ErrorCode {
  const wantsCredentials = status === 401 || (status === 403 && headers['www-authenticate'] !== undefined);
  return wantsCredentials ? 'UNAUTHORIZED' : 'HTTP_STATUS';
}
