import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const EVERYTHING = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);

const SDKS = fileURLToPath(new URL('servers/sdk-http.mjs', import.meta.url));

/** A process that listens on a port. */
export interface HttpProcess {
  readonly origin: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** The reference server "everything" as a process that listens on a port, by default a free one. */
export function startEverything(mode: 'streamableHttp' | 'sse', wantedPort?: number): Promise<HttpProcess> {
  return start([EVERYTHING, mode], wantedPort);
}

/** The official SDKs, version 1 at /v1 and version 2 at /v2. */
export function startSdks(wantedPort?: number): Promise<HttpProcess> {
  return start([SDKS], wantedPort);
}

async function start(args: readonly string[], wantedPort: number | undefined): Promise<HttpProcess> {
  const port = wantedPort ?? (await freePort());
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  for await (const line of createInterface(child.stderr)) if (line.includes(String(port))) break;
  child.stderr.resume();
  const stop = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  return { origin: `http://127.0.0.1:${port}`, port, stop };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A wire between a client and a server that can be cut: every connection over it then breaks. */
export async function startWire(
  origin: string,
): Promise<{ origin: string; cut: () => void; stop: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const wire = createServer((client) => {
    const server = connect(Number(new URL(origin).port), '127.0.0.1');
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  wire.listen(0, '127.0.0.1');
  await once(wire, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const stop = async () => {
    cut();
    wire.close();
    await once(wire, 'close');
  };
  return { origin: `http://127.0.0.1:${(wire.address() as AddressInfo).port}`, cut, stop };
}
