import { Buffer } from 'node:buffer';
import { writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { type JsonObject, McpError, toError } from '../jsonrpc/index.ts';
import {
  type ClientOptions,
  DEFAULT_PROBE_TIMEOUT_MS,
  McpClient,
  type Notification,
  type RequestOptions,
} from '../protocol/index.ts';
import { authorization, isUnauthorized, loginHint } from './authorization.ts';
import type { Command, Connect } from './command-line.ts';
import type { Output } from './output.ts';
import {
  renderEvent,
  renderProgress,
  renderPrompt,
  renderPrompts,
  renderResources,
  renderResult,
  renderServer,
  renderTools,
} from './render.ts';
import { parseJsonObject, type ToolArguments, typePairs } from './tool-arguments.ts';
import { EXIT, UsageError } from './usage.ts';

type Connected = Exclude<Command, { name: 'help' | 'version' | 'login' | 'logout' }>;

/** What a run needs of its surroundings. */
export interface Surroundings {
  output: Output;
  version: string;
  /** Aborted when the user gives up. */
  signal: AbortSignal;
}

/** Connects, does what the command says, and ends the server whatever happens. Returns the exit status. */
export async function run(command: Connected, surroundings: Surroundings): Promise<number> {
  let args: ToolArguments = { from: 'nothing' };
  if (command.name === 'call') {
    args = command.toolArguments;
    if (args.from === 'stdin') args = await readStdin(surroundings, command.verbose);
  }
  let client: McpClient;
  const lost = new AbortController();
  const startedAt = performance.now();
  try {
    client = await connect(command, surroundings, lost);
  } catch (error) {
    return fail(error, EXIT.connect, surroundings, loginHint(command));
  }
  if (command.verbose) {
    const tookMs = Math.round(performance.now() - startedAt);
    surroundings.output.note(
      `Connected to "${client.name}" in ${tookMs} ms: ${client.dialect} dialect, revision ${client.protocolVersion}`,
    );
  }
  try {
    return await perform(command, client, args, { ...surroundings, lost: lost.signal });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return fail(error, EXIT.request, surroundings, loginHint(command));
  } finally {
    await client.close();
  }
}

async function perform(
  command: Connected,
  client: McpClient,
  args: ToolArguments,
  surroundings: Surroundings & { lost: AbortSignal },
): Promise<number> {
  const { output, signal } = surroundings;
  switch (command.name) {
    case 'discover':
      await (command.json ? output.printJson(describe(client)) : output.print(renderServer(client)));
      return EXIT.ok;
    case 'tools': {
      const tools = await client.listTools({ signal });
      await (command.json ? output.printJson(tools) : output.print(renderTools(tools, output.columns)));
      return EXIT.ok;
    }
    case 'call':
      return call(command, client, args, surroundings);
    case 'resources':
      return listResources(command, client, surroundings);
    case 'read':
      return read(command, client, surroundings);
    case 'prompts': {
      const prompts = await client.listPrompts({ signal });
      await (command.json ? output.printJson(prompts) : output.print(renderPrompts(prompts, output.columns)));
      return EXIT.ok;
    }
    case 'prompt': {
      const prompt = await client.getPrompt(command.prompt, command.promptArguments, { signal });
      await (command.json ? output.printJson(prompt) : output.print(renderPrompt(prompt)));
      return EXIT.ok;
    }
    case 'listen':
      return listen(command, client, surroundings);
  }
}

async function listResources(
  { json }: Connect,
  client: McpClient,
  { output, signal }: Surroundings,
): Promise<number> {
  const resources = await client.listResources({ signal });
  const resourceTemplates = await client.listResourceTemplates({ signal });
  if (json) await output.printJson({ resources, resourceTemplates });
  else await output.print(renderResources(resources, resourceTemplates, output.columns));
  return EXIT.ok;
}

/** Text is printed as it is; bytes are written where nobody would look at them. */
async function read(
  { uri, file, json }: Extract<Command, { name: 'read' }>,
  client: McpClient,
  { output, signal }: Surroundings,
): Promise<number> {
  const result = await client.readResource(uri, { signal });
  if (json) {
    await output.printJson(result);
    return EXIT.ok;
  }
  const contents = result.contents.map((part) =>
    'text' in part ? Buffer.from(part.text) : Buffer.from(part.blob, 'base64'),
  );
  const isText = result.contents.every((part) => 'text' in part);
  if (file !== undefined) {
    await writeFile(file, Buffer.concat(contents));
  } else if (isText || !output.isTerminal) {
    for (const content of contents) await output.printBytes(content, isText);
  } else {
    output.note(
      `The resource is binary: use --output, or a pipe, to get its ${Buffer.concat(contents).length} bytes`,
    );
  }
  return EXIT.ok;
}

async function listen(
  { filter, json, verbose }: Extract<Command, { name: 'listen' }>,
  client: McpClient,
  { output, signal, lost }: Surroundings & { lost: AbortSignal },
): Promise<number> {
  const subscription = await client.listen(filter, { signal: AbortSignal.any([signal, lost]) });
  if (verbose || Object.keys(subscription.filter).length < Object.keys(filter).length) {
    output.note(`The server reports: ${Object.keys(subscription.filter).join(', ') || 'nothing'}`);
  }
  for await (const event of subscription) {
    await output.print(json ? JSON.stringify(event) : renderEvent(event));
  }
  lost.throwIfAborted();
  return EXIT.ok;
}

async function call(
  { tool, json, verbose }: Extract<Command, { name: 'call' }>,
  client: McpClient,
  args: ToolArguments,
  { output, signal }: Surroundings,
): Promise<number> {
  const options: RequestOptions = { signal };
  if (verbose) options.onProgress = (progress) => output.note(renderProgress(progress));
  const result = await client.callTool(tool, await typed(client, tool, args, signal), options);
  const isError = result.isError === true;
  if (json) await output.printJson(result);
  else if (isError) output.note(renderResult(result) || `Tool "${tool}" failed and gave no reason`);
  else await output.print(renderResult(result));
  return isError ? EXIT.toolError : EXIT.ok;
}

/** Standard input is read before the server is started: there is no point in starting it for what is no JSON. */
async function readStdin({ output, signal }: Surroundings, verbose: boolean): Promise<ToolArguments> {
  const { stdin } = process;
  if (verbose || stdin.isTTY) output.note('Reading the arguments from standard input');
  const onAbort = () => stdin.destroy(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return { from: 'json', value: parseJsonObject(await text(stdin), 'Standard input') };
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function typed(
  client: McpClient,
  tool: string,
  args: ToolArguments,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  if (args.from === 'json') return args.value;
  if (args.from !== 'pairs') return {};
  const tools = await client.listTools({ signal });
  return typePairs(args.pairs, tools.find(({ name }) => name === tool)?.inputSchema);
}

async function connect(
  command: Connected,
  surroundings: Surroundings,
  lost: AbortController,
): Promise<McpClient> {
  const options = clientOptions(command, surroundings);
  options.onClose = (reason) => lost.abort(reason);
  const { target, headers, verbose } = command;
  switch (target.by) {
    case 'process':
      return McpClient.stdio(target.spec, { ...options, stderr: verbose ? 'inherit' : 'pipe' });
    case 'http':
      return McpClient.http(target.url, { ...options, ...authorization(command, surroundings), headers });
    case 'webSocket':
      return McpClient.webSocket(target.url, { ...options, headers });
    case 'socket':
      return McpClient.socket(target.socket, options);
  }
}

export function clientOptions(
  { dialect, timeoutMs, verbose }: Connect,
  { output, version, signal }: Surroundings,
): ClientOptions {
  const options: ClientOptions = { clientInfo: { name: 'mcpwire', version }, dialect, signal };
  if (timeoutMs !== undefined) {
    options.timeoutMs = timeoutMs;
    options.connectTimeoutMs = timeoutMs;
    options.probeTimeoutMs = Math.min(timeoutMs, DEFAULT_PROBE_TIMEOUT_MS);
  }
  if (verbose) {
    options.onWarning = ({ message }) => output.note(`Warning: ${message}`);
    options.onNotification = (notification) => noteLog(output, notification);
  }
  return options;
}

function noteLog(output: Output, { method, params }: Notification): void {
  if (method !== 'notifications/message') return;
  const { level, data } = params ?? {};
  output.note(`Log (${level}): ${typeof data === 'string' ? data : JSON.stringify(data)}`);
}

function describe(client: McpClient): JsonObject {
  const { dialect, protocolVersion, serverInfo, serverCapabilities, instructions } = client;
  return { dialect, protocolVersion, serverInfo, capabilities: serverCapabilities, instructions };
}

/** Says what went wrong, with a hint for those who have to sign in. Returns the status. */
export function fail(
  error: unknown,
  status: number,
  { output, signal }: Surroundings,
  hint?: string,
): number {
  // The user knows why it ended, and the signal's own status is set by whoever aborted.
  if (signal.aborted) return status;
  const code = error instanceof McpError ? ` (${error.code})` : '';
  output.note(`mcpwire: ${toError(error).message}${code}`);
  if (hint !== undefined && isUnauthorized(error)) output.note(hint);
  return status;
}
