import { isJsonObject, McpError, toError } from '../jsonrpc/index.ts';
import { readSchema, type SchemaFault, SchemaRefused } from './schema/document.ts';
import { schemaFingerprint } from './schema/fingerprint.ts';
import { lowerSchema } from './schema/lower.ts';
import { resetSteps, StepsExhausted } from './schema/steps.ts';
import { type Compiler, getCompiler, type Validator } from './schema/validator.ts';
import { type Violation, violationOf } from './schema/violation.ts';

export {
  MAX_SCHEMA_BRANCHES,
  MAX_SCHEMA_CHARS,
  MAX_SCHEMA_DEPTH,
  MAX_SCHEMA_VALUES,
  MAX_SUBSCHEMAS,
  type SchemaFault,
} from './schema/document.ts';
export { schemaFingerprint } from './schema/fingerprint.ts';
export { SCHEMA_DIALECTS, type SchemaDialect } from './schema/keywords.ts';
export { MAX_PATTERN_CHARS } from './schema/pattern.ts';
export { MAX_VALIDATION_STEPS } from './schema/steps.ts';
export type { Violation } from './schema/violation.ts';

/** How many compiled schemas are kept for schemas with the same content. One takes some 50 KB. */
export const MAX_CACHED_SCHEMAS = 200;

export interface InspectOptions {
  /** Demands `type: "object"` at the root, as the input schema of a tool has it. Default false. */
  rootObject?: boolean;
}

/** A schema that is ready to check values. */
export interface CompiledSchema {
  /**
   * Checks a value that came out of JSON. Never throws; a value that takes too many steps or nests too deeply to be
   * checked is a violation.
   *
   * @returns the first violation, or nothing when the value is valid.
   */
  validate(value: unknown): Violation | undefined;
}

/**
 * Looks for a reason why a schema cannot be used, without compiling it: its dialect (2020-12 by default, 2019-09,
 * draft-07, draft-06), the shape of every keyword, patterns, bounds, and references that lead out of the schema. Never any
 * I/O. Costs microseconds, so that it can be asked for every tool of a list; the answer is kept with the schema object, which
 * must not change any more. A few faults show only when it is compiled, and are known here from then on.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage
 */
export function inspectSchema(schema: unknown, options: InspectOptions = {}): SchemaFault | undefined {
  const fault = inspect(schema);
  if (fault !== undefined || options.rootObject !== true) return fault;
  const isRootObject = isJsonObject(schema) && schema.type === 'object';
  return isRootObject ? undefined : { path: '', reason: 'must have "type": "object" at its root' };
}

/**
 * Compiles a schema of any origin. The result is kept with the schema object, which must not change any more, and shared
 * with schemas of the same content: asking again costs one look-up. The compiler is loaded when the first schema needs it;
 * until then the answer is a promise, from then on it comes at once.
 *
 * Keywords and formats that are not known are ignored. The formats that are known (`date-time`, `email`, `uri` and so on)
 * are checked, as other MCP implementations do; in JSON Schema itself that is an option.
 *
 * @throws McpError `INVALID_SCHEMA` when the schema cannot be used, `LOAD_FAILED` when the compiler is not there.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage
 */
export function compileSchema(schema: unknown): CompiledSchema | Promise<CompiledSchema> {
  const entry = isObject(schema) ? byObject.get(schema) : undefined;
  if (entry !== undefined) return usable(entry);
  const compiler = getCompiler();
  if (compiler instanceof Promise) return compiler.then((loaded) => usable(compile(schema, loaded)));
  return usable(compile(schema, compiler));
}

function isObject(schema: unknown): schema is object {
  return typeof schema === 'object' && schema !== null;
}

function compile(schema: unknown, compiler: Compiler): Entry {
  const entry = find(schema, compiler);
  if (isObject(schema)) {
    byObject.set(schema, entry);
    // Some faults show only to the compiler: whoever inspects the schema from now on hears of them too.
    if (!(entry instanceof Compiled)) inspected.set(schema, entry);
  }
  return entry;
}

function usable(entry: Entry): CompiledSchema {
  if (entry instanceof Compiled) return entry;
  const { path, reason } = entry;
  const place = path === '' ? 'it' : path;
  throw new McpError('INVALID_SCHEMA', `Cannot use a JSON Schema: ${place} ${reason}`);
}

/** What was found of schemas before; without a fault it is `undefined`. */
const inspected = new WeakMap<object, SchemaFault | undefined>();

function inspect(schema: unknown): SchemaFault | undefined {
  if (isObject(schema) && inspected.has(schema)) return inspected.get(schema);
  let fault: SchemaFault | undefined;
  try {
    readSchema(schema);
  } catch (error) {
    fault = faultOf(error);
  }
  if (isObject(schema)) inspected.set(schema, fault);
  return fault;
}

type Entry = Compiled | SchemaFault;

/** The hot path: no schema is read twice. */
const byObject = new WeakMap<object, Entry>();
/** In the order of last use. */
const byFingerprint = new Map<string, Compiled>();

/** What cannot be used is not kept by its content: a peer could fill the cache with it for nothing. */
function find(schema: unknown, compiler: Compiler): Entry {
  try {
    const document = readSchema(schema);
    const fingerprint = schemaFingerprint(schema);
    const known = byFingerprint.get(fingerprint);
    if (known !== undefined) {
      byFingerprint.delete(fingerprint);
      byFingerprint.set(fingerprint, known);
      return known;
    }
    const compiled = new Compiled(compiler(lowerSchema(document)));
    byFingerprint.set(fingerprint, compiled);
    if (byFingerprint.size > MAX_CACHED_SCHEMAS) {
      for (const oldest of byFingerprint.keys()) {
        byFingerprint.delete(oldest);
        break;
      }
    }
    return compiled;
  } catch (error) {
    return faultOf(error);
  }
}

/** Whatever the compiler throws is about the schema: it was given nothing else. */
function faultOf(error: unknown): SchemaFault {
  if (error instanceof SchemaRefused) return error.fault;
  return { path: '', reason: `cannot be compiled: ${toError(error).message}` };
}

class Compiled implements CompiledSchema {
  readonly #validator: Validator;

  constructor(validator: Validator) {
    this.#validator = validator;
  }

  validate(value: unknown): Violation | undefined {
    const validator = this.#validator;
    resetSteps();
    try {
      if (validator(value)) return undefined;
    } catch (error) {
      return unfinished(error);
    }
    const violation = violationOf(validator.errors ?? []);
    // They hold on to the value.
    validator.errors = null;
    return violation;
  }
}

function unfinished(error: unknown): Violation {
  return { path: '', keyword: 'limit', message: `the value ${whyUnfinished(error)}` };
}

function whyUnfinished(error: unknown): string {
  if (error instanceof StepsExhausted) return 'takes too many steps to be checked';
  if (error instanceof RangeError) return 'is nested too deeply to be checked';
  return `cannot be checked: ${toError(error).message}`;
}
