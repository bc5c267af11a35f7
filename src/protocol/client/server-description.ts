import { isJsonObject, type JsonObject } from '../../jsonrpc/index.ts';
import type { Implementation } from '../types/identity.ts';
import type { ServerDescription } from './dialect.ts';

/** Reads what a server says of itself. What is malformed counts as left out: it decides nothing. */
export function describeServer(result: JsonObject, info: unknown): ServerDescription {
  const description: ServerDescription = {
    capabilities: isJsonObject(result.capabilities) ? result.capabilities : {},
  };
  if (isImplementation(info)) description.info = info;
  if (typeof result.instructions === 'string') description.instructions = result.instructions;
  return description;
}

function isImplementation(value: unknown): value is Implementation {
  return isJsonObject(value) && typeof value.name === 'string' && typeof value.version === 'string';
}
