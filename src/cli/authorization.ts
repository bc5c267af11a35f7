import { homedir } from 'node:os';
import { join } from 'node:path';
import { McpError } from '../jsonrpc/index.ts';
import { bearer, fileTokenStore, type OAuthAuthorizer, oauth } from '../protocol/index.ts';
import { type HttpAuthorizer, httpErrorOf } from '../transport/index.ts';
import type { Connect } from './command-line.ts';
import type { Output } from './output.ts';

/** What authorizes the requests to an http server, where the user's own headers do not. */
export function authorization(
  command: Connect,
  { output }: { output: Output },
): { authorizer?: HttpAuthorizer } {
  const { credentials, headers } = command;
  if (Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')) return {};
  if (credentials.by === 'token') return { authorizer: bearer(credentials.token) };
  // A script is not to wait for somebody who never sees what it waits for.
  return { authorizer: signingIn(command, output.showsNotes ? showTo(output) : undefined) };
}

/** Signs in with the tokens that are kept, and asks for others where they can be shown the way. */
export function signingIn(
  { credentials, allowPrivateAddresses }: Connect,
  onRedirect: ((url: URL) => void) | undefined,
  scopes?: readonly string[],
): OAuthAuthorizer {
  return oauth({
    store: fileTokenStore(tokensPath()),
    allowPrivateAddresses,
    ...(scopes && { scopes }),
    ...(onRedirect && { onRedirect }),
    ...(credentials.by === 'client' && {
      clientRegistration: {
        clientId: credentials.clientId,
        ...(credentials.clientSecret !== undefined && { clientSecret: credentials.clientSecret }),
      },
    }),
  });
}

export function showTo(output: Output): (url: URL) => void {
  return (url) =>
    output.note(`Sign in at this address; the command goes on when you have done so:\n${url.href}`);
}

/** What to do about a refusal, for those who could sign in. */
export function loginHint({ target, credentials }: Connect): string | undefined {
  if (target.by !== 'http' || credentials.by === 'token') return undefined;
  return `Try mcpwire login ${target.url}`;
}

export function isUnauthorized(error: unknown): boolean {
  return (httpErrorOf(error) ?? (error instanceof McpError ? error : undefined))?.code === 'UNAUTHORIZED';
}

function tokensPath(): string {
  const { XDG_CONFIG_HOME, APPDATA } = process.env;
  const folder = process.platform === 'win32' ? APPDATA : XDG_CONFIG_HOME;
  return join(folder || join(homedir(), '.config'), 'mcpwire', 'tokens.json');
}
