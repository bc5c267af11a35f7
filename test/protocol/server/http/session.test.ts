import { once } from 'node:events';
import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import {
  McpServer,
  MemoryEventLog,
  type ServeHttpOptions,
  serveHttp,
  toFetchHandler,
} from '../../../../src/protocol/index.ts';

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 't', version: '1' },
  },
};
const OBJECT = { type: 'object' } as const;

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

async function serve(options: ServeHttpOptions = {}) {
  const server = new McpServer({ name: 's', version: '1' });
  const held: (() => void)[] = [];
  server.tool({ name: 'echo', inputSchema: OBJECT }, (args) => JSON.stringify(args));
  server.tool({ name: 'hold', inputSchema: OBJECT }, async (_args, { signal }) => {
    await new Promise<void>((resolve) => {
      held.push(resolve);
      signal.addEventListener('abort', () => resolve());
    });
    return signal.aborted ? 'aborted' : 'released';
  });
  server.tool({ name: 'poll', inputSchema: OBJECT }, async (_args, context) => {
    context.closeStream();
    await new Promise<void>((resolve) => held.push(resolve));
    return 'polled';
  });
  server.tool({ name: 'ask', inputSchema: OBJECT }, async (_args, context) => {
    const answer = await context.elicit({
      message: 'Name?',
      requestedSchema: { type: 'object', properties: {} },
    });
    return answer.action;
  });
  const listening = await serveHttp(server, options);
  cleanups.push(() => listening.close());
  const post = (body: unknown, headers: Record<string, string> = {}, signal: AbortSignal | null = null) =>
    fetch(listening.url, {
      method: 'POST',
      signal,
      headers: { ...JSON_HEADERS, ...headers },
      body: JSON.stringify(body),
    });
  const open = async (more: object = {}) => {
    const params = { ...INITIALIZE.params, ...more };
    const reply = await post({ ...INITIALIZE, params });
    const session = { 'mcp-session-id': reply.headers.get('mcp-session-id') ?? '' };
    await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
    return session;
  };
  return { server, url: listening.url, post, open, held, close: () => listening.close() };
}

const call = (id: unknown, name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

/** Opens a stream and hands out its events one by one. */
async function stream(url: string, method: string, headers: Record<string, string>, body?: unknown) {
  const outgoing = request(url, {
    method,
    headers: { ...(body ? JSON_HEADERS : { accept: 'text/event-stream' }), ...headers },
  });
  outgoing.end(body && JSON.stringify(body));
  const [response] = await once(outgoing, 'response');
  const events: { data: string; id?: string; retry?: number }[] = [];
  let wake = () => {};
  let text = '';
  const read = (chunk: Buffer) => {
    text += chunk.toString();
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) if (!block.startsWith(':')) events.push(readFields(block));
    wake();
  };
  let ended = false;
  response.on('data', read);
  response.on('close', () => {
    ended = true;
    wake();
  });
  const next = async () => {
    while (events.length === 0 && !ended) await new Promise<void>((resolve) => (wake = resolve));
    return events.shift();
  };
  return { status: response.statusCode, headers: response.headers, next, destroy: () => outgoing.destroy() };
}

/** The fields of an event. Written out here, so that what the wire carries is seen, and not what a client makes of it. */
function readFields(block: string): { data: string; id?: string; retry?: number } {
  const field = (name: string) => block.match(new RegExp(`^${name}: ?(.*)$`, 'm'))?.[1];
  const [id, retry] = [field('id'), field('retry')];
  return {
    data: field('data') ?? '',
    ...(id !== undefined && { id }),
    ...(retry && { retry: Number(retry) }),
  };
}

