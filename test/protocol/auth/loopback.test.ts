import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type LoopbackOptions, LoopbackReceiver } from '../../../src/protocol/auth/loopback.ts';
import { closeBehindTest } from '../../transport/http/scripted-server.ts';

const { signal } = new AbortController();

async function open(options: LoopbackOptions = {}, registered: string[] = []): Promise<LoopbackReceiver> {
  const receiver = await LoopbackReceiver.open(options, registered);
  closeBehindTest(() => receiver.close());
  return receiver;
}

/** The status of a request whose Host header is not the one of its address. */
async function statusFor(url: string, host: string): Promise<number | undefined> {
  const sent = request(url, { headers: { host } }).end();
  const [response] = await once(sent, 'response');
  response.resume();
  return response.statusCode;
}

describe('the receiver of redirects', () => {
  it('takes the redirect with its state, once', async () => {
    const receiver = await open({ path: '/done' });
    expect(receiver.uri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/done$/);
    const received = receiver.receive('s', signal);
    const first = await fetch(`${receiver.uri}?state=s&code=c&iss=i`);
    expect(first.status).toBe(200);
    expect(await first.text()).toContain('done');
    expect([...(await received)]).toEqual([
      ['state', 's'],
      ['code', 'c'],
      ['iss', 'i'],
    ]);
    expect((await fetch(`${receiver.uri}?state=s&code=c`)).status).toBe(400);
  });

  it('answers with a page that runs nothing and shows nothing of what it was sent', async () => {
    const receiver = await open();
    const received = receiver.receive('s', signal);
    const page = await fetch(
      `${receiver.uri}?state=s&error=${encodeURIComponent('<script>alert(1)</script>')}`,
    );
    expect(await page.text()).not.toContain('alert');
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'content-security-policy': "default-src 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    expect((await received).get('error')).toContain('alert');
  });

  it('turns away whatever else arrives', async () => {
    const receiver = await open();
    const received = receiver.receive('s', signal);
    const { origin, host } = new URL(receiver.uri);
    expect((await fetch(`${origin}/other?state=s`)).status).toBe(404);
    expect((await fetch(`${receiver.uri}?state=s`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${receiver.uri}?state=t`)).status).toBe(400);
    expect((await fetch(receiver.uri)).status).toBe(400);
    expect(await statusFor(`${receiver.uri}?state=s`, 'evil.example.com')).toBe(404);
    expect(await statusFor(`${receiver.uri}?state=s`, host)).toBe(200);
    await received;
  });

  it('listens on a port that is registered where it is free, and on another one where it is not', async () => {
    const first = await open();
    const { port } = new URL(first.uri);
    const second = await open({}, [first.uri]);
    expect(second.uri).not.toBe(first.uri);
    await first.close();
    closeBehindTest(async () => {});
    const third = await LoopbackReceiver.open({}, [
      'nonsense',
      'https://app.example.com/callback',
      first.uri,
    ]);
    expect(new URL(third.uri).port).toBe(port);
    await third.close();
  });

  it('listens on the port that was asked for, or on none', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    closeBehindTest(async () => void other.close());
    const address = other.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    await expect(LoopbackReceiver.open({ port }, [])).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('EADDRINUSE'),
    });
  });

  it('waits no longer than its signal', async () => {
    const receiver = await open();
    const controller = new AbortController();
    const received = receiver.receive('s', controller.signal);
    controller.abort(new Error('enough'));
    await expect(received).rejects.toThrow('enough');
    await expect(receiver.receive('s', controller.signal)).rejects.toThrow('enough');
  });
});
