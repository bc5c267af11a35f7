// Packs what would be published, installs it into an empty folder and uses it there in every way it promises.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SHIPPED =
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|docs\/[\w/-]+\.(md|svg)|dist\/.+(\.js|\.d\.ts))$/;
const REQUIRED = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'dist/index.js', 'dist/index.d.ts'];
const NPM_INSTALL = [
  'install',
  '--no-audit',
  '--no-fund',
  '--ignore-scripts',
  '--prefer-offline',
  '--loglevel=error',
];
const COMPILERS = { 'TypeScript 6': 'typescript/bin/tsc', 'TypeScript 7': 'typescript7/bin/tsc' };
const STRICT = { strict: true, module: 'nodenext', target: 'es2023', skipLibCheck: false, types: ['node'] };

const {
  name,
  version,
  exports: subpaths,
  bin,
} = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'mcpwire-packaging-'));
const consumer = join(folder, 'consumer');

try {
  const packed = check('npm pack', pack);
  check('only what is meant to ship is inside', () => checkFiles(packed.files));
  check('installs into an empty folder', () => install(packed.filename));
  const installed = join(consumer, 'node_modules', name);
  check('no source map comments', () => checkSourceMaps(packed.files, installed));
  check('every export and command is there', () => checkExports(installed));
  const specifiers = Object.keys(subpaths).map((subpath) => name + subpath.slice(1));
  for (const specifier of specifiers) check(`import and require of ${specifier}`, () => load(specifier));
  prepareConsumer();
  for (const [compiler, path] of Object.entries(COMPILERS)) {
    check(`a strict consumer compiles with ${compiler}`, () =>
      node([join(ROOT, 'node_modules', path), '-p', '.']),
    );
  }
  check('the consumer runs', runConsumer);
  check('npx mcpwire --version', checkCommand);
  for (const format of ['esm', 'cjs']) {
    await bundle(format);
    check(`a server and a client run as single ${format} files`, () => runBundles(format));
  }
} catch (error) {
  console.error(`${error.message}\n${error.stdout ?? ''}${error.stderr ?? ''}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function check(what, run) {
  try {
    const result = run();
    console.log(`ok: ${what}`);
    return result;
  } catch (error) {
    console.log(`FAILED: ${what}`);
    throw error;
  }
}

function pack() {
  const printed = npm(['pack', '--json', '--loglevel=error', '--pack-destination', folder], ROOT);
  // Older and newer versions of npm print a list and a record.
  const [packed] = Object.values(JSON.parse(printed));
  return { filename: join(folder, packed.filename), files: packed.files.map(({ path }) => path) };
}

function checkFiles(files) {
  const extra = files.filter((file) => !SHIPPED.test(file));
  const missing = REQUIRED.filter((file) => !files.includes(file));
  if (extra.length > 0) throw new Error(`The package must not hold ${extra.join(', ')}`);
  if (missing.length > 0) throw new Error(`The package lacks ${missing.join(', ')}`);
}

function install(tarball) {
  mkdirSync(consumer);
  writeFileSync(join(consumer, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  npm([...NPM_INSTALL, tarball], consumer);
}

function checkSourceMaps(files, installed) {
  const pointing = files.filter((file) =>
    /^\/\/# sourceMappingURL=/m.test(readFileSync(join(installed, file), 'utf8')),
  );
  if (pointing.length > 0) throw new Error(`No source maps ship, but ${pointing.join(', ')} name one`);
}

function checkExports(installed) {
  const targets = Object.values(subpaths).flatMap((target) =>
    typeof target === 'string' ? target : Object.values(target),
  );
  const named = [...targets, ...Object.values(bin)];
  const missing = named.filter((target) => !existsSync(join(installed, target)));
  if (missing.length > 0) throw new Error(`package.json names files that do not ship: ${missing.join(', ')}`);
}

/** The names that ESM and `require` get must be the same, and the same objects. */
function load(specifier) {
  if (specifier.endsWith('.json')) {
    node([
      '--eval',
      `if (require('${specifier}').name !== '${name}') throw new Error('not the package file')`,
    ]);
    return;
  }
  node([
    '--input-type=module',
    '--eval',
    `import { createRequire } from 'node:module';
     const imported = await import('${specifier}');
     const required = createRequire(process.cwd() + '/')('${specifier}');
     const names = Object.keys(imported);
     if (names.length === 0) throw new Error('it exports nothing');
     for (const name of names) if (required[name] !== imported[name]) throw new Error(name + ' differs');`,
  ]);
}

/** Of the types of others only those of Node are there: the package's own must not need any more. */
function prepareConsumer() {
  mkdirSync(join(consumer, 'node_modules/@types'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(consumer, 'node_modules/@types/node'), 'junction');
  copyFileSync(join(ROOT, 'test/packaging/consumer.ts'), join(consumer, 'consumer.ts'));
  const tsconfig = { compilerOptions: STRICT, files: ['consumer.ts'] };
  writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify(tsconfig));
}

function runConsumer() {
  const printed = node(['consumer.js']);
  if (!printed.startsWith('5\n"3"\nrequest\n')) throw new Error(`It printed ${printed}`);
}

function checkCommand() {
  const printed = command('npx', ['--offline', 'mcpwire', '--version'], consumer);
  if (printed.trim() !== version) throw new Error(`It printed ${printed}`);
}

/** Into single files, in a folder from which no package can be found. */
async function bundle(format) {
  for (const program of ['server', 'client']) {
    const source = join(consumer, `${program}.mjs`);
    copyFileSync(join(ROOT, `test/packaging/bundled-${program}.mjs`), source);
    const bundled = await rolldown({ input: source, platform: 'node', onLog: refuseWarning });
    await bundled.write({ file: bundleOf(program, format), format, codeSplitting: false });
    await bundled.close();
  }
}

function refuseWarning(level, { message }) {
  if (level === 'warn') throw new Error(`The bundler warns: ${message}`);
}

function bundleOf(program, format) {
  return join(folder, 'bundles', `${program}.${format === 'cjs' ? 'cjs' : 'mjs'}`);
}

function runBundles(format) {
  const printed = node([bundleOf('client', format), bundleOf('server', format)], join(folder, 'bundles'));
  const lines = ['stdio: 5', 'stdio refuses: a', 'fetch: 5', 'http: 5', 'plugin: 5', 'thread: no file'];
  if (printed !== `${lines.join('\n')}\n`) throw new Error(`It printed ${printed}`);
}

function node(args, cwd = consumer) {
  return execFileSync(process.execPath, args, { cwd, encoding: 'utf8', stdio: 'pipe' });
}

function npm(args, cwd) {
  return command('npm', args, cwd);
}

function command(program, args, cwd) {
  // On Windows these are command files, which only a shell can start; no argument here needs quoting.
  const shell = process.platform === 'win32';
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], shell });
}
