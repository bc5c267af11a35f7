import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/cli/command-line.ts';
import { UsageError } from '../../src/cli/usage.ts';

describe('parseCommandLine', () => {
  it('takes everything after -- for the command of the server, options too', () => {
    expect(parseCommandLine(['tools', '--json', '--', 'npx', '-y', 'pkg', '--', '--verbose'])).toEqual({
      name: 'tools',
      target: { command: 'npx', args: ['-y', 'pkg', '--', '--verbose'] },
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
      target: { command: 'x', args: [] },
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
    [['list', '--', 'x'], /Unknown command "list": it must be discover, tools or call/],
    [['tools'], /The server is missing: write -- and the command that starts it/],
    [['tools', '--'], /The server is missing/],
    [['tools', '--', ''], /The server is missing/],
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
});
