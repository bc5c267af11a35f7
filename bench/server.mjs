// One server as a process of its own: `node server.mjs KIND stdio|http DIALECT [PIDFILE]`.
import { writeFileSync } from 'node:fs';

const [kind, transport, dialect, pidFile] = process.argv.slice(2);
if (pidFile !== undefined) writeFileSync(pidFile, String(process.pid));
const { serveStdio, serveHttp } = await import(`./servers/${kind}.mjs`);
if (transport === 'stdio') await serveStdio(dialect);
else await serveHttp(dialect);

// By HTTP the parent's end of the channel tells that it is gone; over stdio the input does.
if (transport === 'http') process.once('disconnect', () => process.exit());

process.on('message', ({ id, ask }) => {
  if (ask !== 'memory') return;
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  process.send({ id, heapUsed, external, rss });
});
