// Programs that only referees need: fetched once into a folder that git ignores, and kept there.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const TOOLS = fileURLToPath(new URL('../../.tools', import.meta.url));
/** The Node that the referees need; this package works with an older one. */
const NODE_MAJOR = 22;

/** A Node that is new enough for the referees: this one, or one that is fetched. */
export async function newerNode(): Promise<string> {
  if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) return process.execPath;
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  return fetchTool(name, NODE_MAJOR, join('bin', 'node'));
}

/** Fetches a package unless it is there. Returns the path of one of its files. */
export async function fetchTool(name: string, version: number | string, file: string): Promise<string> {
  const folder = join(TOOLS, name.replace('/', '__'));
  const path = join(folder, 'node_modules', name, file);
  if (existsSync(path)) return path;
  console.log(`Fetching ${name}@${version}`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
  const flags = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts'];
  await promisify(execFile)('npm', ['install', ...flags, `${name}@${version}`], { cwd: folder });
  return path;
}
