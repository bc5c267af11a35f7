import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type LookupFunction } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { createConnections } from '../../../src/transport/http/dispatcher.ts';
import { createDeferred } from '../../../src/transport/wait.ts';
import { connected, failure, request } from './connected.ts';
import { closeBehindTest, resultFor, ScriptedServer, sendJson } from './scripted-server.ts';

/** A proxy that tunnels every target to one port of this machine and keeps the targets. */
async function startProxy(port: number): Promise<{ url: string; targets: string[] }> {
  const targets: string[] = [];
  const proxy = createServer();
  proxy.on('connect', ({ url }, client) => {
    targets.push(url ?? '');
    const server = connect(port, '127.0.0.1', () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
    for (const socket of [client, server]) socket.on('error', () => {});
    client.pipe(server).pipe(client);
    closeBehindTest(async () => {
      client.destroy();
      server.destroy();
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  closeBehindTest(async () => void proxy.close());
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, targets };
}

function setEnvironment(variables: { [name: string]: string }): void {
  for (const name of ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'no_proxy', 'NO_PROXY']) {
    vi.stubEnv(name, variables[name]);
  }
  closeBehindTest(async () => void vi.unstubAllEnvs());
}

describe('the environment', () => {
  it('can send a client through a proxy', async () => {
    const server = await ScriptedServer.start((received, response) =>
      sendJson(response, resultFor(received)),
    );
    const proxy = await startProxy(Number(new URL(server.origin).port));
    setEnvironment({ HTTP_PROXY: proxy.url });
    const { transport, sink } = await connected('http://mcp.example:8080/mcp');
    await transport.send(request(1));
    expect(proxy.targets).toEqual(['mcp.example:8080']);
    expect(server.received[0]?.headers.host).toBe('mcp.example:8080');
    expect(sink.messages).toHaveLength(1);
  });

  it('can name hosts that need no proxy', async () => {
    const proxy = await startProxy(9);
    setEnvironment({ http_proxy: proxy.url, NO_PROXY: '.invalid' });
    const { transport } = await connected('http://mcp.invalid/mcp');
    await expect(transport.send(request(1))).rejects.toThrow(/mcp\.invalid/);
    expect(proxy.targets).toEqual([]);
  });

  it.each(['localhost', 'a.localhost', '127.0.0.1', '127.1.2.3', '[::1]'])(
    'sends nothing for %s through a proxy',
    async (host) => {
      setEnvironment({ HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' });
      const { dispatcher } = await createConnections(new URL(`http://${host}/`));
      closeBehindTest(() => dispatcher.destroy());
      expect(dispatcher.constructor.name).toBe('Agent');
    },
  );

  it('that names no proxy needs none', async () => {
    setEnvironment({ HTTP_PROXY: '', NO_PROXY: 'x' });
    const { dispatcher } = await createConnections(new URL('http://mcp.example/'));
    closeBehindTest(() => dispatcher.destroy());
    expect(dispatcher.constructor.name).toBe('Agent');
  });
});

describe('a pool', () => {
  it('that is destroyed makes no connection that it had begun to make', async () => {
    const server = await ScriptedServer.start((received, response) =>
      sendJson(response, resultFor(received)),
    );
    const asked = createDeferred<() => void>();
    const lookup: LookupFunction = (_host, _options, callback) => {
      asked.resolve(() => callback(null, [{ address: '127.0.0.1', family: 4 }]));
    };
    const url = new URL(`http://mcp.example:${new URL(server.origin).port}/`);
    const { dispatcher, destroy } = await createConnections(url, { lookup });
    const sent = failure(dispatcher.request({ origin: url.origin, path: '/', method: 'GET' }));
    const find = await asked.promise;
    await destroy();
    await sent;
    find();
    const { transport } = await connected(server.url);
    await transport.send(request(1));
    expect(server.connections).toBe(1);
  });
});
