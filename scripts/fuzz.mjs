// Runs the fuzz tests for long: FUZZ_SECONDS a property (default 60), FUZZ_SEED to replay, further arguments to vitest.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const env = { FUZZ_SECONDS: '60', ...process.env };
const args = [vitest, 'run', 'test/fuzz', ...process.argv.slice(2)];
const { status } = spawnSync(process.execPath, args, { stdio: 'inherit', env });
process.exitCode = status ?? 1;
