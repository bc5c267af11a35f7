import { afterAll, describe, expect, it } from 'vitest';
import { bearer, McpClient, McpServer, oauth } from '../../../src/protocol/index.ts';
import { createLinkedPair } from '../../../src/transport/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: it is the point of these tests to pass what the types do not allow.
type Any = any;

const server = new McpServer({ name: 's', version: '1' });
server.tool({ name: 't' }, () => 'done');
afterAll(() => server.close());

async function refusalOf(act: () => unknown): Promise<unknown> {
  try {
    await act();
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return error instanceof Error ? error.message : error;
  }
  throw new Error('It was not refused');
}

describe('the options of a client', () => {
  it.each<[Any, string]>([
    [{ dialect: 'modern' }, 'dialect must be "auto", "session" or "stateless", not "modern"'],
    [{ timeoutMs: -1 }, 'timeoutMs must be a positive number of milliseconds, not -1'],
    [{ timeoutMs: 'x' }, 'timeoutMs must be a positive number of milliseconds, not "x"'],
    [{ probeTimeoutMs: 'x' }, 'probeTimeoutMs must be a positive number of milliseconds, not "x"'],
    [{ connectTimeoutMs: Number.NaN }, 'connectTimeoutMs must be a positive number of milliseconds, not NaN'],
    [{ maxPages: 0 }, 'maxPages must be a whole number of at least 1, or Infinity, not 0'],
    [{ maxRounds: 1.5 }, 'maxRounds must be a whole number of at least 1, or Infinity, not 1.5'],
    [{ cache: true }, 'cache must be an object of options, or false, not true'],
    [{ cache: { maxEntries: 'x' } }, 'cache.maxEntries must be a number, 0 or more, not "x"'],
    [{ cache: { defaultTtlMs: -1 } }, 'cache.defaultTtlMs must be a number, 0 or more, not -1'],
    [{ onNotification: 5 }, 'onNotification must be a function, not 5'],
    [{ onWarning: 'x' }, 'onWarning must be a function, not a string'],
    [{ onClose: {} }, 'onClose must be a function, not an object'],
    [{ onElicit: 5 }, 'onElicit must be a function, not 5'],
    [{ onSample: 5 }, 'onSample must be a function, not 5'],
    [{ onListRoots: [] }, 'onListRoots must be a function, not an array'],
    [
      { clientInfo: 'me' },
      'clientInfo must be an object with a name and a version, both strings, not a string',
    ],
    [{ capabilities: 5 }, 'capabilities must be an object, not 5'],
    [{ prior: { x: 1 } }, 'prior.dialect must be "session" or "stateless", not undefined'],
    [{ prior: { dialect: 'session' } }, 'prior.revision must be a string, not undefined'],
    [{ roots: 'x' }, 'roots must be an array, not a string'],
    [{ autoReconnect: 3 }, 'autoReconnect must be an object, not 3'],
    [{ autoReconnect: { maxRetries: -1 } }, 'maxRetries must be a number, 0 or more, not -1'],
    [{ signal: {} }, 'signal must be an AbortSignal, not an object'],
  ])('refuses %j', async (options, why) => {
    expect(await refusalOf(() => McpClient.inProcess(server, options))).toBe(why);
  });

  it('takes true and false for autoReconnect', async () => {
    for (const autoReconnect of [true, false]) {
      await (await McpClient.inProcess(server, { autoReconnect })).close();
    }
  });

  it.each<[string, () => unknown, string]>([
    ['stdio()', () => (McpClient.stdio as Any)(), 'spec must be an object with a command, not undefined'],
    ['args', () => stdio({ args: 'x' }), 'args must be an array of strings, not a string'],
    ['an argument', () => stdio({ args: ['a', 5] }), 'args[1] must be a string, not 5'],
    ['env', () => stdio({ env: 'A=1' }), 'env must be an object, not a string'],
    ['cwd', () => stdio({ cwd: 5 }), 'cwd must be the path of a folder, not 5'],
    [
      'stderr',
      () => stdio({}, { stderr: 'inherti' }),
      'stderr must be "inherit", "ignore", "pipe" or a function, not "inherti"',
    ],
    [
      'graceMs',
      () => stdio({}, { graceMs: -5 }),
      'graceMs must be a number of milliseconds, 0 or more, not -5',
    ],
    ['headers', () => http({ headers: 'x' }), 'headers must be an object, not a string'],
    [
      'authorizer',
      () => http({ authorizer: 'secret' }),
      'authorizer must be an authorizer, such as bearer(token) or oauth(…) gives, not a string',
    ],
    [
      'headers of a WebSocket',
      () => McpClient.webSocket('ws://127.0.0.1:9/', { headers: 'x' as Any }),
      'headers must be an object, not a string',
    ],
    ['pooling', () => http({ pooling: 'no' }), 'pooling must be "auto", true or false, not "no"'],
    [
      'socket()',
      () => (McpClient.socket as Any)(),
      'target must be an object with a path or a port, not undefined',
    ],
    [
      'connectTimeoutMs of a socket',
      () => McpClient.socket({ port: 1 }, { connectTimeoutMs: 2 ** 31 }),
      'connectTimeoutMs must be a positive number of milliseconds below 2 ** 31, not 2147483648',
    ],
    ['inProcess()', () => (McpClient.inProcess as Any)(), 'server must be an McpServer, not undefined'],
    [
      'connect()',
      () => (McpClient.connect as Any)(),
      'transport must be a transport, or a function that makes one, not undefined',
    ],
    [
      'bearer()',
      () => (bearer as Any)(),
      'token must be a string, or a function that gives one, not undefined',
    ],
    ['onRedirect', () => oauth({ onRedirect: 5 as Any }), 'onRedirect must be a function, not 5'],
    ['waitForCode', () => oauth({ waitForCode: 5 as Any }), 'waitForCode must be a function, not 5'],
  ])('refuses %s', async (_, act, why) => {
    expect(await refusalOf(act)).toBe(why);
  });

  const stdio = (spec: Any, options: Any = {}) =>
    McpClient.stdio({ command: process.execPath, ...spec }, options);
  const http = (options: Any) => McpClient.http('http://127.0.0.1:9/', options);
});

