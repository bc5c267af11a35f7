/** What is wrong with a token, in the words of RFC 6750 section 3.1. */
export type BearerError = 'invalid_request' | 'invalid_token' | 'insufficient_scope';

/**
 * Asks the client for another token. `verify` of a guard returns or throws it; a handler of a server (a tool, a prompt, a
 * resource, middleware) that finds that an operation needs more scopes throws it. By HTTP, behind a guard and while nothing
 * of the answer has been sent, it becomes the status and the `WWW-Authenticate` header that clients act on. Everywhere else
 * the client gets an `RpcError` -32600 that says the same.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-challenge-handling
 */
export class BearerChallenge {
  readonly error: BearerError;
  /** For people; printable ASCII. */
  readonly description: string | undefined;
  /** All scopes that the operation at hand needs. Default: `requiredScopes` of the guard. */
  readonly scopes: readonly string[] | undefined;

  constructor(error: BearerError, options: { description?: string; scopes?: readonly string[] } = {}) {
    this.error = error;
    this.description = options.description;
    this.scopes = options.scopes;
  }
}
