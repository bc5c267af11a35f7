import { describe, expect, it } from 'vitest';
import { bearer, McpClient } from '../../../src/protocol/index.ts';
import { httpErrorOf } from '../../../src/transport/index.ts';
import { closeBehindTest } from '../../transport/http/scripted-server.ts';
import { protect } from './protected-server.ts';

const server = (good: () => string) =>
  protect('https://auth.example.com', (token) => (token === good() ? { scopes: [] } : undefined));

describe('bearer', () => {
  it('sends a token with every request', async () => {
    const { url, seen } = await server(() => 'x');
    const client = await McpClient.http(url, { authorizer: bearer('x') });
    closeBehindTest(() => client.close());
    await client.callTool('read');
    expect(new Set(seen)).toEqual(new Set(['Bearer x']));
  });

  it('leaves a refusal as it is', async () => {
    const { url, seen } = await server(() => 'x');
    const error = await McpClient.http(url, { authorizer: bearer('y') }).catch((thrown) => thrown);
    expect(httpErrorOf(error)).toMatchObject({ code: 'UNAUTHORIZED', status: 401 });
    expect(seen).toEqual(['Bearer y']);
  });

  it('asks a function for each request, and once more when its token is refused', async () => {
    let good = 'a';
    const { url, seen } = await server(() => good);
    const given: string[] = [];
    let next = 'a';
    const authorizer = bearer(async () => {
      given.push(next);
      const token = next;
      next = good;
      return token;
    });
    const client = await McpClient.http(url, { authorizer });
    closeBehindTest(() => client.close());
    good = 'b';
    await client.callTool('read');
    expect(seen.slice(-2)).toEqual(['Bearer a', 'Bearer b']);
    expect(given).toContain('b');
  });

  it('does not ask a function again that gives the same token', async () => {
    const { url, seen } = await server(() => 'x');
    const error = await McpClient.http(url, { authorizer: bearer(() => 'y') }).catch((thrown) => thrown);
    expect(httpErrorOf(error)).toMatchObject({ status: 401 });
    expect(seen).toEqual(['Bearer y']);
  });

  it.each(['', 'a b', 'a\nb', 'é'])('refuses at once to send %j, and does not show it', async (token) => {
    expect(() => bearer(`secret${token || ' '}`)).toThrow(/^token must be visible ASCII characters$/);
    const { url } = await server(() => 'x');
    const error = await McpClient.http(url, { authorizer: bearer(() => `secret${token || ' '}`) }).catch(
      (e) => e,
    );
    expect(error).toMatchObject({ message: expect.stringContaining('token must be visible ASCII') });
    expect(String(error)).not.toContain('secret');
  });
});
