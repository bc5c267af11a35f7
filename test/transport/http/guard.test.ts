import { describe, expect, it } from 'vitest';
import {
  accepts,
  checkAccept,
  checkContent,
  checkContentEncoding,
  checkContentLength,
  checkContentType,
  checkEndpoint,
  checkEntry,
  checkHeaderCount,
  checkHost,
  checkMethod,
  checkOrigin,
  checkPath,
  checkTarget,
  type GuardedRequest,
  hostName,
} from '../../../src/transport/http/guard.ts';
import { type HttpServerOptions, readServerOptions } from '../../../src/transport/http/server-options.ts';

interface Given {
  method?: string;
  url?: string;
  loopback?: boolean;
  headerCount?: number;
  headers?: Record<string, string>;
}

function request(given: Given = {}): GuardedRequest {
  const { method = 'POST', url = '/mcp', loopback = true, headerCount = 3, headers = {} } = given;
  return { method, url, path: url, loopback, headerCount, headers, header: (name) => headers[name] };
}

function rules(options: HttpServerOptions = {}) {
  return readServerOptions(options);
}

describe('the Host guard', () => {
  const status = (host: string | undefined, options: HttpServerOptions = {}, loopback = true) =>
    checkHost(request({ loopback, headers: host === undefined ? {} : { host } }), rules(options))?.status;

  it.each([
    'localhost',
    'LOCALHOST:3000',
    '127.0.0.1',
    '127.0.0.1:80',
    '127.8.9.1:80',
    '[::1]',
    '[::1]:3000',
  ])('lets %s in over a loopback connection', (host) => {
    expect(status(host)).toBeUndefined();
  });

  it.each([
    undefined,
    '',
    'evil.example.com',
    'localhost.evil.example',
    'localhost:evil.example',
    'evil.example:80',
    '127.0.0.1.evil.example',
    '127.0.0.1, evil.example',
    '127.0.0.1:80, evil.example:80',
    'evil.example@localhost',
    'localhost/evil',
    '[::1]evil',
    '[::2]',
    '192.168.0.1',
    '128.0.0.1',
  ])('turns %s away over a loopback connection', (host) => {
    expect(status(host)).toBe(403);
  });

  it('lets any host in over other connections, where no list is given', () => {
    expect(status('evil.example.com', {}, false)).toBeUndefined();
  });

  it('holds every connection against a list, which replaces the loopback names', () => {
    const options = { allowedHosts: ['Mcp.example.com', 'other.example.com:8443', '[::1]'] };
    expect(status('mcp.example.com', options, false)).toBeUndefined();
    expect(status('MCP.example.com:8080', options, false)).toBeUndefined();
    expect(status('other.example.com:8443', options, false)).toBeUndefined();
    expect(status('[::1]:9', options, false)).toBeUndefined();
    expect(status('other.example.com', options, false)).toBe(403);
    expect(status('other.example.com:8444', options, false)).toBe(403);
    expect(status('localhost', options)).toBe(403);
    expect(status(undefined, options)).toBe(403);
  });

  it('lets any host in for "*"', () => {
    expect(status('evil.example.com', { allowedHosts: '*' })).toBeUndefined();
    expect(status(undefined, { allowedHosts: '*' })).toBeUndefined();
  });

  it('finds the host in a Host header', () => {
    expect(hostName('a.example:80')).toBe('a.example');
    expect(hostName('[fe80::1]:80')).toBe('[fe80::1]');
    expect(hostName('a:b:c')).toBeUndefined();
    expect(hostName('[::1')).toBeUndefined();
  });
});

