import { kindOf, misuse } from '../../jsonrpc/option.ts';
import type { HttpAuthorizer } from '../../transport/index.ts';

const TOKEN = /^[\x21-\x7e]+$/;

/**
 * Sends an access token that comes from elsewhere.
 *
 * @param token The token, or a function that gives one for each request: it is asked once more when its token is
 *   refused, and the request is repeated where that is another one.
 * @throws TypeError when the token cannot be sent; a function that gives such a token, or throws, fails the request.
 */
export function bearer(token: string | (() => string | Promise<string>)): HttpAuthorizer {
  if (typeof token === 'string') {
    const headers = { authorization: authorizationOf(token) };
    return { authorize: () => headers, challenge: () => false };
  }
  if (typeof token !== 'function') misuse('token', 'a string, or a function that gives one', kindOf(token));
  const ask = async () => authorizationOf(await token());
  return {
    authorize: async () => ({ authorization: await ask() }),
    challenge: async ({ attempt, status, authorization }) => {
      return status === 401 && attempt === 1 && (await ask()) !== authorization;
    },
  };
}

function authorizationOf(token: string): string {
  // The token stays out of the message.
  if (typeof token !== 'string' || !TOKEN.test(token))
    throw new TypeError('token must be visible ASCII characters');
  return `Bearer ${token}`;
}
