import { McpClient } from '../protocol/index.ts';
import { showTo, signingIn } from './authorization.ts';
import type { Command } from './command-line.ts';
import { clientOptions, fail, type Surroundings } from './run.ts';
import { EXIT } from './usage.ts';

type Login = Extract<Command, { name: 'login' | 'logout' }>;

/** Signs in anew, whatever tokens there are, by doing what every command does: asking for the server's tools. */
export async function login(command: Login, surroundings: Surroundings): Promise<number> {
  const { url, credentials, headers } = command;
  const { output } = surroundings;
  const show = showTo(output);
  let isAsked = false;
  const authorizer = signingIn(credentials, (address) => {
    isAsked = true;
    show(address);
  });
  try {
    // Tokens that cannot be revoked are forgotten all the same.
    await authorizer
      .logout(url)
      .catch(({ message }) => command.verbose && output.note(`Warning: ${message}`));
    const client = await McpClient.http(url, {
      ...clientOptions(command, surroundings),
      authorizer,
      headers,
    });
    try {
      await client.listTools({ signal: surroundings.signal });
    } finally {
      await client.close();
    }
  } catch (error) {
    return fail(error, EXIT.connect, surroundings);
  }
  await output.print(isAsked ? `Signed in to ${url}` : `${url} asks nobody to sign in`);
  return EXIT.ok;
}

export async function logout(command: Login, surroundings: Surroundings): Promise<number> {
  const { url, credentials } = command;
  const { output, signal } = surroundings;
  try {
    await signingIn(credentials, undefined).logout(url, { signal });
  } catch (error) {
    return fail(error, EXIT.request, surroundings);
  }
  await output.print(`Signed out of ${url}`);
  return EXIT.ok;
}
