// Makes dist/ from src/ from nothing, so that no file of an earlier build ships: the types file by file, the code as one
// file a floor. More than a hundred files take several times as long to import as these few.
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const FLOORS = ['jsonrpc', 'transport', 'protocol', 'bridge'];
/** Runs as soon as it is imported, in a thread of its own. */
const WORKER = 'plugin-worker';
const ENTRIES = ['index', ...FLOORS.map((floor) => `${floor}/index`), `bridge/${WORKER}`, 'cli'];
/** Built in: it is small, and being CommonJS it would take as long to load as the floor that needs it. */
const BUILT_IN = 'fast-json-stable-stringify';
// By path: two TypeScript versions are installed, and node_modules/.bin/tsc can be only one of them.
const compiler = `${root}node_modules/typescript/bin/tsc`;

rmSync(`${root}dist`, { recursive: true, force: true });
// The code first: it is there even when the types are wrong, which is for the type check to report.
await compileCode();
chmodSync(`${root}dist/cli.js`, 0o755);
try {
  execFileSync(process.execPath, [compiler, '-p', `${root}tsconfig.build.json`], { stdio: 'inherit' });
} catch (error) {
  process.exitCode = error.status ?? 1;
}

async function compileCode() {
  const bundle = await rolldown({
    input: Object.fromEntries(ENTRIES.map((entry) => [entry, `${root}src/${entry}.ts`])),
    platform: 'node',
    external: new RegExp(`^(?!${BUILT_IN}$)[^./]`),
    tsconfig: `${root}tsconfig.json`,
    plugins: [{ name: 'ascii', generateBundle: writeAscii }],
  });
  await bundle.write({
    dir: `${root}dist`,
    banner: ({ moduleIds }) => (moduleIds.some((id) => id.includes(BUILT_IN)) ? license() : ''),
    entryFileNames: '[name].js',
    chunkFileNames: '[name]/[name].js',
    codeSplitting: {
      groups: FLOORS.map((floor) => ({ name: floor, test: new RegExp(`/src/${floor}/(?!${WORKER})`) })),
    },
  });
  await bundle.close();
}

function license() {
  return `/*! ${BUILT_IN}\n${readFileSync(`${root}node_modules/${BUILT_IN}/LICENSE`, 'utf8').trim()}\n*/`;
}

/** One character beyond ASCII makes V8 keep, and read, the whole file with two bytes a character. */
function writeAscii(_options, files) {
  for (const file of Object.values(files)) {
    file.code = file.code.replace(
      /[\u0080-\uffff]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  }
}
