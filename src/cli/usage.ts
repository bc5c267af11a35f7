/** How the command ends; part of its interface. */
export const EXIT = {
  ok: 0,
  toolError: 1,
  usage: 2,
  connect: 3,
  request: 4,
} as const;

export const USAGE = `Usage:
  mcpwire discover [options] -- <command> [args…]      what the server is
  mcpwire tools [options] -- <command> [args…]         what tools it has
  mcpwire call <tool> [<arguments>] [options] -- <command> [args…]

The server is started with the command after "--", spoken to over its standard streams, and ended afterwards.

Arguments of a tool:
  key=value …   each value is read as the tool's schema says: number, boolean, JSON for objects and arrays, else text
  '{…}'         one JSON object
  -             one JSON object from standard input

Options:
  --json                 print JSON: the result, the list or the description as the server gave it
  --dialect <dialect>    auto (default), stateless or session
  --timeout <seconds>    how long the server may take over the handshake, and over each request; default 60
  --verbose              show warnings, progress, log messages and the server's stderr, all on stderr
  --help                 print this text
  --version              print the version

Exit status:
  0    done
  1    the tool ran and reported an error
  2    the command line makes no sense
  3    the server could not be started, or spoke no dialect that is known here
  4    the server refused a request, did not answer in time, or was lost; or the output could not be written
  130  interrupted; 143 terminated
`;

/** The command line makes no sense. The message says why. */
export class UsageError extends Error {}
