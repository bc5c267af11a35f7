import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/cli/command-line.ts';
import { UsageError } from '../../src/cli/usage.ts';

describe('parseCommandLine', () => {
  it('takes everything after -- for the command of the server, options too', () => {
    expect(parseCommandLine(['tools', '--json', '--', 'npx', '-y', 'pkg', '--', '--verbose'])).toEqual({
      name: 'tools',
      target: { by: 'process', spec: { command: 'npx', args: ['-y', 'pkg', '--', '--verbose'] } },
      headers: {},
      credentials: { by: 'store' },
      allowPrivateAddresses: false,
      dialect: 'auto',
      timeoutMs: undefined,
      json: true,
      verbose: false,
    });
  });

  it('takes options before and after the words, and seconds for the timeout', () => {
    expect(
      parseCommandLine([
        '--timeout',
        '2.5',
        'call',
        '--dialect=session',
        'add',
        'a=1',
        '--verbose',
        'b=-2',
        '--',
        'x',
      ]),
    ).toEqual({
      name: 'call',
      tool: 'add',
      toolArguments: {
        from: 'pairs',
        pairs: [
          { key: 'a', text: '1' },
          { key: 'b', text: '-2' },
        ],
      },
      target: { by: 'process', spec: { command: 'x', args: [] } },
      headers: {},
      credentials: { by: 'store' },
      allowPrivateAddresses: false,
      dialect: 'session',
      timeoutMs: 2500,
      json: false,
      verbose: true,
    });
  });

  it.each([[[]], [['--help']], [['-h', 'tools']], [['tools', '--help', '--', 'x']]])(
    'shows the help for %j',
    (argv) => {
      expect(parseCommandLine(argv)).toEqual({ name: 'help' });
    },
  );

  it('leaves the options of the server to the server', () => {
    expect(parseCommandLine(['discover', '--', 'x', '--help'])).toMatchObject({ name: 'discover' });
  });

  it.each<[string[], RegExp]>([
    [['--', 'x'], /What to do is missing/],
    [['--json'], /What to do is missing/],
    [['list', '--', 'x'], /Unknown command "list": it must be discover, tools, call,/],
    [['tools'], /The server is missing: end with its address/],
    [['tools', '--'], /The command that starts the server is missing/],
    [['tools', '--', ''], /The command that starts the server is missing/],
    [['tools', 'example.com'], /Cannot read the server "example.com"/],
    [['tools', 'tcp:localhost'], /must be tcp:host:port/],
    [['tools', 'http:'], /is no address/],
    [['tools', '--header', 'X: secret', '--', 'x'], /--header needs a server with an http or ws address/],
    [['tools', '--header', 'secret', 'http://localhost'], /^--header must be "Name: value"$/],
    [['tools', '--token', 'secret', '--', 'x'], /^--token needs a server with an http address$/],
    [['tools', '--token', '', 'http://localhost'], /--token is empty/],
    [['tools', '--client-id', 'x', 'ws://localhost'], /--client-id needs a server with an http address/],
    [['tools', '--client-secret', 's', 'http://localhost'], /^--client-secret needs --client-id$/],
    [['tools', '--token', 's', '--client-id', 'x', 'http://localhost'], /exclude each other/],
    [['tools', '--scope', 'a', 'http://localhost'], /--scope belongs to "login"/],
    [['tools', '--allow-private-addresses', '--', 'x'], /--allow-private-addresses needs a server/],
    [['login', '--', 'x'], /"login" needs a server with an http address/],
    [['logout', 'tcp:localhost:1'], /"logout" needs a server with an http address/],
    [['login', '--token', 's', 'http://localhost'], /"login" takes no --token/],
    [['login', 'x', 'http://localhost'], /"login" takes no "x"/],
    [['tools', '--output', 'f', '--', 'x'], /--output belongs to "read"/],
    [['tools', '--tools', '--', 'x'], /--tools belongs to "listen"/],
    [['read', 'http://localhost'], /The URI of the resource to read is missing/],
    [['prompt', '--', 'x'], /The name of the prompt is missing/],
    [['prompt', 'p', '{}', '--', 'x'], /must be key=value/],
    [['tools', 'x', '--', 'y'], /"tools" takes no "x"/],
    [['call', '--', 'x'], /The name of the tool to call is missing/],
    [['call', 't', 'word', '--', 'x'], /Cannot read argument "word": write key=value/],
    [['call', 't', '=1', '--', 'x'], /Cannot read argument "=1"/],
    [['call', 't', '-', 'a=1', '--', 'x'], /Cannot read argument "-"/],
    [['call', 't', '{"a":', '--', 'x'], /The argument is no JSON/],
    [['tools', '--nope', '--', 'x'], /Unknown option '--nope'/],
    [['tools', '--timeout', '--', 'x'], /--timeout/],
    [
      ['tools', '--dialect', 'modern', '--', 'x'],
      /Unknown dialect "modern": it must be auto, stateless or session/,
    ],
    [['tools', '--timeout', '0', '--', 'x'], /--timeout "0" is no positive number of seconds/],
    [['tools', '--timeout=1m', '--', 'x'], /--timeout "1m"/],
    [['tools', '--timeout=', '--', 'x'], /--timeout ""/],
    [['tools', '--timeout=Infinity', '--', 'x'], /--timeout "Infinity"/],
  ])('refuses %j', (argv, message) => {
    expect(() => parseCommandLine(argv)).toThrow(UsageError);
    expect(() => parseCommandLine(argv)).toThrow(message);
  });

  it.each([
    ['https://example.com/mcp', { by: 'http', url: 'https://example.com/mcp' }],
    ['ws://localhost:1/', { by: 'webSocket', url: 'ws://localhost:1/' }],
    ['unix:/run/mcp.sock', { by: 'socket', socket: { path: '/run/mcp.sock' } }],
    ['tcp:localhost:80', { by: 'socket', socket: { host: 'localhost', port: 80 } }],
    ['tcp:[::1]:80', { by: 'socket', socket: { host: '::1', port: 80 } }],
  ])('takes %s, last, for the server', (address, target) => {
    expect(parseCommandLine(['call', 'fetch', 'url=http://a', address])).toMatchObject({
      name: 'call',
      tool: 'fetch',
      toolArguments: { from: 'pairs', pairs: [{ key: 'url', text: 'http://a' }] },
      target,
    });
  });

  it('reads a resource whose URI looks like a server', () => {
    expect(parseCommandLine(['read', 'http://a/b', 'http://server/mcp'])).toMatchObject({
      uri: 'http://a/b',
      target: { url: 'http://server/mcp' },
    });
  });

  it('listens for all lists, or for what is chosen', () => {
    const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    expect(parseCommandLine(['listen', '--', 'x'])).toMatchObject({ filter: lists });
    expect(parseCommandLine(['listen', '--tools', '--resource', 'a:', '--', 'x'])).toMatchObject({
      filter: { toolsListChanged: true, resourceSubscriptions: ['a:'] },
    });
  });
});