describe('the Origin guard', () => {
  const status = (origin: string | undefined, options: HttpServerOptions = {}, host = 'localhost:3000') =>
    checkOrigin(request({ headers: origin === undefined ? { host } : { host, origin } }), rules(options))
      ?.status;

  it('lets requests without an Origin in, since no page sent them', () => {
    expect(status(undefined)).toBeUndefined();
    expect(status(undefined, { allowedOrigins: [] })).toBeUndefined();
  });

  it.each([
    'http://localhost',
    'http://localhost:6274',
    'https://127.0.0.1:1',
    'http://[::1]:5',
    'HTTP://LOCALHOST',
  ])('lets %s in by default', (origin) => {
    expect(status(origin)).toBeUndefined();
  });

  it.each([
    'null',
    '',
    'http://evil.example.com',
    'http://localhost.evil.example',
    'http://localhost@evil.example',
    'http://localhost:80@evil.example',
    'http://evil.example/http://localhost',
    'file://',
    'chrome-extension://localhost',
    'http://localhost, http://evil.example',
    'localhost',
  ])('turns %s away by default', (origin) => {
    expect(status(origin)).toBe(403);
  });

  it('takes the same host for its own only where the host was held against a list', () => {
    expect(status('https://mcp.example.com', {}, 'mcp.example.com')).toBe(403);
    const options = { allowedHosts: ['mcp.example.com'] };
    expect(status('https://mcp.example.com', options, 'mcp.example.com')).toBeUndefined();
    expect(status('https://mcp.example.com:8443', options, 'mcp.example.com')).toBe(403);
  });

  it('lets in exactly the origins of a list', () => {
    const options = { allowedOrigins: ['https://App.example.com', 'vscode-webview://abc'] };
    expect(status('https://app.example.com', options)).toBeUndefined();
    expect(status('vscode-webview://abc', options)).toBeUndefined();
    expect(status('http://app.example.com', options)).toBe(403);
    expect(status('https://app.example.com:8443', options)).toBe(403);
    expect(status('http://localhost', options)).toBe(403);
    expect(status('null', options)).toBe(403);
  });

  it('lets any origin in for "*"', () => {
    expect(status('null', { allowedOrigins: '*' })).toBeUndefined();
  });
});

describe('the guards of path, method and target', () => {
  it('serves one path where one is named, and any where none is', () => {
    expect(checkPath(request({ url: '/mcp' }), rules({ path: '/mcp' }))).toBeUndefined();
    expect(checkPath(request({ url: '/mcp/' }), rules({ path: '/mcp' }))?.status).toBe(404);
    expect(checkPath(request({ url: '/x' }), rules())).toBeUndefined();
  });

  it('names the methods that are served when it refuses one', () => {
    const refusal = checkMethod(request({ method: 'PUT' }), rules());
    expect(refusal?.status).toBe(405);
    expect(refusal?.headers).toEqual({ allow: 'GET, POST, DELETE' });
    expect(checkMethod(request({ method: 'GET' }), rules({ methods: ['POST'] }))?.headers).toEqual({
      allow: 'POST',
    });
    expect(checkMethod(request({ method: 'post' }), rules())?.status).toBe(405);
  });

  it('takes only a path for a target', () => {
    expect(checkTarget(request({ url: '/mcp?x' }))).toBeUndefined();
    expect(checkTarget(request({ url: 'http://evil.example/mcp' }))?.status).toBe(400);
    expect(checkTarget(request({ url: '*' }))?.status).toBe(400);
  });

  it('bounds the number of headers', () => {
    expect(checkHeaderCount(request({ headerCount: 100 }), rules())).toBeUndefined();
    expect(checkHeaderCount(request({ headerCount: 101 }), rules())?.status).toBe(431);
    expect(checkHeaderCount(request({ headerCount: 3 }), rules({ maxHeaders: 2 }))?.status).toBe(431);
  });
});

describe('the Accept guard', () => {
  const status = (method: string, accept: string | undefined) =>
    checkAccept(request({ method, headers: accept === undefined ? {} : { accept } }))?.status;

  it.each([
    'application/json, text/event-stream',
    'text/event-stream, application/json',
    'text/event-stream,application/json;q=0.5',
    'Application/JSON , TEXT/event-stream',
    '*/*',
    'application/*, text/*',
    'application/json, */*;q=0.1',
  ])('lets a POST with "%s" in', (accept) => {
    expect(status('POST', accept)).toBeUndefined();
  });

  it.each([
    undefined,
    '',
    'application/json',
    'text/event-stream',
    'application/json, text/event-stream;q=0',
    'application/json, text/event-stream; q=0.000',
    'application/jsonx, text/event-stream',
    'application/json, text/html',
  ])('turns a POST with "%s" away', (accept) => {
    expect(status('POST', accept)).toBe(406);
  });

  it('wants a GET to be ready for a stream, and nothing of other methods', () => {
    expect(status('GET', 'text/event-stream')).toBeUndefined();
    expect(status('GET', '*/*')).toBeUndefined();
    expect(status('GET', 'application/json')).toBe(406);
    expect(status('GET', undefined)).toBe(406);
    expect(status('DELETE', undefined)).toBeUndefined();
  });

  it('does not take a weight for a refusal', () => {
    expect(accepts('text/html;q=0.01', 'text/html')).toBe(true);
    expect(accepts('text/html;q=0;x', 'text/html')).toBe(false);
  });
});

