import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import {
  createTool,
  McpServerAdapter,
  McpToolProvider,
  type Tool,
  ToolError,
  type ToolOutput,
  type ToolPart,
  ToolRegistry,
  toolFailure,
} from '../../src/bridge/index.ts';
import { type JsonSchema, McpClient, type Progress } from '../../src/protocol/index.ts';
import { StreamTransport } from '../../src/transport/index.ts';
import { fuzz } from './property.ts';

interface Called {
  args: { [name: string]: unknown } | null;
  progress: Progress[];
  content: string | ToolPart[];
  /** `json`: what follows the content as JSON text, which the output is marked for. */
  ending: { type: 'success' | 'failure' } | { type: 'json'; value: { [name: string]: unknown } };
}

interface Described {
  name: string;
  title?: string;
  description: string;
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
  isReadOnly: boolean;
  call: Called;
}

interface Input {
  dialect: 'session' | 'stateless';
  tools: Described[];
}

const anyText = fc.string({ unit: 'binary', maxLength: 12 });
const base64 = fc.base64String({ maxLength: 16 });
const part: fc.Arbitrary<ToolPart> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: anyText }),
  fc.record({ type: fc.constantFrom('image' as const, 'audio' as const), data: base64, mimeType: anyText }),
);
/** A schema that any arguments fit, with annotations of all kinds. */
const looseSchema = fc.record(
  {
    type: fc.constant('object'),
    title: anyText,
    description: anyText,
    default: fc.jsonValue({ maxDepth: 2 }),
    examples: fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 2 }),
    properties: fc.dictionary(anyText, fc.constantFrom(true, {}), { maxKeys: 3 }),
  },
  { requiredKeys: ['type'] },
);
const progress = fc
  .uniqueArray(fc.double({ noNaN: true, noDefaultInfinity: true }), { maxLength: 3 })
  .chain((values) => {
    const sorted = [...new Set(values.map((value) => value + 0))].sort((a, b) => a - b);
    return fc.tuple(
      ...sorted.map((value) =>
        fc.record(
          { progress: fc.constant(value), total: fc.integer(), message: anyText },
          { requiredKeys: ['progress'] },
        ),
      ),
    );
  });
const called: fc.Arbitrary<Called> = fc.record({
  args: fc.option(fc.dictionary(anyText, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })),
  progress,
  content: fc.oneof(anyText, fc.array(part, { maxLength: 4 })),
  ending: fc.oneof(
    fc.record({ type: fc.constantFrom('success' as const, 'failure' as const) }),
    fc.record({
      type: fc.constant('json' as const),
      value: fc.dictionary(anyText, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
    }),
  ),
});
const described: fc.Arbitrary<Described> = fc.record(
  {
    name: anyText,
    title: anyText,
    description: anyText,
    inputSchema: looseSchema,
    outputSchema: looseSchema,
    isReadOnly: fc.boolean(),
    call: called,
  },
  { requiredKeys: ['name', 'description', 'inputSchema', 'isReadOnly', 'call'] },
);

describe('B61 a registry that is exported and imported again', () => {
  fuzz<Input>({
    name: 'bridge-round-trip',
    inputs: fc.record({
      dialect: fc.constantFrom('session' as const, 'stateless' as const),
      tools: fc.uniqueArray(described, { selector: ({ name }) => name, maxLength: 4 }),
    }),
    holds,
  });
});

async function holds({ dialect, tools }: Input): Promise<void> {
  const source = new ToolRegistry();
  const seen = new Map<string, unknown>();
  for (const spec of tools) source.register(toolOf(spec, (args) => seen.set(spec.name, args)));
  const adapter = new McpServerAdapter({ registry: source, name: 'source', version: '1' });
  const [up, down] = [new PassThrough(), new PassThrough()];
  adapter.connect(new StreamTransport(up, down));
  const client = await McpClient.connect(new StreamTransport(down, up), { dialect });
  try {
    const target = new ToolRegistry();
    const provider = await McpToolProvider.connect(client, { audio: 'part' });
    provider.registerInto(target);
    expect(target.names()).toEqual(source.names());
    for (const spec of tools) {
      const imported = target.get(spec.name);
      if (!imported) throw new Error('It is not there');
      expect(asJson(contractOf(imported))).toBe(asJson(contractOf(toolOf(spec, () => {}))));
      const heard: Progress[] = [];
      const output = await imported.call(spec.call.args, { onProgress: (each) => heard.push(each) });
      expect(asJson(seen.get(spec.name))).toBe(asJson(spec.call.args));
      expect(asJson(heard)).toBe(asJson(spec.call.progress));
      expect(asJson(shownOf(output))).toBe(asJson(expectedOf(spec)));
    }
  } finally {
    await client.close();
    await adapter.close();
  }
}

function toolOf({ call: { progress, ...call }, ...spec }: Described, hear: (args: unknown) => void): Tool {
  return createTool({
    ...spec,
    call: (args, context) => {
      hear(args);
      for (const each of progress) context.onProgress?.(each);
      return outputOf(call);
    },
  });
}

function outputOf({ content, ending }: Pick<Called, 'content' | 'ending'>): ToolOutput {
  switch (ending.type) {
    case 'success':
      return { content };
    case 'failure':
      return toolFailure(new ToolError('execution', 'told by the content'), content);
    case 'json':
      return { content: [...partsOf(content), text(JSON.stringify(ending.value))], displayHint: 'json' };
  }
}

function contractOf({ title, description, inputSchema, outputSchema, isReadOnly, isDestructive }: Tool) {
  return { title, description, inputSchema, outputSchema, isReadOnly, isDestructive };
}

function shownOf({ content, ...rest }: ToolOutput) {
  return { content, isError: rest.isError ?? false, displayHint: 'displayHint' in rest && rest.displayHint };
}

/**
 * One text by itself is the same as a list of that one part; a failure without content is given words. JSON that the
 * tool's output schema vouches for is shown once more, written for people; without a schema its text is all there is.
 */
function expectedOf({ name, outputSchema, call: { content, ending } }: Described) {
  const { content: given } = outputOf({ content, ending });
  const parts = [...partsOf(given)];
  if (ending.type === 'failure' && parts.length === 0) {
    parts.push(text(`Tool ${JSON.stringify(name)} failed and gave no reason`));
  }
  const isVouchedFor = ending.type === 'json' && outputSchema !== undefined;
  if (isVouchedFor) parts.push(text(JSON.stringify(ending.value, undefined, 2)));
  const [only] = parts;
  return {
    content: parts.length === 1 && only?.type === 'text' ? only.text : parts,
    isError: ending.type === 'failure',
    displayHint: isVouchedFor && 'json',
  };
}

function partsOf(content: ToolOutput['content']): readonly ToolPart[] {
  return typeof content === 'string' ? [text(content)] : content;
}

function text(value: string): ToolPart {
  return { type: 'text', text: value };
}

/** What a wire can tell apart. */
function asJson(value: unknown): string | undefined {
  return JSON.stringify(value);
}
