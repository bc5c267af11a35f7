import { isJsonObject, McpError } from '../jsonrpc/index.ts';
import { inspectSchema, type JsonSchema, schemaFingerprint, type ToolDefinition } from '../protocol/index.ts';
import { isDeeper } from './depth.ts';

/** How deep the input schema of a tool may nest; for a plugin, the tool as it is listed. */
export const MAX_DEFINITION_DEPTH = 256;

/**
 * What becomes of structured content that does not fit the tool's output schema: `error` makes a failure of it,
 * `lenient` lets it pass with a warning.
 */
export type StructuredPolicy = 'error' | 'lenient';

/** What a server promises of a tool, as it is held to. Never changed: a tool gets another one. */
export interface ToolContract {
  readonly definition: ToolDefinition;
  /** What its structured content is checked against; undefined where the server gave no schema that can be used. */
  readonly outputSchema: JsonSchema | undefined;
  readonly structuredContent: StructuredPolicy;
}

/**
 * Reads what a server lists. An output schema that cannot be used is left out with a warning; it costs no I/O to find that
 * out, references to elsewhere are never followed.
 *
 * @throws McpError `INVALID_RESULT` for a tool that nests too deeply to be shown to a model.
 */
export function readContract(
  definition: ToolDefinition,
  structuredContent: StructuredPolicy,
  warn: (warning: McpError) => void,
): ToolContract {
  const { inputSchema, annotations } = definition;
  if (isDeeper(inputSchema, MAX_DEFINITION_DEPTH) || isDeeper(annotations, MAX_DEFINITION_DEPTH)) {
    throw new McpError('INVALID_RESULT', `it nests deeper than ${MAX_DEFINITION_DEPTH} levels`);
  }
  return { definition, outputSchema: readOutputSchema(definition, warn), structuredContent };
}

const fingerprints = new WeakMap<ToolContract, string>();

/** Equal for contracts that differ in nothing a host or a model could notice. Computed once for each, when it is needed. */
export function fingerprintOf(contract: ToolContract): string {
  let fingerprint = fingerprints.get(contract);
  if (fingerprint === undefined) {
    const { definition, outputSchema, structuredContent } = contract;
    const { name, title, description, inputSchema, annotations } = definition;
    // Without a schema nothing is checked, so that the policy makes no difference.
    const policy = outputSchema && structuredContent;
    fingerprint = schemaFingerprint({
      name,
      // Neither shows where it is no text, and then it may be anything.
      title: asString(title),
      description: asString(description),
      inputSchema,
      annotations,
      outputSchema,
      policy,
    });
    fingerprints.set(contract, fingerprint);
  }
  return fingerprint;
}

export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function readOutputSchema(
  { name, outputSchema }: ToolDefinition,
  warn: (warning: McpError) => void,
): JsonSchema | undefined {
  if (outputSchema === undefined) return undefined;
  const fault = isJsonObject(outputSchema)
    ? inspectSchema(outputSchema)
    : { path: '', reason: 'is no object' };
  if (!fault) return outputSchema;
  const place = fault.path === '' ? 'it' : fault.path;
  const message = `Left out the output schema of tool ${JSON.stringify(name)}, whose results are not checked: ${place} ${fault.reason}`;
  warn(new McpError('INVALID_SCHEMA', message));
  return undefined;
}
