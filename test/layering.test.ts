import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { findCircle, importsOf, readImportGraph } from './import-graph.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** From the lowest to the highest: a file imports from its own floor and from those before it. */
const FLOORS = ['jsonrpc', 'transport', 'protocol', 'bridge'];
/** Files above all floors; beside them stands the folder of the command's parts. */
const TOP = ['index.ts', 'cli.ts'];
const COMMAND = 'cli';
/** Every package that may be loaded at run time. One more needs its reason in docs/dependencies.md. */
const PACKAGES = [
  'ajv',
  'ajv-formats',
  'cross-spawn',
  'fast-json-stable-stringify',
  'oauth4webapi',
  'undici',
  'ws',
];

const graph = readImportGraph(join(ROOT, 'src'));
const imports = [...graph.files].flatMap(([file, imported]) =>
  [...imported].map((other) => ({ file, other })),
);
const packages = [...graph.packages].flatMap(([file, used]) => [...used].map((name) => ({ file, name })));

describe('the source', () => {
  it('lies on the four floors, below index.ts and cli.ts', () => {
    expect(new Set([...graph.files.keys()].map(floorOf))).toStrictEqual(new Set(['top', COMMAND, ...FLOORS]));
    const outside = [...graph.files.keys()].filter((file) => !file.includes('/') && !TOP.includes(file));
    expect(outside).toStrictEqual([]);
  });

  it('imports files that exist', () => {
    expect(imports.length).toBeGreaterThan(50);
    expect(imports.filter(({ other }) => !graph.files.has(other))).toStrictEqual([]);
  });

  it('has no arrow up', () => {
    expect(imports.filter(({ file, other }) => rank(other) > rank(file))).toStrictEqual([]);
    // Rank alone would let the files above all floors import each other.
    expect(imports.filter(({ other }) => TOP.includes(other))).toStrictEqual([]);
    expect(
      imports.filter(({ file, other }) => file === 'index.ts' && floorOf(other) === COMMAND),
    ).toStrictEqual([]);
  });

  it('has no circle, type imports included', () => {
    expect(findCircle(graph.files)).toBeUndefined();
  });

  it('imports no reference SDK, and no package but those that were chosen', () => {
    const foreign = packages.filter(({ name }) => !isBuiltin(name) && !PACKAGES.includes(packageOf(name)));
    expect(foreign).toStrictEqual([]);
  });

  it('names builtin modules as such', () => {
    expect(packages.filter(({ name }) => isBuiltin(name) && !name.startsWith('node:'))).toStrictEqual([]);
  });

  it('hides no package from bundlers', () => {
    expect(packages.filter(({ name }) => name === 'node:module')).toStrictEqual([]);
  });

  it('uses only what package.json lists as a dependency, and that lists only what was chosen', () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const listed = Object.keys(dependencies);
    const used = packages.filter(({ name }) => !isBuiltin(name)).map(({ name }) => packageOf(name));
    expect(used.filter((name) => !listed.includes(name))).toStrictEqual([]);
    expect(listed.filter((name) => !PACKAGES.includes(name))).toStrictEqual([]);
  });

  it('has an index that only re-exports', () => {
    const source = readFileSync(join(ROOT, 'src/index.ts'), 'utf8');
    const { statements } = ts.createSourceFile('index.ts', source, ts.ScriptTarget.Latest);
    expect(statements.length).toBeGreaterThan(0);
    for (const statement of statements) {
      expect(ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined).toBe(true);
    }
    expect([...(graph.files.get('index.ts') ?? [])].sort()).toStrictEqual(
      FLOORS.map((floor) => `${floor}/index.ts`).sort(),
    );
  });
});

