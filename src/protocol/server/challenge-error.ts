import { INVALID_REQUEST, RpcError } from '../../jsonrpc/index.ts';
import { BearerChallenge } from '../../transport/index.ts';

/** What a client is told of a challenge that a handler threw, where it cannot be an answer of its own kind. */
export function challengeError(challenge: BearerChallenge): RpcError {
  const { error, description, scopes } = challenge;
  const needed = scopes && scopes.length > 0 ? `it needs the scopes ${scopes.join(' ')}` : undefined;
  const why = description ?? needed ?? error;
  const data = scopes ? { error, scopes: [...scopes] } : { error };
  return new RpcError(INVALID_REQUEST, `Cannot serve the request: ${why}`, data, { cause: challenge });
}

/** The challenge that an error of {@link challengeError} was made from. */
export function challengeOf({ cause }: RpcError): BearerChallenge | undefined {
  return cause instanceof BearerChallenge ? cause : undefined;
}
