import type { JsonObject } from '../../src/jsonrpc/index.ts';

/** What a reference server is known to give. "{scratch}" stands for an empty folder that the test makes. */
export interface ReferenceServer {
  args: string[];
  env?: Record<string, string>;
  /** Written into the folder before the start: name and contents. */
  files?: Record<string, string>;
  tools: string[];
  /** Made in this order in one process. */
  calls: ReferenceCall[];
}

export interface ReferenceCall {
  tool: string;
  args: JsonObject;
  isError: boolean;
  /** The text of the first content block, exactly. */
  text?: string;
  textStartsWith?: string;
  structuredContent?: unknown;
}

/** By the last part of the package name: `@modelcontextprotocol/server-…`. */
export const REFERENCE_SERVERS: { [name: string]: ReferenceServer } = {
  everything: {
    args: [],
    tools: [
      'echo',
      'get-annotated-message',
      'get-env',
      'get-resource-links',
      'get-resource-reference',
      'get-structured-content',
      'get-sum',
      'get-tiny-image',
      'gzip-file-as-resource',
      'toggle-simulated-logging',
      'toggle-subscriber-updates',
      'trigger-long-running-operation',
      'simulate-research-query',
    ],
    calls: [
      {
        tool: 'echo',
        args: {
          message: 'hello',
        },
        text: 'Echo: hello',
        isError: false,
      },
      {
        tool: 'get-sum',
        args: {
          a: 2,
          b: 3,
        },
        text: 'The sum of 2 and 3 is 5.',
        isError: false,
      },
      {
        tool: 'get-structured-content',
        args: {
          location: 'New York',
        },
        text: '{"temperature":33,"conditions":"Cloudy","humidity":82}',
        isError: false,
        structuredContent: {
          temperature: 33,
          conditions: 'Cloudy',
          humidity: 82,
        },
      },
      {
        tool: 'trigger-long-running-operation',
        args: {
          duration: 1,
          steps: 2,
        },
        text: 'Long running operation completed. Duration: 1 seconds, Steps: 2.',
        isError: false,
      },
      {
        tool: 'get-sum',
        args: {
          a: 'x',
        },
        isError: true,
        textStartsWith: 'MCP error -32602: Input validation error: Invalid arguments for tool get-sum',
      },
      {
        tool: 'no_such_tool__',
        args: {},
        isError: true,
        text: 'MCP error -32602: Tool no_such_tool__ not found',
      },
    ],
  },
  filesystem: {
    args: ['{scratch}'],
    files: {
      'hello.txt': 'hello\nworld\n',
    },
    tools: [
      'read_file',
      'read_text_file',
      'read_media_file',
      'read_multiple_files',
      'write_file',
      'edit_file',
      'create_directory',
      'list_directory',
      'list_directory_with_sizes',
      'directory_tree',
      'move_file',
      'search_files',
      'get_file_info',
      'list_allowed_directories',
    ],
    calls: [
      {
        tool: 'read_text_file',
        args: {
          path: '{scratch}/hello.txt',
        },
        text: 'hello\nworld\n',
        isError: false,
        structuredContent: {
          content: 'hello\nworld\n',
        },
      },
      {
        tool: 'list_directory',
        args: {
          path: '{scratch}',
        },
        text: '[FILE] hello.txt',
        isError: false,
        structuredContent: {
          content: '[FILE] hello.txt',
        },
      },
      {
        tool: 'read_text_file',
        args: {
          path: '/etc/passwd',
        },
        isError: true,
        text: 'Access denied - path outside allowed directories: /etc/passwd not in {scratch}',
      },
    ],
  },
  memory: {
    args: [],
    env: {
      MEMORY_FILE_PATH: '{scratch}/memory.jsonl',
    },
    tools: [
      'create_entities',
      'create_relations',
      'add_observations',
      'delete_entities',
      'delete_observations',
      'delete_relations',
      'read_graph',
      'search_nodes',
      'open_nodes',
    ],
    calls: [
      {
        tool: 'read_graph',
        args: {},
        text: '{\n  "entities": [],\n  "relations": []\n}',
        isError: false,
        structuredContent: {
          entities: [],
          relations: [],
        },
      },
      {
        tool: 'create_entities',
        args: {
          entities: [
            {
              name: 'Ada',
              entityType: 'person',
              observations: ['likes engines'],
            },
          ],
        },
        text: '[\n  {\n    "name": "Ada",\n    "entityType": "person",\n    "observations": [\n      "likes engines"\n    ]\n  }\n]',
        isError: false,
        structuredContent: {
          entities: [
            {
              name: 'Ada',
              entityType: 'person',
              observations: ['likes engines'],
            },
          ],
        },
      },
      {
        tool: 'search_nodes',
        args: {
          query: 'ada',
        },
        text: '{\n  "entities": [\n    {\n      "name": "Ada",\n      "entityType": "person",\n      "observations": [\n        "likes engines"\n      ]\n    }\n  ],\n  "relations": []\n}',
        isError: false,
        structuredContent: {
          entities: [
            {
              name: 'Ada',
              entityType: 'person',
              observations: ['likes engines'],
            },
          ],
          relations: [],
        },
      },
    ],
  },
  'sequential-thinking': {
    args: [],
    tools: ['sequentialthinking'],
    calls: [
      {
        tool: 'sequentialthinking',
        args: {
          thought: 't1',
          nextThoughtNeeded: true,
          thoughtNumber: 1,
          totalThoughts: 2,
        },
        text: '{\n  "thoughtNumber": 1,\n  "totalThoughts": 2,\n  "nextThoughtNeeded": true,\n  "branches": [],\n  "thoughtHistoryLength": 1\n}',
        isError: false,
        structuredContent: {
          thoughtNumber: 1,
          totalThoughts: 2,
          nextThoughtNeeded: true,
          branches: [],
          thoughtHistoryLength: 1,
        },
      },
      {
        tool: 'sequentialthinking',
        args: {
          thought: 't2',
          nextThoughtNeeded: false,
          thoughtNumber: 2,
          totalThoughts: 2,
        },
        text: '{\n  "thoughtNumber": 2,\n  "totalThoughts": 2,\n  "nextThoughtNeeded": false,\n  "branches": [],\n  "thoughtHistoryLength": 2\n}',
        isError: false,
        structuredContent: {
          thoughtNumber: 2,
          totalThoughts: 2,
          nextThoughtNeeded: false,
          branches: [],
          thoughtHistoryLength: 2,
        },
      },
    ],
  },
};
