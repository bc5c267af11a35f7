export const LARGE_CHARS = 8 * 1024 * 1024;

const NAMES = {
  floor: 'floor',
  mcpwire: 'mcpwire',
  'sdk-v1': 'SDK v1',
  'sdk-v2': 'SDK v2',
  'ai-sdk': '@ai-sdk/mcp',
  tmcp: 'tmcp',
  'mcp-lite': 'mcp-lite',
};

/** A client and a server, named for the one that is not the floor; its ratio is to the floor of the same dialect. */
export function contender(transport, client, server, dialect) {
  const kind = client === 'floor' ? server : client;
  return {
    name: `${NAMES[kind]}, ${dialect}`,
    floor: `floor, ${dialect}`,
    client,
    server,
    transport,
    dialect,
  };
}

/** Our client in one way of pooling, its ratio to another way on the same server. */
export function poolingContender(server, pooling, floor) {
  const name = (mode) => `mcpwire, ${POOLING[mode]}`;
  return {
    name: name(pooling),
    floor: name(floor),
    client: 'mcpwire',
    server,
    transport: 'http',
    dialect: 'stateless',
    pooling,
  };
}

const POOLING = { auto: 'pooling: auto', true: 'used connections', false: 'fresh connections' };
