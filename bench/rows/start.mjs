import { execFileSync } from 'node:child_process';
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { conclude } from '../measure.mjs';

const BENCH = fileURLToPath(new URL('..', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const dist = (path) => new URL(`../../dist/${path}`, import.meta.url).href;

/** What it costs to have each: loading it, and installing it. */
export async function run(options) {
  return [imports(options), ...(options.gate ? [] : [...installs(options)])];
}

function imports({ rounds, rivals }) {
  const modules = {
    'mcpwire/jsonrpc': [dist('jsonrpc/index.js')],
    'mcpwire/protocol, the stdio client': [dist('protocol/index.js')],
    'mcpwire, all of it': [dist('index.js')],
  };
  if (rivals) {
    modules['SDK v1 client'] = ['client/index.js', 'client/stdio.js'].map(
      (at) => `@modelcontextprotocol/sdk/${at}`,
    );
    modules['SDK v2 client'] = ['@modelcontextprotocol/client', '@modelcontextprotocol/client/stdio'];
    modules.tmcp = ['tmcp', '@tmcp/transport-stdio'];
    modules['mcp-lite'] = ['mcp-lite'];
    modules['@ai-sdk/mcp'] = ['@ai-sdk/mcp'];
  }
  const samples = new Map(Object.keys(modules).map((name) => [name, []]));
  for (let round = 0; round < rounds * 2; round++) {
    const base = importOnce(['data:text/javascript,']);
    for (const [name, specifiers] of Object.entries(modules)) {
      const { ms, cpu } = importOnce(specifiers);
      samples
        .get(name)
        .push({ value: Math.max(ms - base.ms, 0), cpu: cpu - base.cpu, cpuMs: (cpu - base.cpu) / 1000 });
    }
  }
  const row = {
    id: 'import',
    title: 'cold import, over an empty module',
    unit: 'ms',
    better: 'lower',
    floor: 'mcpwire, all of it',
    against: 'whole of mcpwire',
    targets: [
      { of: /^mcpwire\/jsonrpc/, bound: 5, absolute: true },
      { of: /^mcpwire\/protocol/, bound: 20, absolute: true },
      { of: /^mcpwire, all/, bound: 40, absolute: true },
    ],
  };
  return conclude(
    row,
    Object.keys(modules).map((name) => ({ name })),
    samples,
  );
}

function importOnce(specifiers) {
  const script = `const cpu = process.cpuUsage(); const start = performance.now();
    await Promise.all(${JSON.stringify(specifiers)}.map((each) => import(each)));
    const ms = performance.now() - start; const { user, system } = process.cpuUsage(cpu);
    console.log(JSON.stringify({ ms, cpu: user + system }));`;
  const args = ['--input-type=module', '--eval', script];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: BENCH, encoding: 'utf8' }));
}

function installs({ rivals }) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpwire-bench-install-'));
  try {
    const packArgs = ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder];
    const [{ filename }] = Object.values(JSON.parse(npm(packArgs, ROOT)));
    const wanted = { mcpwire: [join(folder, filename)] };
    if (rivals) {
      const versions = JSON.parse(npm(['pkg', 'get', 'dependencies'], BENCH));
      const exact = (name) => `${name}@${versions[name]}`;
      wanted['SDK v1'] = [exact('@modelcontextprotocol/sdk')];
      wanted['SDK v2 client'] = [exact('@modelcontextprotocol/client')];
      wanted['SDK v2 client, server and node'] = ['client', 'server', 'node'].map((part) =>
        exact(`@modelcontextprotocol/${part}`),
      );
      wanted['tmcp, stdio'] = [exact('tmcp'), exact('@tmcp/transport-stdio')];
      wanted['mcp-lite'] = [exact('mcp-lite')];
      wanted['@ai-sdk/mcp'] = [exact('@ai-sdk/mcp'), exact('zod')];
    }
    const sizes = Object.entries(wanted).map(([name, specs], at) => ({
      name,
      ...install(join(folder, `${at}`), specs),
    }));
    const row = (more, figureOf) => {
      const samples = sizes.map((size) => [size.name, [{ value: figureOf(size) }]]);
      const common = { better: 'lower', floor: 'mcpwire', against: 'figure of mcpwire' };
      return conclude({ ...common, ...more }, sizes, new Map(samples));
    };
    const atMost = (bound) => [{ of: /^mcpwire/, bound, absolute: true }];
    const packages = { id: 'packages', title: 'production install, packages', unit: 'packages' };
    const size = { id: 'size', title: 'production install, size', unit: 'MiB' };
    return [
      row({ ...packages, targets: atMost(20) }, (measured) => measured.packages),
      row({ ...size, targets: atMost(8) }, (measured) => measured.mebibytes),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function install(folder, specs) {
  const args = [
    'install',
    '--prefix',
    folder,
    '--omit=dev',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--prefer-offline',
    '--loglevel=error',
  ];
  npm([...args, ...specs], tmpdir());
  return measureFolder(join(folder, 'node_modules'));
}

function measureFolder(folder) {
  let bytes = 0;
  let packages = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath ?? entry.path, entry.name);
    bytes += lstatSync(path).size;
    if (/node_modules[\\/](@[^\\/]+[\\/])?[^\\/@]+[\\/]package\.json$/.test(path)) packages++;
  }
  return { packages, mebibytes: bytes / 1024 / 1024 };
}

function npm(args, cwd) {
  return execFileSync('npm', args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: process.platform === 'win32',
  });
}
