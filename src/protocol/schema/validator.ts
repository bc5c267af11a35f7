import type { SchemaEnv } from 'ajv/dist/compile/index.js';
import type {
  AnySchema,
  CodeKeywordDefinition,
  ErrorObject,
  Format,
  FuncKeywordDefinition,
  KeywordDefinition,
  SchemaCxt,
} from 'ajv/dist/core.js';
import { isJsonObject, type JsonObject } from '../../jsonrpc/index.ts';
import { loadPackage } from '../../jsonrpc/load-package.ts';
import { needsCounting } from './cost.ts';
import { stableText } from './fingerprint.ts';
import { CONST_OF_VALUE, ENUM_OF_VALUES, type LoweredSchema } from './lower.ts';
import { compilePattern, type LinearPattern } from './pattern.ts';
import { takeSteps, takeText } from './steps.ts';
import { findUnevaluatedItem, findUnevaluatedName, type SchemaGraph } from './unevaluated.ts';

/** The compiled function: true for a valid value, else its `errors` say why. */
export interface Validator {
  (value: unknown): boolean;
  errors?: ErrorObject[] | null;
}

/**
 * Compiles a lowered schema with ajv. Every schema gets an instance of its own: nothing of one can be seen from another,
 * and all of it goes when the validator goes.
 *
 * @throws RangeError when the code nests too deeply, Error when ajv refuses the schema.
 */
export type Compiler = (lowered: LoweredSchema) => Validator;

/**
 * The compiler, or the promise of it while it is not loaded.
 *
 * @throws McpError `LOAD_FAILED`
 */
export function getCompiler(): Compiler | Promise<Compiler> {
  return compiler ?? loadCompiler();
}

let compiler: Compiler | undefined;

async function loadCompiler(): Promise<Compiler> {
  const parts = await loadParts();
  compiler ??= (lowered) => compileValidator(parts, lowered);
  return compiler;
}

function compileValidator(parts: Parts, lowered: LoweredSchema): Validator {
  if (needsCounting(lowered)) for (const node of lowered.nodes) node[STEPS] = stepsOf(node);
  const ajv = new parts.Ajv({
    strict: false,
    meta: false,
    validateSchema: false,
    logger: false,
    messages: false,
    verbose: true,
    next: true,
    ownProperties: lowered.namesInherited,
    // In line only what is small: a schema that is referred to often must not multiply the code.
    inlineRefs: lowered.unevaluated ? false : MAX_INLINE_KEYS,
    // The optimizer's time grows with the square of the code.
    code: { optimize: lowered.nodes.length <= MAX_OPTIMIZED_NODES ? 1 : false, regExp: parts.regExp },
    formats: parts.formats,
  });
  ajv.addVocabulary(parts.keywords);
  if (lowered.unevaluated) ajv.addVocabulary(unevaluatedKeywords(parts, lowered.unevaluated.containsCounts));
  // What the lowering made is a schema; the type of ajv only asks for an object or a boolean.
  return ajv.compile(lowered.schema as AnySchema);
}

const MAX_INLINE_KEYS = 16;
const MAX_OPTIMIZED_NODES = 200;
/** A keyword of ours that takes steps for the place at hand, or also for each of its members. */
const STEPS = 'steps';
const LOOPS = [
  'additionalProperties',
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
  'minProperties',
  'maxProperties',
];

function stepsOf(node: JsonObject): 'one' | 'members' {
  return LOOPS.some((keyword) => Object.hasOwn(node, keyword)) ? 'members' : 'one';
}

function takeOne(): void {
  takeSteps(1);
}

function takeMembers(value: unknown): void {
  takeSteps(1 + (isJsonObject(value) ? Object.keys(value).length : 0));
}

interface Parts {
  readonly Ajv: typeof import('ajv/dist/core.js').default;
  readonly _: CodeTemplate;
  readonly resolveRef: typeof import('ajv/dist/compile/index.js').resolveRef;
  readonly keywords: (string | KeywordDefinition)[];
  readonly formats: Record<string, Format>;
  readonly regExp: { (source: string): { test(text: string): boolean }; code: string };
}

type CodeTemplate = typeof import('ajv/dist/core.js')._;

