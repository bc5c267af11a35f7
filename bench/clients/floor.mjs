// The floor: the least code that calls tools, written for the tools of the benchmarks alone.
import { spawn } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { Agent, request } from 'undici';

const VERSION = { session: '2025-11-25', stateless: '2026-07-28' };
const STATELESS_META = {
  'io.modelcontextprotocol/protocolVersion': VERSION.stateless,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export async function openStdio({ command, args, dialect }) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const pending = new Map();
  const listeners = new Map();
  const decoder = new StringDecoder('utf8');
  let rest = '';
  child.stdout.on('data', (chunk) => {
    const text = decoder.write(chunk);
    if (!text.includes('\n')) {
      rest += text;
      return;
    }
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const { id, result, params } = JSON.parse(line);
      if (id === undefined) {
        listeners.get(params?.progressToken)?.(params);
        continue;
      }
      const resolve = pending.get(id);
      pending.delete(id);
      resolve(result);
    }
  });
  let output = '';
  const flush = () => {
    child.stdin.write(output);
    output = '';
  };
  const write = (message) => {
    if (output === '') process.nextTick(flush);
    output += `${JSON.stringify(message)}\n`;
  };
  let nextId = 1;
  const call = (method, params) =>
    new Promise((resolve) => {
      const id = nextId++;
      pending.set(id, resolve);
      write({ jsonrpc: '2.0', id, method, params });
    });
  const notify = (method) => write({ jsonrpc: '2.0', method });
  const client = await open({ call, notify, dialect });
  return {
    ...client,
    work: async (steps, onProgress) => {
      const progressToken = nextId;
      listeners.set(progressToken, onProgress);
      const _meta = dialect === 'session' ? { progressToken } : { ...STATELESS_META, progressToken };
      const params = { name: 'work', arguments: { steps }, _meta };
      const result = await call('tools/call', params);
      listeners.delete(progressToken);
      return result.content;
    },
    close: () => child.stdin.end(),
  };
}

export async function openHttp({ url, dialect }) {
  const dispatcher = new Agent();
  let nextId = 1;
  const common = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': VERSION[dialect],
  };
  const send = async (message, named) => {
    const headers = dialect === 'session' ? common : { ...common, 'mcp-method': message.method, ...named };
    const body = JSON.stringify(message);
    const reply = await request(url, { dispatcher, method: 'POST', headers, body });
    const text = await reply.body.text();
    if (reply.headers['mcp-session-id']) common['mcp-session-id'] = reply.headers['mcp-session-id'];
    return { text, type: reply.headers['content-type'] };
  };
  const call = async (method, params) => {
    const named = params?.name === undefined ? undefined : { 'mcp-name': params.name };
    const { text, type } = await send({ jsonrpc: '2.0', id: nextId++, method, params }, named);
    const json = type?.startsWith('text/event-stream') ? lastData(text) : text;
    const { result, error } = JSON.parse(json);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  const notify = (method) => send({ jsonrpc: '2.0', method });
  const agree = (version) => {
    common['mcp-protocol-version'] = version;
  };
  return { ...(await open({ call, notify, dialect, agree })), close: () => dispatcher.destroy() };
}

/** Some servers answer with a stream of one event, whatever the client accepts. */
function lastData(text) {
  return text.slice(text.lastIndexOf('data:') + 5);
}

async function open({ call, notify, dialect, agree }) {
  if (dialect === 'session') {
    const clientInfo = { name: 'bench', version: '1.0.0' };
    const wanted = { protocolVersion: VERSION.session, capabilities: {}, clientInfo };
    const { protocolVersion } = await call('initialize', wanted);
    agree?.(protocolVersion);
    await notify('notifications/initialized');
  } else {
    await call('server/discover', { _meta: STATELESS_META });
  }
  const paramsOf =
    dialect === 'session'
      ? (name, args) => ({ name, arguments: args })
      : (name, args) => ({ name, arguments: args, _meta: STATELESS_META });
  const content = async (name, args) => (await call('tools/call', paramsOf(name, args))).content;
  return {
    echo: (text) => content('echo', { text }),
    large: (chars) => content('large', { chars }),
  };
}
