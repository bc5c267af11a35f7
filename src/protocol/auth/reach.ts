import { BlockList, isIP } from 'node:net';
import { McpError } from '../../jsonrpc/index.ts';

/** How far an address reaches: from everywhere, only inside one network, or only on this machine. */
export type Reach = 'public' | 'private' | 'loopback';

/** Which addresses may be asked on behalf of one MCP server. */
export interface ReachPolicy {
  /** The host of the MCP server itself, which the user chose. */
  readonly ownHost: string;
  readonly allowPrivate: boolean;
}

const MAX_SHOWN_CHARS = 200;

/** A URL for an error message: not too long, and without its query, which may hold a secret. */
export function shownUrl({ origin, pathname }: URL): string {
  const url = origin + pathname;
  return url.length > MAX_SHOWN_CHARS ? `${url.slice(0, MAX_SHOWN_CHARS)}…` : url;
}

/** The host of a URL, an IPv6 address without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** Whether what is sent there is encrypted, or stays on this machine. */
export function isSecure(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && reachOfHost(hostOf(url)) === 'loopback');
}

/**
 * Refuses what must not be asked: what is not encrypted, except on this machine, and what a server out there could use
 * to make this client ask its neighbours.
 *
 * @throws McpError `UNAUTHORIZED`.
 * @see https://modelcontextprotocol.io/docs/2026-07-28/tutorials/security/security_best_practices
 */
export function assertMayAsk(url: URL, policy: ReachPolicy): void {
  const host = hostOf(url);
  const reach = reachOfHost(host);
  const where = shownUrl(url);
  if (url.username !== '' || url.password !== '') throw refused(where, 'its address holds credentials');
  if (!isSecure(url)) throw refused(where, 'only https is allowed, and http on this machine');
  if (reach !== undefined && !isWithinReach(host, reach, policy)) throw refused(where, outOfReach(reach));
}

/** Whether a host that stands at addresses of this reach may be asked. */
export function isWithinReach(host: string, reach: Reach, policy: ReachPolicy): boolean {
  if (reach === 'public' || policy.allowPrivate || host === policy.ownHost) return true;
  return reach === 'loopback' && reachOfHost(policy.ownHost) === 'loopback';
}

export function outOfReach(reach: Reach): string {
  const what = reach === 'loopback' ? 'it is this machine' : 'it is in a private network';
  return `${what}; set allowPrivateAddresses to accept that`;
}

/** The reach that a host's name alone shows; undefined for names that have to be looked up. */
export function reachOfHost(host: string): Reach | undefined {
  if (/^(?:.+\.)?localhost\.?$/i.test(host)) return 'loopback';
  return isIP(host) === 0 ? undefined : reachOfAddress(host);
}

export function reachOfAddress(address: string): Reach {
  // A zone names a link of this machine.
  const plain = address.replace(/%.*$/, '');
  const translated = TRANSLATED.exec(plain);
  if (translated) return reachOfAddress(embedded(translated));
  const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
  // Made when they are first needed: that takes a millisecond.
  blocks ??= { loopback: blockList(LOOPBACK), notPublic: blockList(NOT_PUBLIC) };
  if (blocks.loopback.check(plain, family)) return 'loopback';
  return blocks.notPublic.check(plain, family) ? 'private' : 'public';
}

/** An IPv4 address as networks that speak only IPv6 see it. @see https://www.rfc-editor.org/rfc/rfc6052.html */
const TRANSLATED = /^64:ff9b::(?:(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4}))?$/i;
// Both also hold for IPv4 addresses that are mapped into IPv6.
const LOOPBACK = ['127.0.0.0/8', '::1/128'];
/** The special-purpose blocks of the two IANA registries that are not globally reachable. */
const NOT_PUBLIC = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  '::/96',
  '::ffff:0:0:0/96',
  '64:ff9b:1::/48',
  '100::/64',
  '100:0:0:1::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

let blocks: { loopback: BlockList; notPublic: BlockList } | undefined;

function blockList(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [net = '', prefix] = subnet.split('/');
    list.addSubnet(net, Number(prefix), isIP(net) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

function embedded([, high = '0', low = '0']: RegExpExecArray): string {
  const bits = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return bits.flatMap((group) => [group >> 8, group & 0xff]).join('.');
}

function refused(where: string, why: string): McpError {
  return new McpError('UNAUTHORIZED', `Cannot ask "${where}" about authorization: ${why}`);
}
