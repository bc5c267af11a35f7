// Compiles src/ to dist/ from nothing, so that no file of an earlier build ships, and makes the command executable.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}dist`;
// By path: two TypeScript versions are installed, and node_modules/.bin/tsc can be only one of them.
const compiler = `${root}node_modules/typescript/bin/tsc`;

rmSync(dist, { recursive: true, force: true });
try {
  execFileSync(process.execPath, [compiler, '-p', `${root}tsconfig.build.json`], { stdio: 'inherit' });
} catch (error) {
  process.exitCode = error.status ?? 1;
}
if (existsSync(`${dist}/cli.js`)) chmodSync(`${dist}/cli.js`, 0o755);