async function loadParts(): Promise<Parts> {
  const [core, { resolveRef }, draft2020] = await loadPackage('ajv', () =>
    Promise.all([
      import('ajv/dist/core.js'),
      import('ajv/dist/compile/index.js'),
      import('ajv/dist/vocabularies/draft2020.js'),
    ]),
  );
  const { fullFormats } = await loadPackage('ajv-formats', () => import('ajv-formats/dist/formats.js'));
  const { _ } = core;
  const ours = ourKeywords(_);
  const replaced = new Set([
    ...ours.flatMap(({ keyword }) => keyword),
    'unevaluatedItems',
    'unevaluatedProperties',
  ]);
  const theirs = defaultOf(draft2020)
    .flat()
    .filter(
      (keyword) =>
        typeof keyword === 'string' || ![keyword.keyword].flat().some((name) => replaced.has(name)),
    );
  return {
    Ajv: defaultOf(core),
    _,
    resolveRef,
    keywords: [...theirs, ...ours],
    formats: Object.fromEntries(Object.entries(fullFormats).map(([name, format]) => [name, bounded(format)])),
    // `code` is asked for but only used when code is generated for a file.
    regExp: Object.assign((source: string) => compilePattern(source), { code: 'pattern' }),
  };
}

/** What a CommonJS module exports as its default. Node puts that into the module's own default, some bundlers in its place. */
function defaultOf<Default>({ default: found }: { default: Default | { default: Default } }): Default {
  return typeof found === 'object' && found !== null && 'default' in found ? found.default : found;
}

/**
 * Keywords that look at what the others have looked at. Those of ajv are wrong where that depends on `if`, `contains` or
 * alternatives, and take every name that objects inherit for seen.
 */
function unevaluatedKeywords({ _, resolveRef }: Parts, containsCounts: boolean): KeywordDefinition[] {
  const patterns = new Map<string, LinearPattern>();
  const graphOf = ({ self, schemaEnv: { root } }: SchemaCxt): SchemaGraph => {
    const resolve = (reference: string): SchemaEnv =>
      // Sound: no reference is compiled in line.
      reference === '#' ? root : (resolveRef.call(self, root, root.baseId, reference) as SchemaEnv);
    return {
      // Definitions are objects, as the lowering made them.
      definition: (reference) => resolve(reference).schema as JsonObject,
      accepts: (reference, value) => resolve(reference).validate?.(value) === true,
      pattern: (source) => {
        const pattern = patterns.get(source) ?? compilePattern(source);
        patterns.set(source, pattern);
        return pattern;
      },
      containsCounts,
    };
  };
  const keyword = (
    name: string,
    type: 'object' | 'array',
    finder: (node: JsonObject, graph: SchemaGraph) => (value: never) => unknown,
  ): CodeKeywordDefinition => ({
    keyword: name,
    type,
    schemaType: ['boolean', 'object'],
    error: { message: '', params: ({ params }) => _`{found: ${params.found}}` },
    code(cxt) {
      const { gen, data } = cxt;
      const find = gen.scopeValue('func', { ref: finder(cxt.parentSchema, graphOf(cxt.it)) });
      const found = gen.const('found', _`${find}(${data})`);
      cxt.setParams({ found });
      cxt.fail(_`${found} !== undefined`);
    },
  });
  return [
    keyword(
      'unevaluatedProperties',
      'object',
      (node, graph) => (value: JsonObject) => findUnevaluatedName(node, value, graph),
    ),
    keyword(
      'unevaluatedItems',
      'array',
      (node, graph) => (items: unknown[]) => findUnevaluatedItem(node, items, graph),
    ),
  ];
}

/** The error carries the keyword and its schema anyway. */
const NO_ERROR_DETAILS = { message: '' };