describe('sessions by HTTP', () => {
  it('are opened by initialize, named on every request, and ended by DELETE', async () => {
    const { url, post, open } = await serve();
    const session = await open();
    expect(session['mcp-session-id']).toMatch(/^[\x21-\x7e]{16,}$/);
    const reply = await post(call(1, 'echo', { a: 1 }), session);
    expect(reply.headers.get('content-type')).toBe('application/json');
    expect(await reply.json()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { content: [{ type: 'text', text: '{"a":1}' }] },
    });
    expect((await fetch(url, { method: 'DELETE', headers: session })).status).toBe(204);
    const late = await post(call(2, 'echo'), session);
    expect(late.status).toBe(404);
    expect(await late.json()).toMatchObject({ id: 2, error: { code: -32600 } });
  });

  it('are required: 400 without one, 404 with an unknown one; initialize with a stale id starts anew', async () => {
    const { url, post } = await serve();
    expect((await post(call(1, 'echo'))).status).toBe(400);
    expect((await post(call(1, 'echo'), { 'mcp-session-id': 'unknown' })).status).toBe(404);
    expect((await fetch(url, { headers: { accept: 'text/event-stream' } })).status).toBe(400);
    expect((await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': 'unknown' } })).status).toBe(
      404,
    );
    const anew = await post(INITIALIZE, { 'mcp-session-id': 'stale' });
    expect(anew.status).toBe(200);
    expect(anew.headers.get('mcp-session-id')).not.toBe('stale');
  });

  it('are not named to a client whose initialize was refused', async () => {
    const { post } = await serve();
    const refused = await post({ ...INITIALIZE, params: {} });
    expect(refused.headers.get('mcp-session-id')).toBeNull();
    expect(await refused.json()).toMatchObject({ id: 0, error: { code: -32602 } });
  });

  it('answer parallel requests with equal ids each by its own exchange', async () => {
    const { post, open } = await serve();
    const [one, two] = [await open(), await open()];
    const replies = await Promise.all(
      [...Array(20).keys()].map((n) => post(call(7, 'echo', { n }), n % 2 === 0 ? one : two)),
    );
    for (const [n, reply] of replies.entries()) {
      expect(await reply.json()).toMatchObject({
        id: 7,
        result: { content: [{ text: JSON.stringify({ n }) }] },
      });
    }
  });

  it('belong to the principal that opened them', async () => {
    const auth = {
      verify: (token: string) => ({ subject: token }),
      resourceMetadata: {
        resource: 'https://example.com/mcp',
        authorization_servers: ['https://as.example.com'],
      },
    };
    const { post } = await serve({ auth });
    const opened = await post(INITIALIZE, { authorization: 'Bearer alice' });
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    expect((await post(call(1, 'echo'), { ...session, authorization: 'Bearer mallory' })).status).toBe(404);
    expect((await post(call(1, 'echo'), { ...session, authorization: 'Bearer alice' })).status).toBe(200);
  });

  it('cancel a request by notification: its exchange is a stream that ends without an answer', async () => {
    const { post, open, held } = await serve();
    const session = await open();
    const pending = post(call('slow', 'hold'), session);
    while (held.length === 0) await new Promise(setImmediate);
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'slow' } };
    expect((await post(cancel, session)).status).toBe(202);
    const reply = await pending;
    expect(reply.headers.get('content-type')).toBe('text/event-stream');
    expect([reply.status, await reply.text()]).toEqual([200, '']);
  });

  it.each(['as JSON', 'on a stream'])(
    'fail a request whose answer, given %s, cannot be written, and are not busy with it any more',
    async (when) => {
      const errors: string[] = [];
      const { server, post, open } = await serve({
        sessions: { maxSessions: 1 },
        onError: ({ code }) => errors.push(code),
      });
      // A result that no tool gives: only middleware can.
      server.use(async (context, next) => {
        if (context.method !== 'ping') return next();
        if (when === 'on a stream') void context.progress(1);
        return { count: 1n };
      });
      const session = await open();
      const ping = { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { progressToken: 1 } } };
      const status = post(ping, session).then(async (reply) => {
        await reply.text();
        return reply.status;
      });
      if (when === 'as JSON') expect(await status).toBe(500);
      else await expect(status).rejects.toThrow();
      expect(errors).toEqual(['HANDLER_FAILED']);
      expect(await open()).not.toEqual(session);
    },
  );

  it('make room for another when there are too many, and are refused while all are busy', async () => {
    const { post, open, held } = await serve({ sessions: { maxSessions: 1 } });
    const first = await open();
    const second = await open();
    expect((await post(call(1, 'echo'), first)).status).toBe(404);
    const busy = post(call(1, 'hold'), second);
    while (held.length === 0) await new Promise(setImmediate);
    expect((await post(INITIALIZE)).status).toBe(503);
    held[0]?.();
    expect((await busy).status).toBe(200);
  });

  it('end when they lie idle for too long', async () => {
    const { url, open } = await serve({ sessions: { idleTimeoutMs: 40 } });
    const session = await open();
    let status = 200;
    while (status !== 404) {
      await new Promise((resolve) => setTimeout(resolve, 60));
      status = (
        await fetch(url, { method: 'DELETE', headers: { ...session, 'mcp-protocol-version': '2025-11-25' } })
      ).status;
      if (status === 204) throw new Error('the session was still there after its idle time');
    }
    expect(status).toBe(404);
  });

  it('ask the client on the stream of the request, and take the answer from another exchange', async () => {
    const { url, post, open } = await serve();
    const session = await open();
    const asking = await stream(url, 'POST', session, call(1, 'ask'));
    expect(asking.headers['content-type']).toBe('text/event-stream');
    expect(await asking.next()).toMatchObject({ id: expect.any(String), data: '' });
    const question = JSON.parse((await asking.next())?.data ?? '');
    expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Name?' } });
    const answer = await post({ jsonrpc: '2.0', id: question.id, result: { action: 'decline' } }, session);
    expect(answer.status).toBe(202);
    expect(JSON.parse((await asking.next())?.data ?? '')).toMatchObject({
      id: 1,
      result: { content: [{ text: 'decline' }] },
    });
    expect(await asking.next()).toBeUndefined();
  });

  it('send changes on the stream that the client keeps open, and replay what it missed', async () => {
    const { url, server, open } = await serve();
    const session = await open();
    const first = await stream(url, 'GET', session);
    expect(await first.next()).toMatchObject({ data: '', id: '1.0', retry: 1000 });
    server.notifyToolsChanged();
    const seen = await first.next();
    expect(JSON.parse(seen?.data ?? '')).toMatchObject({ method: 'notifications/tools/list_changed' });
    first.destroy();
    server.notifyPromptsChanged();
    server.prompt({ name: 'p' }, () => 'p');
    const second = await stream(url, 'GET', { ...session, 'last-event-id': seen?.id ?? '' });
    expect(JSON.parse((await second.next())?.data ?? '')).toMatchObject({
      method: 'notifications/prompts/list_changed',
    });
    second.destroy();
  });

  it('let a client poll: the stream closes early, and the answer waits for it', async () => {
    const { url, open, held } = await serve();
    const session = await open();
    const polling = await stream(url, 'POST', session, call(1, 'poll'));
    const priming = await polling.next();
    expect(await polling.next()).toBeUndefined();
    while (held.length === 0) await new Promise(setImmediate);
    const back = await stream(url, 'GET', { ...session, 'last-event-id': priming?.id ?? '' });
    held[0]?.();
    expect(JSON.parse((await back.next())?.data ?? '')).toMatchObject({
      id: 1,
      result: { content: [{ text: 'polled' }] },
    });
    expect(await back.next()).toBeUndefined();
  });

  it('do not go on behind an event that is unknown, of another session, or no longer kept', async () => {
    const { url, server, open } = await serve({ sessions: { eventLog: new MemoryEventLog(1) } });
    const session = await open();
    const first = await stream(url, 'GET', session);
    const priming = await first.next();
    server.notifyToolsChanged();
    await first.next();
    first.destroy();
    for (const id of ['9.1', 'nonsense', '1.0.0', priming?.id ?? '']) {
      const refused = await fetch(url, {
        headers: { ...session, accept: 'text/event-stream', 'last-event-id': id },
      });
      expect([id, refused.status]).toEqual([id, 400]);
    }
    const other = await open();
    const foreign = { ...other, accept: 'text/event-stream', 'last-event-id': '1.0' };
    expect((await fetch(url, { headers: foreign })).status).toBe(400);
  });

  it('do not prime the streams of clients that know no priming', async () => {
    const { url, server, open } = await serve();
    const session = await open({ protocolVersion: '2025-06-18' });
    const listening = await stream(url, 'GET', session);
    server.notifyToolsChanged();
    expect((await listening.next())?.data).toContain('tools/list_changed');
    listening.destroy();
  });

  it('take batches in revision 2025-03-26 alone, and answer them as one array', async () => {
    const { post, open } = await serve();
    const old = await open({ protocolVersion: '2025-03-26' });
    const batch = [call(1, 'echo', { a: 1 }), { jsonrpc: '2.0', method: 'x' }, call(2, 'echo', { b: 2 }), 7];
    const reply = await post(batch, old);
    const answers = (await reply.json()) as { id?: number }[];
    expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, undefined]);
    expect((await post([{ jsonrpc: '2.0', method: 'x' }], old)).status).toBe(202);
    expect((await post([], old)).status).toBe(400);
    expect((await post(batch, await open())).status).toBe(400);
  });
});

