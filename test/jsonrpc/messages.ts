import type { Classified, RequestId } from '../../src/jsonrpc/index.ts';

/** One JSON value as it is on the wire, and what it is. The same table feeds classifier, encoder, framer and fuzz. */
export interface NamedMessage {
  name: string;
  /** Exactly what `encodeLine` writes for the parsed value, without the newline. */
  json: string;
  kind: Classified['kind'];
  /** The id that is read from it; absent where there is none to read. */
  id?: RequestId;
  /** Why it is invalid. */
  reason?: string;
}

export const VALID_MESSAGES: readonly NamedMessage[] = [
  {
    name: 'a request without params',
    json: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    kind: 'request',
    id: 1,
  },
  {
    name: 'a request with params',
    json: '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2.5}}}',
    kind: 'request',
    id: 2,
  },
  {
    name: 'a request with empty params',
    json: '{"jsonrpc":"2.0","id":3,"method":"m","params":{}}',
    kind: 'request',
    id: 3,
  },
  { name: 'a request with id 0', json: '{"jsonrpc":"2.0","id":0,"method":"m"}', kind: 'request', id: 0 },
  {
    name: 'a request with an empty id',
    json: '{"jsonrpc":"2.0","id":"","method":"m"}',
    kind: 'request',
    id: '',
  },
  {
    name: 'a request with a digit for an id',
    json: '{"jsonrpc":"2.0","id":"1","method":"m"}',
    kind: 'request',
    id: '1',
  },
  {
    name: 'a request with a negative id',
    json: '{"jsonrpc":"2.0","id":-7,"method":"m"}',
    kind: 'request',
    id: -7,
  },
  {
    name: 'a request with the largest exact id',
    json: '{"jsonrpc":"2.0","id":9007199254740991,"method":"m"}',
    kind: 'request',
    id: 9007199254740991,
  },
  {
    name: 'a request with an empty method',
    json: '{"jsonrpc":"2.0","id":1,"method":""}',
    kind: 'request',
    id: 1,
  },
  {
    name: 'a request with unknown members',
    json: '{"jsonrpc":"2.0","id":1,"method":"m","trace":{"a":[1,null]},"x":null}',
    kind: 'request',
    id: 1,
  },
  {
    name: 'a request with a member named __proto__',
    json: '{"jsonrpc":"2.0","id":1,"method":"m","params":{"__proto__":{"polluted":true},"constructor":1}}',
    kind: 'request',
    id: 1,
  },
  {
    name: 'a request whose members come in another order',
    json: '{"params":{},"method":"m","id":1,"jsonrpc":"2.0"}',
    kind: 'request',
    id: 1,
  },
  {
    name: 'a request with line breaks of all kinds in a string',
    json: '{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"a\\nb\\rc\\r\\nd\u2028e\u2029f\u0085g"}}',
    kind: 'request',
    id: 1,
  },
  {
    name: 'a request with text beyond the basic plane',
    json: '{"jsonrpc":"2.0","id":"\u{1f600}","method":"m","params":{"text":"caf\u00e9 \u20ac \u{1f468}\u200d\u{1f469}"}}',
    kind: 'request',
    id: '\u{1f600}',
  },
  {
    name: 'a request with a replacement character and a byte order mark in a string',
    json: '{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"\ufffd\ufeff"}}',
    kind: 'request',
    id: 1,
  },
  {
    name: 'a request with half of a surrogate pair',
    json: '{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"\\ud83d"}}',
    kind: 'request',
    id: 1,
  },
  {
    name: 'a notification without params',
    json: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    kind: 'notification',
  },
  {
    name: 'a notification with params',
    json: '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":0.5}}',
    kind: 'notification',
  },
  {
    name: 'a notification with unknown members',
    json: '{"jsonrpc":"2.0","method":"n","extra":1}',
    kind: 'notification',
  },
  { name: 'an empty result', json: '{"jsonrpc":"2.0","id":1,"result":{}}', kind: 'result', id: 1 },
  {
    name: 'a result with id 0',
    json: '{"jsonrpc":"2.0","id":0,"result":{"tools":[]}}',
    kind: 'result',
    id: 0,
  },
  {
    name: 'a result with an empty id',
    json: '{"jsonrpc":"2.0","id":"","result":{}}',
    kind: 'result',
    id: '',
  },
  {
    name: 'a result with unknown members',
    json: '{"jsonrpc":"2.0","id":1,"result":{"a":{"b":[{}]}},"extra":[]}',
    kind: 'result',
    id: 1,
  },
  {
    name: 'an error',
    json: '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}',
    kind: 'error',
    id: 1,
  },
  {
    name: 'an error with data',
    json: '{"jsonrpc":"2.0","id":"a","error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28"]}}}',
    kind: 'error',
    id: 'a',
  },
  {
    name: 'an error with null data',
    json: '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":null}}',
    kind: 'error',
    id: 1,
  },
  {
    name: 'an error with a null id',
    json: '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
    kind: 'error',
  },
  {
    name: 'an error without an id',
    json: '{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}',
    kind: 'error',
  },
  {
    name: 'an error with unknown members',
    json: '{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"m","stack":"s"},"extra":true}',
    kind: 'error',
    id: 1,
  },
  {
    name: 'a batch',
    json: '[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","method":"n"}]',
    kind: 'batch',
  },
  { name: 'an empty batch', json: '[]', kind: 'batch' },
  { name: 'a batch of what is no message', json: '[1,[],null]', kind: 'batch' },
];