describe('the guards of a body', () => {
  const type = (value: string | undefined) =>
    checkContentType(request({ headers: value === undefined ? {} : { 'content-type': value } }))?.status;

  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json ;x="a;b"',
  ])('lets the content type "%s" in', (value) => {
    expect(type(value)).toBeUndefined();
  });

  it.each([
    undefined,
    '',
    'text/plain',
    'application/json-seq',
    'application/x-www-form-urlencoded',
    'json',
    'application/json, text/plain',
    'text/plain; application/json',
  ])('turns the content type "%s" away', (value) => {
    expect(type(value)).toBe(415);
  });

  it('turns encoded bodies away and says which it takes', () => {
    const gzip = checkContentEncoding(request({ headers: { 'content-encoding': 'gzip' } }));
    expect(gzip?.status).toBe(415);
    expect(gzip?.headers).toEqual({ 'accept-encoding': 'identity' });
    expect(checkContentEncoding(request({ headers: { 'content-encoding': 'Identity' } }))).toBeUndefined();
  });

  it('turns a body away whose announced length is too large', () => {
    const length = (value: string) =>
      checkContentLength(request({ headers: { 'content-length': value } }), rules({ maxBodyBytes: 10 }))
        ?.status;
    expect(length('10')).toBeUndefined();
    expect(length('11')).toBe(413);
    expect(length('99999999999999999999')).toBe(413);
  });

  it('asks nothing of the body of other methods', () => {
    const get = request({ method: 'GET', headers: { accept: '*/*', 'content-type': 'text/plain' } });
    expect(checkContent(get, rules())).toBeUndefined();
  });
});

describe('the row of guards', () => {
  it('answers every refusal with a JSON-RPC error without an id', () => {
    const refusal = checkEntry(request({ headers: { host: 'evil.example' } }), rules());
    expect(refusal?.body).toEqual({
      jsonrpc: '2.0',
      error: {
        code: -32600,
        message: 'Cannot serve the request: the host "evil.example" is not among allowedHosts',
      },
    });
  });

  it('quotes what the client sent no longer than is useful', () => {
    const refusal = checkPath(request({ url: `/${'x'.repeat(5000)}` }), rules({ path: '/mcp' }));
    expect(refusal?.body.error.message.length).toBeLessThan(200);
  });

  it('looks at the origin before anything that tells of the endpoint', () => {
    const bad = request({
      method: 'PUT',
      url: '/none',
      headers: { host: 'localhost', origin: 'http://evil.example' },
    });
    expect(checkEndpoint(bad, rules({ path: '/mcp' }))?.status).toBe(403);
  });
});

describe('options', () => {
  it.each<[string, HttpServerOptions]>([
    ['allowedOrigins', { allowedOrigins: ['null'] }],
    ['allowedOrigins', { allowedOrigins: ['https://app.example.com/'] }],
    ['allowedOrigins', { allowedOrigins: ['app.example.com'] }],
    ['allowedHosts', { allowedHosts: ['https://app.example.com'] }],
    ['allowedHosts', { allowedHosts: [''] }],
    ['path', { path: 'mcp' }],
    ['path', { path: '/mcp?x' }],
    ['maxBodyBytes', { maxBodyBytes: 0 }],
    ['maxDepth', { maxDepth: Number.NaN }],
    ['maxHeaders', { maxHeaders: -1 }],
    ['keepAliveMs', { keepAliveMs: 0 }],
    ['keepAliveMs', { keepAliveMs: 2 ** 31 }],
    ['maxBufferedBytes', { maxBufferedBytes: 0 }],
  ])('refuses a %s that cannot be meant', (name, options) => {
    expect(() => readServerOptions(options)).toThrow(new RegExp(`^${name} `));
    expect(() => readServerOptions(options)).toThrow(TypeError);
  });
});
