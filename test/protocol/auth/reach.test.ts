import { describe, expect, it } from 'vitest';
import { assertMayAsk, reachOfAddress, reachOfHost } from '../../../src/protocol/auth/reach.ts';

describe('the reach of an address', () => {
  it.each([
    ['8.8.8.8', 'public'],
    ['172.15.255.255', 'public'],
    ['172.32.0.0', 'public'],
    ['2606:4700::1111', 'public'],
    ['64:ff9b::808:808', 'public'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['0.0.0.0', 'private'],
    ['10.1.2.3', 'private'],
    ['100.64.0.1', 'private'],
    ['169.254.169.254', 'private'],
    ['172.16.0.1', 'private'],
    ['192.168.1.1', 'private'],
    ['224.0.0.1', 'private'],
    ['255.255.255.255', 'private'],
    ['::', 'private'],
    ['::ffff:10.0.0.1', 'private'],
    ['::ffff:a9fe:a9fe', 'private'],
    ['64:ff9b::a9fe:a9fe', 'private'],
    ['64:ff9b::1', 'private'],
    ['64:ff9b::', 'private'],
    ['100:0:0:1::1', 'private'],
    ['3fff::1', 'private'],
    ['5f00::1', 'private'],
    ['fd00::1', 'private'],
    ['fe80::1', 'private'],
    ['fe80::1%eth0', 'private'],
    ['ff02::1', 'private'],
    ['2002:a00:1::', 'private'],
  ])('%s is %s', (address, reach) => {
    expect(reachOfAddress(address)).toBe(reach);
  });

  it.each([
    ['localhost', 'loopback'],
    ['LOCALHOST.', 'loopback'],
    ['a.localhost', 'loopback'],
    ['localhost.example.com', undefined],
    ['example.com', undefined],
    ['10.0.0.1', 'private'],
  ])('the host %s shows %s', (host, reach) => {
    expect(reachOfHost(host)).toBe(reach);
  });
});

describe('what may be asked', () => {
  const away = { ownHost: 'mcp.example.com', allowPrivate: false };
  const here = { ownHost: '127.0.0.1', allowPrivate: false };

  it.each([
    ['https://auth.example.com/x', away],
    ['https://8.8.8.8/', away],
    ['https://10.0.0.1/', { ownHost: '10.0.0.1', allowPrivate: false }],
    ['https://10.0.0.1/', { ownHost: 'mcp.example.com', allowPrivate: true }],
    ['https://localhost/', here],
    ['http://localhost:1234/', here],
    ['http://[::1]/', here],
    ['http://127.0.0.1/', { ownHost: 'mcp.example.com', allowPrivate: true }],
  ])('includes %s', (url, policy) => {
    expect(() => assertMayAsk(new URL(url), policy)).not.toThrow();
  });

  it.each([
    ['http://auth.example.com/', away, /only https/],
    ['http://10.0.0.1/', { ownHost: '10.0.0.1', allowPrivate: true }, /only https/],
    ['https://10.0.0.1/', away, /private network/],
    ['https://10.0.0.1/', here, /private network/],
    ['https://169.254.169.254/latest/meta-data', here, /private network/],
    ['https://[fd00::1]/', away, /private network/],
    ['https://0x0a000001/', away, /private network/],
    ['https://127.1/', away, /this machine/],
    ['http://localhost/', away, /this machine/],
    ['ftp://localhost/', here, /only https/],
    ['https://user:secret@auth.example.com/', away, /holds credentials/],
  ])('does not include %s', (url, policy, message) => {
    expect(() => assertMayAsk(new URL(url), policy)).toThrow(message);
  });

  it('is refused without the query, which may be a secret', () => {
    const error = new Error();
    try {
      assertMayAsk(new URL('https://10.0.0.1/x?key=secret'), away);
    } catch (thrown) {
      Object.assign(error, { message: String(thrown) });
    }
    expect(error.message).toContain('"https://10.0.0.1/x"');
    expect(error.message).not.toContain('secret');
  });
});