describe.each(['session', 'stateless'] as const)('a request of the %s dialect', (dialect) => {
  it.each<[Any, string]>([
    [{ signal: 5 }, 'signal must be an AbortSignal, not 5'],
    [{ signal: {} }, 'signal must be an AbortSignal, not an object'],
    [{ timeoutMs: '5' }, 'timeoutMs must be a positive number of milliseconds, not "5"'],
    [{ timeoutMs: 0 }, 'timeoutMs must be a positive number of milliseconds, not 0'],
    [{ maxTimeoutMs: Number.NaN }, 'maxTimeoutMs must be a positive number of milliseconds, not NaN'],
    [{ onProgress: 5 }, 'onProgress must be a function, not 5'],
  ])('with %j is refused, and nothing else happens', async (options, why) => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    const [ours, theirs] = createLinkedPair();
    const connection = server.connect(theirs);
    const client = await McpClient.connect(ours, { dialect });
    expect(await refusalOf(() => client.callTool('t', {}, options))).toBe(why);
    expect(await refusalOf(() => client.listTools(options))).toBe(why);
    expect(await refusalOf(() => client.readResource('x:y', options))).toBe(why);
    expect((await client.callTool('t')).content).toEqual([{ type: 'text', text: 'done' }]);
    await client.close();
    await connection.closed;
    // A rejection that nobody handles is told when the tasks of this turn are done.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).toEqual([]);
  });

  it('for a log level that there is not is refused, and later requests go on', async () => {
    const client = await McpClient.inProcess(server, { dialect });
    expect(await refusalOf(() => client.setLogLevel('loud' as Any))).toMatch(
      /^level must be "debug", .* or "emergency", not "loud"$/,
    );
    expect(await client.listTools()).toHaveLength(1);
    await client.close();
  });

  it.each<[Any, RegExp]>([
    [{ tools: true }, /^filter must be of toolsListChanged, .* and resourceSubscriptions, not tools$/],
    [{ toolsListChanged: 'yes' }, /^toolsListChanged must be true or false, not "yes"$/],
    [{ resourceSubscriptions: 'x:y' }, /^resourceSubscriptions must be an array, not a string$/],
    [undefined, /^filter must be an object, not undefined$/],
  ])('to listen for %j is refused', async (filter, why) => {
    const client = await McpClient.inProcess(server, { dialect });
    expect(await refusalOf(() => client.listen(filter))).toMatch(why);
    expect(await refusalOf(() => client.listen({}, { signal: {} as Any }))).toMatch(/^signal must be/);
    await client.close();
  });
});
