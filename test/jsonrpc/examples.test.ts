import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { classify, encodeLine, type JsonObject, LineDecoder } from '../../src/jsonrpc/index.ts';

/** The specification's example messages, one folder a type; they lie beside the checkout and are not part of it. */
const EXAMPLES = fileURLToPath(new URL('../../../shared/wire/2026-07-28/examples', import.meta.url));
const isPresent = existsSync(EXAMPLES);
if (!isPresent) console.log('Skipped: the official example messages are not beside this checkout');

interface Example {
  name: string;
  type: string;
  value: JsonObject;
}

const examples = isPresent ? readExamples() : [];
const whole = examples.filter(({ value }) => value.jsonrpc !== undefined);
const parts = examples.filter(({ value }) => value.jsonrpc === undefined);

describe.skipIf(!isPresent)('the official example messages', () => {
  it('are all there', () => {
    expect(whole.length).toBeGreaterThanOrEqual(30);
    expect(parts.length).toBeGreaterThanOrEqual(90);
  });

  it('classify as their type says and survive the wire', () => {
    for (const { name, type, value } of whole) {
      expect([name, classify(value).kind]).toStrictEqual([name, kindOf(type)]);
      expect(overTheWire(value), name).toStrictEqual(value);
    }
  });

  it('survive the wire inside an envelope where they are parts of a message', () => {
    for (const { name, type, value } of parts) {
      const envelope = envelopeFor(type, value);
      expect([name, classify(envelope).kind]).toStrictEqual([name, kindOf(type)]);
      expect(overTheWire(envelope), name).toStrictEqual(envelope);
    }
  });
});

function readExamples(): Example[] {
  const files = readdirSync(EXAMPLES, { recursive: true, withFileTypes: true });
  return files
    .filter((file) => file.isFile() && file.name.endsWith('.json'))
    .map((file) => ({
      name: file.name,
      type: file.parentPath.slice(EXAMPLES.length + 1),
      value: JSON.parse(readFileSync(join(file.parentPath, file.name), 'utf8')),
    }));
}

/** What a message of this type is, or what carries a part of this type. */
function kindOf(type: string): string {
  if (/Notification(Params)?$/.test(type)) return 'notification';
  if (/Request(\w*Params)?$/.test(type)) return 'request';
  return type.endsWith('Error') ? 'error' : 'result';
}

function envelopeFor(type: string, value: JsonObject): JsonObject {
  const head = { jsonrpc: '2.0', id: 'example' };
  switch (kindOf(type)) {
    case 'notification':
      return { jsonrpc: '2.0', method: type, params: value };
    case 'request':
      // The requests that travel as input requests lack the envelope; the others here are params.
      return value.method === undefined ? { ...head, method: type, params: value } : { ...head, ...value };
    case 'error':
      return { ...head, error: value };
    default:
      return { ...head, result: value };
  }
}

function overTheWire(value: JsonObject): unknown {
  const read: unknown[] = [];
  const decoder = new LineDecoder({
    message: (message) => read.push(message),
    error: (error) => {
      throw error;
    },
  });
  decoder.push(Buffer.from(encodeLine(value)));
  expect(read).toHaveLength(1);
  return read[0];
}
