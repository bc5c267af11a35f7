import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, it } from 'vitest';

/** One statement about all inputs. Inputs are JSON, so that one that fails can be kept as a file. */
export interface Property<T> {
  /** Names the folder under `test/fuzz/inputs/` where inputs that once failed are kept. */
  name: string;
  inputs: fc.Arbitrary<T>;
  /** Throws, or rejects, when the statement is wrong for this input. */
  holds(input: T): void | Promise<void>;
}

const INPUTS = fileURLToPath(new URL('inputs', import.meta.url));
const SECONDS = numberFrom('FUZZ_SECONDS') ?? 1;
const SEED = numberFrom('FUZZ_SEED');

/**
 * Tests a property on every input that was kept, then on random ones for `FUZZ_SECONDS` (default 1). The seed is
 * printed, and `FUZZ_SEED` replays it. A new input that fails is reduced, written to a file and from then on kept.
 */
export function fuzz<T>({ name, inputs, holds }: Property<T>): void {
  describe(name, () => {
    for (const file of keptInputs(name)) {
      // Sound: the file was written by this function for this property.
      it(`holds for ${file}`, () => holds(JSON.parse(readFileSync(join(INPUTS, name, file), 'utf8')) as T));
    }

    it('holds for random inputs', { timeout: (SECONDS + 30) * 1000 }, async () => {
      const seed = SEED ?? Date.now() & 0x7fffffff;
      const property = fc.asyncProperty(inputs, async (input) => holds(input));
      const checked = await fc.check(property, {
        seed,
        numRuns: 1e9,
        interruptAfterTimeLimit: SECONDS * 1000,
      });
      console.log(`${name}: ${checked.numRuns} inputs, seed ${seed}`);
      if (checked.counterexample === null) return;
      const [input] = checked.counterexample;
      throw new Error(`${name} failed; kept as ${keepInput(name, input)}; FUZZ_SEED=${seed} replays it`, {
        cause: checked.errorInstance,
      });
    });
  });
}

function keptInputs(name: string): string[] {
  const folder = join(INPUTS, name);
  return existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.json')) : [];
}

function keepInput(name: string, input: unknown): string {
  const json = `${JSON.stringify(input)}\n`;
  const file = `${createHash('sha256').update(json).digest('hex').slice(0, 12)}.json`;
  mkdirSync(join(INPUTS, name), { recursive: true });
  writeFileSync(join(INPUTS, name, file), json);
  return `test/fuzz/inputs/${name}/${file}`;
}

function numberFrom(variable: string): number | undefined {
  const value = process.env[variable];
  if (value === undefined || value === '') return undefined;
  const number = Number(value);
  if (!Number.isFinite(number)) throw new TypeError(`${variable} must be a number: it is "${value}"`);
  return number;
}
