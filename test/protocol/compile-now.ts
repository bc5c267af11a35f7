import { type CompiledSchema, compileSchema } from '../../src/protocol/json-schema.ts';

await compileSchema({});

/** Compiles a schema at once: the compiler is loaded with this file. */
export function compileNow(schema: unknown): CompiledSchema {
  const compiled = compileSchema(schema);
  if (compiled instanceof Promise) throw new Error('The compiler is not loaded');
  return compiled;
}
