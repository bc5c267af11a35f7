// What makes the honest server one of the stateless dialect: methods for `serve`, and words for those that answer in
// their own way.
export const stateless = {
  'server/discover': () => ({
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'hostile', version: '1.0.0' } },
  }),
  initialize: ({ id }) => refuse(id, -32601, 'Method not found: initialize'),
};

export function send(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

export function refuse(id, code, message, data) {
  send({ jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } });
}

export const unsupported = (id, supported) =>
  refuse(id, -32022, 'Unsupported protocol version', { supported, requested: '?' });
