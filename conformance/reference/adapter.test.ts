import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, it } from 'vitest';

// Clients that nobody here wrote, against a registry that the adapter serves.

const SERVER = fileURLToPath(new URL('servers/adapter.mjs', import.meta.url));
const STDIO = { command: process.execPath, args: [SERVER] };
const INFO = { name: 'reference', version: '1.0.0' };

/** What both SDKs' clients have in common, as far as these tests go. */
interface ReferenceClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(name: string, args: object, options?: CallOptions): Promise<object>;
  getServerVersion(): { name: string; version: string } | undefined;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

interface CallOptions {
  signal?: AbortSignal;
  onprogress?: (progress: { progress: number; total?: number | undefined }) => void;
}

async function connectV1(url: string | undefined): Promise<ReferenceClient> {
  const client = new ClientV1(INFO);
  // The SDK's own types disagree under exactOptionalPropertyTypes.
  const transport = url === undefined ? new StdioV1(STDIO) : new HttpV1(new URL(url));
  await client.connect(transport as StdioV1);
  return {
    listTools: () => client.listTools(),
    callTool: (name, args, options) =>
      client.callTool({ name, arguments: { ...args } }, CallToolResultSchema, options),
    getServerVersion: () => client.getServerVersion(),
    getInstructions: () => client.getInstructions(),
    close: () => client.close(),
  };
}

const connectV2 =
  (mode: VersionNegotiationMode) =>
  async (url: string | undefined): Promise<ReferenceClient> => {
    const client = new ClientV2(INFO, { versionNegotiation: { mode } });
    await client.connect(url === undefined ? new StdioV2(STDIO) : new HttpV2(new URL(url)));
    return {
      listTools: () => client.listTools(),
      callTool: (name, args, options) => client.callTool({ name, arguments: { ...args } }, options),
      getServerVersion: () => client.getServerVersion(),
      getInstructions: () => client.getInstructions(),
      close: () => client.close(),
    };
  };

const CLIENTS = [
  ['version 1', connectV1],
  ['version 2, legacy', connectV2('legacy')],
  ['version 2, auto', connectV2('auto')],
  ['version 2, pinned to 2026-07-28', connectV2({ pin: '2026-07-28' })],
] as const;

const texts = (...values: string[]) => values.map((text) => ({ type: 'text', text }));

describe.each(['stdio', 'HTTP'] as const)('an adapter over %s', (channel) => {
  let server: ChildProcess | undefined;
  let client: ReferenceClient | undefined;
  afterEach(async () => {
    await client?.close();
    client = undefined;
    if (!server) return;
    server.kill();
    await once(server, 'exit');
    server = undefined;
  });

  describe.each(CLIENTS)('and the client of the official SDK, %s', (_, connect) => {
    async function open(): Promise<ReferenceClient> {
      client = await connect(channel === 'HTTP' ? await startHttp() : undefined);
      return client;
    }

    it('lists its tools and says who it is', async () => {
      const { listTools, getServerVersion, getInstructions } = await open();
      const { tools } = await listTools();
      expect(tools.map(({ name }) => name)).toEqual([
        'echo',
        'add',
        'parts',
        'fail',
        'work',
        'finish',
        'wait',
      ]);
      expect(tools[0]).toMatchObject({
        description: 'Says it again',
        inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
        annotations: { readOnlyHint: true, destructiveHint: false },
      });
      expect(tools[1]).toMatchObject({ title: 'Add', outputSchema: { required: ['sum'] } });
      expect(getServerVersion()).toMatchObject({ name: 'adapter', version: '1.0.0' });
      expect(getInstructions()).toBe('For tests');
    });

    it('B54 calls them: text, structured content, media, failures and refusals', async () => {
      const { listTools, callTool } = await open();
      await listTools();
      expect(await callTool('echo', { text: 'ünï 🎉\u2028' })).toMatchObject({
        content: texts('ünï 🎉\u2028'),
      });
      expect(await callTool('add', { a: 2, b: 3 })).toMatchObject({
        content: texts('{"sum":5}'),
        structuredContent: { sum: 5 },
      });
      expect(await callTool('parts', {})).toMatchObject({
        content: [
          { type: 'text', text: 'before' },
          { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
          { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
        ],
      });
      expect(await callTool('fail', {})).toMatchObject({
        content: texts('Tool "fail" failed: this tool always fails'),
        isError: true,
      });
      expect(await callTool('add', { a: 'two', b: 3 })).toMatchObject({
        content: [{ text: expect.stringContaining('/a must be number, not string') }],
        isError: true,
      });
      await expect(callTool('none', {})).rejects.toMatchObject({
        code: -32601,
        message: expect.stringContaining('Unknown tool "none": there are "echo"'),
      });
    });

    it('hears of progress before the result', async () => {
      const { callTool } = await open();
      const seen: unknown[] = [];
      let heardAll = () => {};
      const all = new Promise<void>((resolve) => {
        heardAll = resolve;
      });
      const onprogress = (progress: object) => {
        if (seen.push(progress) === 20) heardAll();
      };
      const result = callTool('work', { steps: 20 }, { onprogress });
      await all;
      await callTool('finish', {});
      expect(await result).toMatchObject({ content: texts('20 steps') });
      expect(seen).toHaveLength(20);
      expect(seen.at(-1)).toMatchObject({ progress: 20, total: 20 });
    });

    it('cancels a call, and finds on its next list what the tool did then', async () => {
      const { callTool, listTools } = await open();
      const controller = new AbortController();
      const call = callTool('wait', {}, { signal: controller.signal, onprogress: () => controller.abort() });
      await expect(call).rejects.toThrow();
      const names = async () => (await listTools()).tools.map(({ name }) => name);
      await expect.poll(names).toContain('was_cancelled');
      expect(await callTool('was_cancelled', {})).toMatchObject({ content: texts('yes') });
    });
  });

  async function startHttp(): Promise<string> {
    server = spawn(process.execPath, [SERVER, '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    if (!server.stdout) throw new Error('The server has no output');
    for await (const line of createInterface(server.stdout)) return line;
    throw new Error('The server did not start');
  }
});
