import Ajv from 'ajv/dist/2020.js';
import { McpClient, McpServer, McpToolProvider } from '../../dist/index.js';

const OUTPUT = {
  type: 'object',
  properties: {
    rows: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'integer' },
          name: { type: 'string', minLength: 1 },
          score: { type: 'number' },
        },
        required: ['id', 'name'],
      },
    },
    total: { type: 'integer', minimum: 0 },
  },
  required: ['rows', 'total'],
};
const VALUE = {
  rows: Array.from({ length: 20 }, (_, id) => ({ id, name: `name ${id}`, score: id / 7 })),
  total: 20,
};
const RESULT = { content: [{ type: 'text', text: 'rows' }], structuredContent: VALUE };

/** A call whose output is held against its schema, the same without, and the bare compiled schema. */
export async function create({ side }) {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  const inputSchema = { type: 'object' };
  if (side === 'server') {
    server.tool({ name: 'plain', inputSchema }, () => RESULT);
    server.tool({ name: 'checked', inputSchema, outputSchema: OUTPUT }, () => RESULT);
  } else {
    const tools = [
      { name: 'plain', inputSchema },
      { name: 'checked', inputSchema, outputSchema: OUTPUT },
    ];
    server.toolSource({ list: () => tools, call: () => RESULT });
  }
  const client = await McpClient.inProcess(server);
  const call = side === 'server' ? (name) => client.callTool(name, {}) : await importedCalls(client);
  const validate = new Ajv.default({ strict: false }).compile(OUTPUT);
  const timed = (work) => async (ms) => {
    const cpu = process.cpuUsage();
    const start = performance.now();
    let count = 0;
    for (; performance.now() - start < ms; count++) await work();
    const { user, system } = process.cpuUsage(cpu);
    return { value: ((performance.now() - start) * 1000) / count, cpu: (user + system) / count };
  };
  const plain = timed(() => call('plain'));
  const checked = timed(() => call('checked'));
  const bare = timed(() => {
    if (!validate(VALUE)) throw new Error('The bare schema refuses the value');
  });
  return {
    checked,
    floor: async (ms) => {
      const [one, other] = [await plain(ms / 2), await bare(ms / 2)];
      return { value: one.value + other.value, cpu: one.cpu + other.cpu };
    },
  };
}

async function importedCalls(client) {
  const provider = await McpToolProvider.connect(client);
  const tools = new Map(provider.tools().map((tool) => [tool.name, tool]));
  return async (name) => {
    const output = await tools.get(name).call({});
    if (output.isError) throw new Error('The imported tool failed');
  };
}
