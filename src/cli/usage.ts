/** How the command ends; part of its interface. */
export const EXIT = {
  ok: 0,
  toolError: 1,
  usage: 2,
  connect: 3,
  request: 4,
} as const;

export const USAGE = `Usage: mcpwire <what> [options] <server>

What:
  discover                        what the server is
  tools                           what tools it has
  call <tool> [<arguments>]       call a tool
  resources                       what resources and resource templates it has
  read <uri>                      read a resource
  prompts                         what prompts it has
  prompt <name> [key=value …]     fill in a prompt
  listen                          print what changes at the server, until interrupted
  login                           sign in at an http server, for all commands that follow
  logout                          take that back

Server, always last:
  -- <command> [args…]            started, spoken to over its standard streams, and ended afterwards
  http://… https://…              Streamable HTTP, or the deprecated HTTP+SSE
  ws://… wss://…                  WebSocket
  unix:<path> tcp:<host>:<port>   a socket

Arguments of a tool:
  key=value …   each value is read as the tool's schema says: number, boolean, JSON for objects and arrays, else text
  '{…}'         one JSON object
  -             one JSON object from standard input
  A tool that asks its caller for input on the way fails: there is nobody to ask.

Options:
  --json                 print JSON: the result, the list or the description as the server gave it; listen: one line
                         an event
  --dialect <dialect>    auto (default), stateless or session
  --timeout <seconds>    how long the server may take over the handshake, and over each request; default 60
  --header 'Name: value' a header of every request, for http and ws; may be repeated; never printed
  --token <token>        the access token for an http server
  --client-id <id> --client-secret <secret>
                         the client that is registered for you, where an http server wants you to sign in
  --scope <scope>        login: what to ask permission for, where that is more than the server wants at first; may be
                         repeated
  --allow-private-addresses
                         sign in although the authorization server is in a private network
  --output <file>        read: write the resource to a file
  --tools --prompts --resources --resource <uri>
                         listen: what to listen for; by default all lists
  --verbose              show warnings, progress, log messages and the server's stderr, all on stderr
  --help                 print this text
  --version              print the version

Signing in:
  A server that wants a user to be signed in is answered with the tokens of "login", and they are renewed as needed.
  Where there are none, a terminal shows the address to sign in at. They are kept in tokens.json in the folder mcpwire
  of $XDG_CONFIG_HOME, ~/.config or %APPDATA%; only you can read that file.

Exit status:
  0    done
  1    the tool ran and reported an error
  2    the command line makes no sense
  3    the server could not be started or reached, or spoke no dialect that is known here
  4    the server refused a request, did not answer in time, or was lost; or the output could not be written
  130  interrupted; 143 terminated
`;

/** The command line makes no sense. The message says why. */
export class UsageError extends Error {}
