import { createRequire } from 'node:module';
import fc from 'fast-check';
import { expect } from 'vitest';
import { inspectSchema } from '../../src/protocol/json-schema.ts';
import { compileNow } from '../protocol/compile-now.ts';
import { fuzz } from './property.ts';
import { schema, value } from './schemas.ts';

const require = createRequire(import.meta.url);
const { default: Ajv } = require('ajv/dist/2020.js');

/** What a value is worth under a schema does not depend on how the schema was rewritten for the compiler. */
fuzz({
  name: 'schema-verdict',
  inputs: fc.tuple(schema, fc.array(value, { minLength: 1, maxLength: 4 })),
  holds([schema, values]) {
    if (inspectSchema(schema) !== undefined) return;
    const compiled = compileNow(schema);
    const ajv = new Ajv({ strict: false, logger: false, validateSchema: false });
    // It stumbles over its own bookkeeping for keywords that are not in these schemas.
    ajv.opts.unevaluated = false;
    const judge = ajv.compile(schema);
    for (const value of values) {
      const violation = compiled.validate(value);
      expect([schema, value, violation === undefined, violation]).toEqual([
        schema,
        value,
        judge(value),
        violation,
      ]);
    }
  },
});