const NO_OBJECT = 'a message must be a JSON object';
const NO_VERSION = '"jsonrpc" must be "2.0"';
const BAD_CALL_ID = '"id" of a request must be a string or an integer';
const BAD_RESULT_ID = '"id" of a result must be a string or an integer';
const BAD_ERROR_ID = '"id" of an error must be a string, an integer or null';
const TWO_KINDS = 'a message must not have both "method" and "result" or "error"';

export const INVALID_MESSAGES: readonly NamedMessage[] = [
  { name: 'null', json: 'null', kind: 'invalid', reason: NO_OBJECT },
  { name: 'a number', json: '12', kind: 'invalid', reason: NO_OBJECT },
  { name: 'a string', json: '"{}"', kind: 'invalid', reason: NO_OBJECT },
  { name: 'a boolean', json: 'true', kind: 'invalid', reason: NO_OBJECT },
  { name: 'an empty object', json: '{}', kind: 'invalid', reason: NO_VERSION },
  {
    name: 'a call without a version',
    json: '{"id":4,"method":"m"}',
    kind: 'invalid',
    id: 4,
    reason: NO_VERSION,
  },
  {
    name: 'a call of version 1',
    json: '{"jsonrpc":"1.0","id":4,"method":"m"}',
    kind: 'invalid',
    id: 4,
    reason: NO_VERSION,
  },
  {
    name: 'a call whose version is a number',
    json: '{"jsonrpc":2,"id":"x","method":"m"}',
    kind: 'invalid',
    id: 'x',
    reason: NO_VERSION,
  },
  {
    name: 'a message whose version is inherited in name only',
    json: '{"__proto__":{"jsonrpc":"2.0","method":"m"}}',
    kind: 'invalid',
    reason: NO_VERSION,
  },
  {
    name: 'a message with an id alone',
    json: '{"jsonrpc":"2.0","id":0}',
    kind: 'invalid',
    id: 0,
    reason: 'a message must have "method", "result" or "error"',
  },
  {
    name: 'a request with a null id',
    json: '{"jsonrpc":"2.0","id":null,"method":"m"}',
    kind: 'invalid',
    reason: BAD_CALL_ID,
  },
  {
    name: 'a request with a fraction for an id',
    json: '{"jsonrpc":"2.0","id":1.5,"method":"m"}',
    kind: 'invalid',
    reason: BAD_CALL_ID,
  },
  {
    name: 'a request with an id too large to be exact',
    json: '{"jsonrpc":"2.0","id":9007199254740992,"method":"m"}',
    kind: 'invalid',
    reason: BAD_CALL_ID,
  },
  {
    name: 'a request with an object for an id',
    json: '{"jsonrpc":"2.0","id":{},"method":"m"}',
    kind: 'invalid',
    reason: BAD_CALL_ID,
  },
  {
    name: 'a request with a boolean for an id',
    json: '{"jsonrpc":"2.0","id":false,"method":"m"}',
    kind: 'invalid',
    reason: BAD_CALL_ID,
  },
  {
    name: 'a call whose method is no string',
    json: '{"jsonrpc":"2.0","id":1,"method":["m"]}',
    kind: 'invalid',
    id: 1,
    reason: '"method" must be a string',
  },
  {
    name: 'a call whose method is null',
    json: '{"jsonrpc":"2.0","id":1,"method":null}',
    kind: 'invalid',
    id: 1,
    reason: '"method" must be a string',
  },
  {
    name: 'a request whose params are an array',
    json: '{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}',
    kind: 'invalid',
    id: 1,
    reason: '"params" must be an object',
  },
  {
    name: 'a notification whose params are null',
    json: '{"jsonrpc":"2.0","method":"m","params":null}',
    kind: 'invalid',
    reason: '"params" must be an object',
  },
  {
    name: 'a request with a result',
    json: '{"jsonrpc":"2.0","id":1,"method":"m","result":{}}',
    kind: 'invalid',
    id: 1,
    reason: TWO_KINDS,
  },
  {
    name: 'a request with an error',
    json: '{"jsonrpc":"2.0","id":1,"method":"m","error":null}',
    kind: 'invalid',
    id: 1,
    reason: TWO_KINDS,
  },
  {
    name: 'a response with result and error',
    json: '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}',
    kind: 'invalid',
    id: 1,
    reason: 'a response must not have both "result" and "error"',
  },
  {
    name: 'a result without an id',
    json: '{"jsonrpc":"2.0","result":{}}',
    kind: 'invalid',
    reason: BAD_RESULT_ID,
  },
  {
    name: 'a result with a null id',
    json: '{"jsonrpc":"2.0","id":null,"result":{}}',
    kind: 'invalid',
    reason: BAD_RESULT_ID,
  },
  {
    name: 'a result that is an array',
    json: '{"jsonrpc":"2.0","id":1,"result":[]}',
    kind: 'invalid',
    id: 1,
    reason: '"result" must be an object',
  },
  {
    name: 'a result that is null',
    json: '{"jsonrpc":"2.0","id":1,"result":null}',
    kind: 'invalid',
    id: 1,
    reason: '"result" must be an object',
  },
  {
    name: 'an error with an array for an id',
    json: '{"jsonrpc":"2.0","id":[],"error":{"code":1,"message":"m"}}',
    kind: 'invalid',
    reason: BAD_ERROR_ID,
  },
  {
    name: 'an error with a fraction for an id',
    json: '{"jsonrpc":"2.0","id":0.5,"error":{"code":1,"message":"m"}}',
    kind: 'invalid',
    reason: BAD_ERROR_ID,
  },
  {
    name: 'an error that is a string',
    json: '{"jsonrpc":"2.0","id":1,"error":"no"}',
    kind: 'invalid',
    id: 1,
    reason: '"error" must be an object',
  },
  {
    name: 'an error that is null',
    json: '{"jsonrpc":"2.0","id":1,"error":null}',
    kind: 'invalid',
    id: 1,
    reason: '"error" must be an object',
  },
  {
    name: 'an error without a code',
    json: '{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}',
    kind: 'invalid',
    id: 1,
    reason: '"error.code" must be an integer',
  },
  {
    name: 'an error whose code is a string',
    json: '{"jsonrpc":"2.0","id":1,"error":{"code":"-32601","message":"m"}}',
    kind: 'invalid',
    id: 1,
    reason: '"error.code" must be an integer',
  },
  {
    name: 'an error whose code is a fraction',
    json: '{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}',
    kind: 'invalid',
    id: 1,
    reason: '"error.code" must be an integer',
  },
  {
    name: 'an error without a message',
    json: '{"jsonrpc":"2.0","id":1,"error":{"code":1}}',
    kind: 'invalid',
    id: 1,
    reason: '"error.message" must be a string',
  },
];

export const MESSAGES: readonly NamedMessage[] = [...VALID_MESSAGES, ...INVALID_MESSAGES];