describe('closing a server by HTTP', () => {
  it('waits for answers under way, and takes no more requests', async () => {
    const { post, open, held, close } = await serve();
    const session = await open();
    const pending = post(call(1, 'hold'), session);
    while (held.length === 0) await new Promise(setImmediate);
    const closed = close();
    const refused = await post(call(2, 'echo'), session);
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: -32603 } }]);
    held[0]?.();
    expect(await (await pending).json()).toMatchObject({
      id: 1,
      result: { content: [{ text: 'released' }] },
    });
    await closed;
  });

  it('breaks off what takes too long', async () => {
    const { post, open, held, close } = await serve({ closeGraceMs: 20 });
    const session = await open();
    const pending = post(call(1, 'hold'), session);
    while (held.length === 0) await new Promise(setImmediate);
    await close();
    expect(await (await pending).json()).toMatchObject({ id: 1, error: { code: -32603 } });
  });
});

describe('the session dialect without sessions', () => {
  it('answers each request by itself and names no session', async () => {
    const { url, post } = await serve({ sessions: false });
    const opened = await post(INITIALIZE);
    expect(opened.headers.get('mcp-session-id')).toBeNull();
    expect(await opened.json()).toMatchObject({ id: 0, result: { protocolVersion: '2025-11-25' } });
    expect((await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202);
    const reply = await post(call(1, 'echo', { a: 1 }), { 'mcp-protocol-version': '2025-11-25' });
    expect(await reply.json()).toMatchObject({ result: { content: [{ text: '{"a":1}' }] } });
    const asked = await post(call(2, 'ask'), { 'mcp-protocol-version': '2025-11-25' });
    expect(await asked.json()).toMatchObject({ result: { isError: true } });
    for (const method of ['GET', 'DELETE']) {
      expect((await fetch(url, { method, headers: { accept: 'text/event-stream' } })).status).toBe(405);
    }
  });

  it('aborts a request whose client goes away, by node:http and by the web standard', async () => {
    const { server, post, held } = await serve({ sessions: false });
    let aborted = () => {};
    server.tool({ name: 'wait', inputSchema: OBJECT }, async (_args, { signal }) => {
      held.push(() => {});
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      aborted();
      return 'nobody hears it';
    });
    const handler = toFetchHandler(server, { sessions: false });
    const byFetch = (body: unknown, signal: AbortSignal) =>
      handler(
        new Request('http://localhost/mcp', {
          method: 'POST',
          headers: JSON_HEADERS,
          body: JSON.stringify(body),
          signal,
        }),
      );
    const byNode = (body: unknown, signal: AbortSignal) => post(body, {}, signal);
    for (const send of [byNode, byFetch]) {
      held.length = 0;
      const leaving = new AbortController();
      const over = new Promise<void>((resolve) => {
        aborted = resolve;
      });
      const reply = send(call(1, 'wait'), leaving.signal);
      const settled = reply.catch(() => {});
      while (held.length === 0) await new Promise(setImmediate);
      leaving.abort();
      await over;
      await settled;
    }
  });
});