describe('the check itself', () => {
  it('sees every way to import', () => {
    const source = `
      import 'a'; import b from 'b'; import type { C } from 'c'; export { d } from 'd'; export * from 'e';
      export type * from 'f'; type G = import('g').G; const h = await import('h'); const i = require('i');
      import j = require('j'); const k = require.resolve('k'); const l = import.meta.resolve('l');
      const m = createRequire(import.meta.url)('m');
    `;
    expect(importsOf('x.ts', source)).toStrictEqual([...'abcdefghijklm']);
    expect(() => importsOf('x.ts', 'const load = createRequire(import.meta.url);')).toThrow('hides');
    expect(() => importsOf('x.ts', 'await import(name)')).toThrow('computed');
  });

  it('finds a circle', () => {
    const circular = new Map([
      ['a', new Set(['b'])],
      ['b', new Set(['c', 'd'])],
      ['c', new Set<string>()],
      ['d', new Set(['b'])],
    ]);
    expect(findCircle(circular)).toStrictEqual(['b', 'd', 'b']);
  });
});

describe('at run time', () => {
  const HEAVY = ['ws', 'undici', 'ajv', 'ajv-formats', 'oauth4webapi'];

  it('mcpwire/jsonrpc loads its own files and nothing else', () => {
    const loaded = filesLoadedBy(`await import('${dist('jsonrpc/index.js')}');`);
    expect(loaded).toContain(dist('jsonrpc/jsonrpc.js'));
    expect(loaded.filter((url) => !url.startsWith(dist('jsonrpc/')))).toStrictEqual([]);
  });

  it.each(['index.js', 'transport/index.js', 'protocol/index.js', 'bridge/index.js'])(
    '%s loads none of the heavy packages by being imported',
    (entry) => {
      const loaded = filesLoadedBy(`await import('${dist(entry)}');`);
      expect(loaded).toContain(dist(entry));
      expect(heavyAmong(loaded)).toStrictEqual([]);
    },
  );

  it('a client over stdio loads none of them either', () => {
    const server = new URL('hostile/session-server.mjs', import.meta.url).href;
    const serve = `import { serve } from '${server}'; serve();`;
    const loaded = filesLoadedBy(`
      const { McpClient } = await import('${dist('index.js')}');
      const args = ['--input-type=module', '--eval', ${JSON.stringify(serve)}];
      const client = await McpClient.stdio({ command: process.execPath, args });
      await client.listTools();
      await client.callTool('echo', { text: 'x' });
      await client.close();
    `);
    expect(loaded).toContain(dist('transport/transport.js'));
    expect(heavyAmong(loaded)).toStrictEqual([]);
  });

  it('a package that is loaded is seen', () => {
    const wanted = new URL('../node_modules/ajv/dist/ajv.js', import.meta.url).href;
    expect(heavyAmong(filesLoadedBy(`await import('${wanted}');`))).not.toStrictEqual([]);
  });

  function dist(file: string): string {
    return new URL(`../dist/${file}`, import.meta.url).href;
  }

  function heavyAmong(urls: readonly string[]): string[] {
    return urls.filter((url) => HEAVY.some((name) => url.includes(`/node_modules/${name}/`)));
  }
});

/** Runs a script in a process of its own; returns the URL of every file that V8 compiled there, in whatever format. */
function filesLoadedBy(script: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'mcpwire-loaded-'));
  try {
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
      // V8 writes down which scripts it ran; only those of the process itself, not of the servers that it starts.
      env: { ...process.env, NODE_V8_COVERAGE: folder },
      timeout: 15_000,
    });
    const [report] = readdirSync(folder);
    if (report === undefined) throw new Error('No coverage was written');
    const { result } = JSON.parse(readFileSync(join(folder, report), 'utf8')) as {
      result: { url: string }[];
    };
    return result.map(({ url }) => url).filter((url) => url.startsWith('file:') && !url.includes('[eval'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function floorOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : 'top';
}

function rank(file: string): number {
  const floor = FLOORS.indexOf(floorOf(file));
  return floor === -1 ? FLOORS.length : floor;
}

function packageOf(specifier: string): string {
  const [scope, name] = specifier.split('/');
  return specifier.startsWith('@') ? `${scope}/${name}` : (scope ?? specifier);
}
