import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs an example to its own end. */
export function runExample(
  name: string,
  args: readonly string[],
  env: Record<string, string>,
  cwd: string,
): Promise<Ended> {
  const file = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));
  const options = { env: { ...process.env, ...env }, cwd, timeout: 20_000 };
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], options, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr });
    });
  });
}
