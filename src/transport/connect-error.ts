import { McpError } from '../jsonrpc/index.ts';

/** What to do about failures that everybody meets sooner or later. */
const ADVICE: { readonly [code: string]: string } = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'check the host name',
  EACCES: 'this user may not use it',
  ENOENT: 'no socket has this path; is the server running?',
  ENOTSOCK: 'what has this path is no socket',
  EPROTO: 'is TLS spoken there?',
  ERR_SSL_WRONG_VERSION_NUMBER: 'TLS is not spoken there',
};
const CERTIFICATE_FAULT = /CERT|SIGNATURE|^ERR_TLS_/;

/** The error for a connection that could not be made, saying what the system said. */
export function connectError(name: string, cause: Error & { code?: unknown }): McpError {
  const code = typeof cause.code === 'string' ? cause.code : '';
  const advice = CERTIFICATE_FAULT.test(code) ? 'its certificate is not trusted here' : ADVICE[code];
  const why = advice === undefined ? messageOf(cause) : `${messageOf(cause)}; ${advice}`;
  return new McpError('TRANSPORT_FAILED', `Cannot connect to "${name}": ${why}`, { cause });
}

/** A host with several addresses fails with an error for each of them and a message of none. */
function messageOf(cause: Error): string {
  if (cause instanceof AggregateError) {
    const messages = cause.errors.filter((each) => each instanceof Error).map((each) => each.message);
    if (messages.length > 0) return messages.join(', ');
  }
  return cause.message;
}
