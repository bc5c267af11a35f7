// @ts-check
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const TIMEOUT_MS = 15 * 60_000;

/**
 * Installs one package into a folder of its own, without running its scripts. An install that is there already is kept.
 *
 * @param {string} folder
 * @param {string} spec
 */
export async function install(folder, spec) {
  const done = join(folder, 'installed');
  if (existsSync(done)) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--ignore-scripts', '--loglevel=error'];
  await promisify(execFile)('npm', ['install', ...quiet, spec], {
    cwd: folder,
    timeout: TIMEOUT_MS,
    shell: process.platform === 'win32',
  });
  writeFileSync(done, `${spec}\n`);
}

/**
 * A Node of at least this major version: the one that runs, or else one from npm.
 *
 * @param {string} root where it may be installed
 * @param {number} major
 */
export async function findNode(root, major) {
  if (Number.parseInt(process.versions.node, 10) >= major) return process.execPath;
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const folder = join(root, `node-${major}`);
  await install(folder, `${name}@${major}`);
  return join(folder, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
}
