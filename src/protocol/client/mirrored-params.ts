import { type JsonObject, McpError } from '../../jsonrpc/index.ts';
import { type ParamHeader, paramHeaders, readParamHeaders } from '../param-headers.ts';
import type { ToolDefinition } from '../types/features.ts';

/**
 * Which arguments of a server's tools are mirrored into headers, learnt from its tool list.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#client-behavior
 */
export class MirroredParams {
  readonly #tools = new Map<string, readonly ParamHeader[]>();

  /** Learns a whole list. Returns the tools that may be used: one with invalid annotations costs a warning. */
  learn(tools: readonly ToolDefinition[], warn: (warning: McpError) => void): ToolDefinition[] {
    this.#tools.clear();
    return tools.filter(({ name, inputSchema }) => {
      const read = readParamHeaders(inputSchema);
      if (typeof read === 'string') {
        warn(
          new McpError(
            'INVALID_RESULT',
            `Left out tool "${name}", which cannot be called over HTTP: ${read}`,
          ),
        );
        return false;
      }
      if (read.length > 0) this.#tools.set(name, read);
      return true;
    });
  }

  /** The headers for a call; undefined where nothing is mirrored. */
  headersFor(name: string, args: JsonObject | undefined): Record<string, string> | undefined {
    const mirrored = this.#tools.get(name);
    return mirrored && paramHeaders(mirrored, args);
  }
}
