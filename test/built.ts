import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Runs before the tests: some start processes that load `dist/`, and it must be what `src/` says. */
export default function buildWhenStale(): void {
  const built = newestMs(join(ROOT, 'dist'));
  if (built > newestMs(join(ROOT, 'src'))) return;
  try {
    execFileSync(process.execPath, [join(ROOT, 'scripts/build.mjs')], { stdio: 'pipe' });
  } catch (error) {
    // A type error is for the type check to report: the compiler has written the files all the same.
    if (newestMs(join(ROOT, 'dist')) === 0) throw error;
  }
}

function newestMs(folder: string): number {
  if (!existsSync(folder)) return 0;
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Math.max(0, ...files.map((file) => statSync(join(file.parentPath, file.name)).mtimeMs));
}