/** What stands in for keywords of ajv whose time a peer can make explode, and for values it cannot compare. */
function ourKeywords(_: CodeTemplate): KeywordDefinition[] {
  const length = (keyword: string, tooFew: boolean): CodeKeywordDefinition => ({
    keyword,
    type: 'string',
    schemaType: 'number',
    error: NO_ERROR_DETAILS,
    code(cxt) {
      const { gen, data, schema } = cxt;
      // A code point is one or two UTF-16 units, so that the plain length mostly decides.
      const check = gen.scopeValue('func', { ref: tooFew ? isShorter : isLonger });
      const mayFail = tooFew ? _`${data}.length < ${schema * 2}` : _`${data}.length > ${schema}`;
      cxt.fail(_`${mayFail} && ${check}(${data}, ${schema})`);
    },
  });
  const values = (keyword: string): FuncKeywordDefinition => ({
    keyword,
    schemaType: 'array',
    errors: false,
    compile: (allowed: unknown[]) => isOneOf(allowed),
  });
  return [
    {
      keyword: 'multipleOf',
      type: 'number',
      schemaType: 'number',
      error: NO_ERROR_DETAILS,
      code(cxt) {
        const { gen, data, schema } = cxt;
        cxt.fail(_`!${gen.scopeValue('func', { ref: isMultiple })}(${data}, ${schema})`);
      },
    },
    length('minLength', true),
    length('maxLength', false),
    values(ENUM_OF_VALUES),
    values(CONST_OF_VALUE),
    {
      keyword: 'uniqueItems',
      type: 'array',
      schemaType: 'boolean',
      errors: false,
      compile: (wanted: boolean) => (wanted ? hasUniqueItems : () => true),
    },
    {
      keyword: STEPS,
      schemaType: 'string',
      before: '$ref',
      code({ gen, data, schema }) {
        const take = gen.scopeValue('func', { ref: schema === 'members' ? takeMembers : takeOne });
        gen.code(_`${take}(${data})`);
      },
    },
  ];
}

/** 19.99 is a multiple of 0.01, though not quite in binary. */
function isMultiple(value: number, of: number): boolean {
  if (value % of === 0) return true;
  const quotient = value / of;
  return (
    Number.isFinite(quotient) &&
    Math.abs(quotient - Math.round(quotient)) <= 4 * Number.EPSILON * Math.abs(quotient)
  );
}

function isShorter(text: string, min: number): boolean {
  return text.length < min || codePoints(text) < min;
}

function isLonger(text: string, max: number): boolean {
  return text.length > max * 2 || codePoints(text) > max;
}

function codePoints(text: string): number {
  takeText(text);
  let count = text.length;
  for (let at = 0; at < text.length - 1; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit <= 0xdbff) {
      const next = text.charCodeAt(at + 1);
      if (next >= 0xdc00 && next <= 0xdfff) {
        count--;
        at++;
      }
    }
  }
  return count;
}

function isOneOf(allowed: readonly unknown[]): (value: unknown) => boolean {
  const scalars = new Set(allowed.filter((value) => typeof value !== 'object' || value === null));
  const composites = allowed.filter((value) => typeof value === 'object' && value !== null);
  return (value) => {
    if (typeof value !== 'object' || value === null) return scalars.has(value);
    takeSteps(composites.length);
    return composites.some((candidate) => isEqual(candidate, value));
  };
}

/** Compares JSON values by their own members only. The depth is that of `a`, which comes from the schema. */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name]))
  );
}

function hasUniqueItems(items: readonly unknown[]): boolean {
  takeSteps(items.length);
  const scalars = new Set<unknown>();
  const composites = new Set<string>();
  for (const item of items) {
    if (typeof item === 'object' && item !== null) {
      const text = stableText(item);
      takeSteps(text.length);
      composites.add(text);
    } else {
      scalars.add(item);
    }
  }
  return scalars.size + composites.size === items.length;
}

/** The same format with its work counted. Formats for numbers are left as they are. */
function bounded(format: Format): Format {
  if (format instanceof RegExp) {
    let pattern: LinearPattern | undefined;
    return (text: string) => {
      pattern ??= compilePattern(format.source, format.flags);
      return pattern.test(text);
    };
  }
  if (typeof format === 'function') {
    return (text: string) => {
      takeText(text);
      return format(text) === true;
    };
  }
  if (typeof format === 'object' && !('type' in format && format.type === 'number')) {
    const { validate } = format;
    return typeof validate === 'string' || 'async' in format ? true : bounded(validate as Format);
  }
  return format;
}
