import { type HttpConnectOptions, McpClient } from '../protocol/index.ts';
import { showTo, signingIn } from './authorization.ts';
import type { Command } from './command-line.ts';
import { clientOptions, fail, type Surroundings } from './run.ts';
import { EXIT } from './usage.ts';

type Login = Extract<Command, { name: 'login' }>;
type Logout = Extract<Command, { name: 'logout' }>;

/**
 * Signs in anew, whatever tokens there are, by doing what every command does: asking for the server's tools. A server
 * that answers without it may have more for those who sign in.
 */
export async function login(command: Login, surroundings: Surroundings): Promise<number> {
  const { url, headers, scopes } = command;
  const { output, signal } = surroundings;
  const show = showTo(output);
  let isAsked = false;
  const onRedirect = (address: URL) => {
    isAsked = true;
    show(address);
  };
  const authorizer = signingIn(command, onRedirect, scopes);
  try {
    // Tokens that cannot be revoked are forgotten all the same.
    await authorizer
      .logout(url)
      .catch(({ message }) => command.verbose && output.note(`Warning: ${message}`));
    const options = { ...clientOptions(command, surroundings), authorizer, headers };
    await askForTools(url, options);
    // What that brings has to work as well.
    if (!isAsked && (await authorizer.login(url, { signal }))) await askForTools(url, options);
  } catch (error) {
    return fail(error, EXIT.connect, surroundings);
  }
  await output.print(isAsked ? `Signed in to ${url}` : `${url} asks nobody to sign in`);
  return EXIT.ok;
}

async function askForTools(
  url: string,
  options: HttpConnectOptions & { signal?: AbortSignal },
): Promise<void> {
  const client = await McpClient.http(url, options);
  try {
    await client.listTools(options.signal && { signal: options.signal });
  } finally {
    await client.close();
  }
}

export async function logout(command: Logout, surroundings: Surroundings): Promise<number> {
  const { url } = command;
  const { output, signal } = surroundings;
  try {
    await signingIn(command, undefined).logout(url, { signal });
  } catch (error) {
    return fail(error, EXIT.request, surroundings);
  }
  await output.print(`Signed out of ${url}`);
  return EXIT.ok;
}
