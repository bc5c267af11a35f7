import type { HeaderMap, ProcessSpec, SocketTarget } from '../transport/index.ts';
import { UsageError } from './usage.ts';

/** Where the server is. */
export type Target =
  | { by: 'process'; spec: ProcessSpec }
  | { by: 'http' | 'webSocket'; url: string }
  | { by: 'socket'; socket: SocketTarget };

/** Reads the command that stands after "--". @throws UsageError */
export function parseProcess([command, ...args]: readonly string[]): Target {
  if (!command) throw new UsageError('The command that starts the server is missing after --');
  return { by: 'process', spec: { command, args } };
}

/** Reads an address. @throws UsageError */
export function parseAddress(word: string | undefined): Target {
  if (word === undefined) {
    throw new UsageError(
      'The server is missing: end with its address, or with -- and the command that starts it',
    );
  }
  const scheme = /^([a-z]+):/.exec(word)?.[1];
  switch (scheme) {
    case 'http':
    case 'https':
      return { by: 'http', url: parseUrl(word) };
    case 'ws':
    case 'wss':
      return { by: 'webSocket', url: parseUrl(word) };
    case 'unix':
      return { by: 'socket', socket: { path: word.slice('unix:'.length) } };
    case 'tcp':
      return { by: 'socket', socket: parseHostAndPort(word) };
    default:
      throw new UsageError(
        `Cannot read the server ${JSON.stringify(word)}: it must be an address that begins with http:, https:, ws:, wss:, unix: or tcp:, or -- and the command that starts it`,
      );
  }
}

/** Reads `Name: value` words. The values may be secrets and stay out of messages. @throws UsageError */
export function parseHeaders(words: readonly string[]): HeaderMap {
  const headers: Record<string, string> = {};
  for (const word of words) {
    const colon = word.indexOf(':');
    if (colon < 1) throw new UsageError('--header must be "Name: value"');
    headers[word.slice(0, colon).trim()] = word.slice(colon + 1).trim();
  }
  return headers;
}

function parseUrl(word: string): string {
  if (!URL.canParse(word)) throw new UsageError(`${JSON.stringify(word)} is no address`);
  return word;
}

function parseHostAndPort(word: string): SocketTarget {
  const match = /^tcp:(?:\/\/)?(.+):(\d+)$/.exec(word);
  if (!match) throw new UsageError(`${JSON.stringify(word)} must be tcp:host:port`);
  return { host: (match[1] ?? '').replace(/^\[|\]$/g, ''), port: Number(match[2]) };
}
